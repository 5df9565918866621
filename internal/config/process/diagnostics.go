package process

import (
	"cmp"
	"net"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Diagnostics is the key "diagnostics": the address where a process that serves shows its figures and its health. It
// takes effect at the start of a process.
type Diagnostics struct {
	// A port of this machine, or an address such as "0.0.0.0:9464". At an address that others can reach, figures need a
	// token.
	Address string `key:"address" alone:"text" form:"listener"`
	// "${VARIABLE}", which holds it, or "sha256:" and its SHA-256. /metrics and /debug/pprof then need it, as bearer token
	// or as password of any user.
	Token tokenText `key:"token"`
	// /debug/pprof, profiles of the process by Go. Only with a token, and at an address of this machine.
	PProf bool `key:"pprof"`
	// Where the figures are sent, too: the URL of an OpenTelemetry collector, or an object. It needs no address.
	Push push `key:"push"`

	Fingerprint string // of the token, see [Fingerprint]; "" if there is none
}

// A push is a collector that gets the figures of a process.
type push struct {
	Collector
	Seconds int `key:"seconds" usual:"60" max:"3600"` // How often they are sent; 60 if left out.
}

// Check reports profiles of the process that others could reach.
func (d *Diagnostics) Check(r *settings.Reader, n strictjson.Value, _ string) {
	d.complete()
	host, _, ok := settings.HostAndPort(d.Address)
	switch at := settings.Member(n, "pprof"); {
	case !d.PProf:
	case settings.Member(n, "token").Kind() == strictjson.Missing:
		r.WrongKey(at, `add "token": "${VARIABLE}"`, "profiles of the process are for those who have a token")
	case ok && !settings.OnThisMachine(host):
		r.WrongKey(at, `take an address such as "127.0.0.1:9464", and reach it through ssh or kubectl port-forward`,
			"profiles of the process are served on this machine only, and %q is reached from elsewhere", d.Address)
	}
}

// complete gives a port alone the address of this machine.
func (d *Diagnostics) complete() {
	if host, port, ok := settings.HostAndPort(d.Address); ok {
		d.Address = net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
	}
}

// Expand replaces the variables. The error is [settings.Problems]; then nothing may be served.
func (d *Diagnostics) Expand(env settings.Lookup) (Diagnostics, error) {
	if d == nil {
		return Diagnostics{}, nil
	}
	full := *d
	var wrong settings.Problems
	full.Push.Collector = d.Push.With(env, &wrong)
	fingerprint, message, hint := d.Token.fingerprint(env)
	if message != "" {
		wrong = append(wrong, d.Token.Wrong(message, hint))
	}
	if len(wrong) > 0 {
		return Diagnostics{}, wrong.Err()
	}
	full.Fingerprint = fingerprint
	return full, nil
}

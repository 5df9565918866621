package config

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/codemode-project/codemode/internal/config/collectors"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Diagnostics is the key "diagnostics": the address where a process that serves shows its figures and its health. It
// takes effect at the start of a process, and is an address such as "127.0.0.1:9464", or
//
//	{ "address": "0.0.0.0:9464",
//	  "token": "${METRICS_TOKEN}", // which a request for figures needs
//	  "pprof": true,               // /debug/pprof; needs a token and an address of this machine
//	  "push": { "url": "http://localhost:4318/v1/metrics", "seconds": 60 } } // the same figures, over OTLP
type Diagnostics struct {
	Address     string // with a host; "" is off
	Fingerprint string // of the token, see [Fingerprint]; "" if there is none
	PProf       bool
	// Push is the collector that gets the figures every PushEvery; none without a URL.
	Push      collectors.Collector
	PushEvery time.Duration

	token Token                 // as the file has it
	push  *collectors.Collector // the same
}

// Diagnostics returns the key "diagnostics" with the variables of env. The error is [Problems]; then nothing may be
// served.
func (c *Config) Diagnostics(env func(string) (string, bool)) (Diagnostics, error) {
	if c == nil || c.diagnostics == nil {
		return Diagnostics{}, nil
	}
	d := *c.diagnostics
	var wrong settings.Problems
	if d.push != nil {
		d.Push = d.push.With(env, &wrong)
	}
	if len(wrong) > 0 {
		sortProblems(wrong)
		return Diagnostics{}, wrong
	}
	if d.token.at.Written == "" {
		return d, nil
	}
	fingerprint, message, hint := d.token.fingerprint(env)
	if message != "" {
		return Diagnostics{}, settings.Problems{d.token.at.Wrong(message, hint)}
	}
	d.Fingerprint = fingerprint
	return d, nil
}

func (b *builder) diagnostics(n strictjson.Value) (d Diagnostics) {
	if n.Kind() == strictjson.String {
		d.Address = b.listener(n)
		return d
	}
	var pprofAt strictjson.Value
	ok := b.Object(n, `"diagnostics"`, []settings.Field{
		settings.Key("address", func(n strictjson.Value) { d.Address = b.listener(n) }),
		settings.Key("token", func(n strictjson.Value) { d.token.at = b.tokenText(n) }),
		settings.Key("pprof", func(n strictjson.Value) {
			pprofAt = n
			d.PProf, _ = b.Boolean(n, `"pprof"`)
		}),
		settings.Key("push", func(n strictjson.Value) { b.push(n, &d) }),
	})
	switch {
	case !ok || !d.PProf:
	case settings.Member(n, "token").Kind() == strictjson.Missing:
		b.WrongKey(pprofAt, `add "token": "${VARIABLE}"`, "profiles of the process are for those who have a token")
	case d.Address != "" && !onThisMachine(d.Address):
		b.WrongKey(pprofAt, `take an address such as "127.0.0.1:9464", and reach it through ssh or kubectl port-forward`,
			"profiles of the process are served on this machine only, and %q is reached from elsewhere", d.Address)
	}
	return d
}

// pushEvery is how often figures are sent if the file does not say it, as the SDK of OpenTelemetry does.
const pushEvery = time.Minute

// push reads where figures go.
func (b *builder) push(n strictjson.Value, d *Diagnostics) {
	d.PushEvery = pushEvery
	d.push = collectors.Read(b.Reader, n, `"push"`, "http://localhost:4318/v1/metrics",
		settings.Key("seconds", func(n strictjson.Value) {
			seconds := b.Whole(n, `"seconds"`, 1)
			if seconds > 3600 {
				b.Wrong(n, "", `"seconds" must be at most 3600`)
			}
			d.PushEvery = time.Duration(seconds) * time.Second
		}))
}

// hostAndPort reads the address of a listener, as it is written and its parts; the host of a port alone is "". An
// address such as example is in the hint of a problem.
func (b *builder) hostAndPort(n strictjson.Value, example string) (text, host, port string, ok bool) {
	if text, ok = b.Text(n, "the address"); !ok {
		return "", "", "", false
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port, err = net.SplitHostPort(net.JoinHostPort("", text))
	}
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		b.Wrong(n, fmt.Sprintf("write a port, or an address such as %q", example), "%.80q is not an address", text)
		return "", "", "", false
	}
	return text, host, port, true
}

// listener reads the address of a listener, and completes it: a port alone is one of this machine.
func (b *builder) listener(n strictjson.Value) string {
	_, host, port, ok := b.hostAndPort(n, "127.0.0.1:9464")
	if !ok {
		return ""
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// onThisMachine reports whether only this machine can reach an address.
func onThisMachine(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

package serve

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/confined"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/tenants"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/server"
)

// tenantsFolder is the folder below the state folder of the process with those of its tenants.
const tenantsFolder = "tenants"

// readTenants makes a service of each tenant.
func (p *process) readTenants() (err error) {
	o := p.options
	switch given := o.set.Own(); {
	case o.address == "":
		return cli.UsageError(errors.New("--tenants needs --http: over stdio there is one client, and one configuration"))
	case given != "" || o.page != "":
		given = cmp.Or(given, "--console")
		return cli.UsageError(fmt.Errorf("%s says something about one service: with --tenants, write it into the "+
			"configuration of a tenant", given))
	case o.session != "":
		return cli.UsageError(fmt.Errorf("--session or %s: a session is one of a tenant, and --tenants serves all: clients "+
			"name their sessions in the header Codemode-Session", SessionVariable))
	}
	if p.tenants, err = tenants.Load(o.tenants); err != nil {
		return cli.UsageError(err)
	}
	if err = p.tenants.Distinct(); err != nil {
		return cli.UsageError(err)
	}
	root, err := o.set.StateFolder()
	if err != nil {
		return cli.UsageError(err)
	}
	for _, t := range p.tenants.Tenants {
		if t.State == "" {
			t.State = filepath.Join(root, tenantsFolder, t.Name)
		}
		s := &service{name: t.Name, prefix: tenants.Prefix(t.Name), set: o.set.Tenant(t.Config, t.State),
			log: p.log.With("tenant", t.Name)}
		s.check = s.checkHTTP
		s.set.Adjust = p.adjust(s)
		if s.set.Confined, err = confined.Current(); err != nil {
			return cli.UsageError(err)
		}
		p.services = append(p.services, s)
		if s.config, err = s.set.Load(); err != nil {
			return s.named(err)
		}
		if err := s.checkProcess(); err != nil {
			return cli.UsageError(s.named(err))
		}
	}
	return cli.UsageError(p.tokensApart())
}

// adjust makes the options of a tenant's Evaluator what they are beside other tenants.
func (p *process) adjust(s *service) func(*codemode.Options) {
	return func(o *codemode.Options) {
		o.Tenant = s.name
		if p.engine != nil { // there is none while only the rights of the process are found out
			o.Engine = p.engine
		}
		o.PagePath = s.prefix + config.ConsolePath
		// A token of a tenant proves nothing to another one, in any replica.
		if secret, ok := launch.Env(preflight.SecretVariable); ok && secret != "" {
			of := hmac.New(sha256.New, []byte(secret))
			of.Write([]byte("tenant " + s.name))
			o.PreflightSecret = hex.EncodeToString(of.Sum(nil))
		}
		o.Protected[p.tenants.Path] = "the file of tenants"
		for _, other := range p.services {
			if other != s {
				p.protect(o.Protected, other)
			}
		}
	}
}

// protect adds what belongs to a tenant to what another tenant's built-in filesystem does not reach.
func (p *process) protect(to map[string]string, of *service) {
	what := func(of string) string { return of + " of another tenant" }
	to[of.set.Config] = what("the configuration")
	to[filepath.Join(filepath.Dir(of.set.Config), "overlays.json")] = what("the file of overlays")
	to[of.set.State] = what("the state")
	if place, err := recorder.PlaceOf(of.set.State, of.config, launch.Env); err == nil { // else it does not start
		for _, path := range []string{place.Store.Path, place.Key, place.Checkpoints} {
			if path != "" {
				to[path] = what("the record")
			}
		}
	}
}

// checkHTTP refuses a value of the key http with which the tenant would not be apart from others.
func (s *service) checkHTTP(h config.HTTP) error {
	if len(h.Tokens) == 0 && h.OAuth == nil {
		return errors.New("the configuration has no http.tokens and no http.oauth that say who may connect: without them " +
			"everybody would be at every tenant")
	}
	if h.OAuth == nil {
		return nil
	}
	if u, err := url.Parse(h.OAuth.Resource); err != nil || u.Path != s.prefix+server.Path {
		return fmt.Errorf("http.oauth.resource is %s, and the path of this tenant is %s: tokens for it are for no other "+
			"tenant", h.OAuth.Resource, s.prefix+server.Path)
	}
	return nil
}

// checkProcess refuses settings of the process in the configuration of a tenant: they would have no effect.
func (s *service) checkProcess() error {
	h, err := s.config.HTTP(launch.Env)
	if err != nil {
		return err
	}
	d, err := s.config.Diagnostics(launch.Env)
	if err != nil {
		return err
	}
	var key string
	switch {
	case h.TLS != nil:
		key = "http.tls"
	case h.SocketMode != 0:
		key = "http.socketMode"
	case d.Address != "" || d.Fingerprint != "" || d.PProf:
		key = "diagnostics"
	case s.config.Capacity != nil && s.config.Capacity.GuestMemory != 0:
		key = "capacity.guestMemory"
	default:
		return s.checkHTTP(h)
	}
	return fmt.Errorf("%s in %s is about the process, which all tenants share: move it to the file of tenants", key,
		s.set.Config)
}

// tokensApart refuses a token that two tenants have.
func (p *process) tokensApart() error {
	known := map[string]*service{}
	for _, s := range p.services {
		h, err := s.config.HTTP(launch.Env)
		if err != nil {
			return s.named(err)
		}
		for _, t := range h.Tokens {
			if other := known[t.Fingerprint]; t.Fingerprint != "" && other != nil {
				return fmt.Errorf("tenants %s and %s have the same token: give each its own", other.name, s.name)
			}
			known[t.Fingerprint] = s
		}
	}
	return nil
}

// apart refuses tenants that have a state folder, a record or a key in common. The error names both.
func (p *process) apart(ctx context.Context) error {
	type place struct {
		of *service
		recorder.Place
	}
	var places []place
	records := map[string]*service{} // by the ids of their databases
	for _, s := range p.services {
		if err := os.MkdirAll(s.set.State, 0o700); err != nil {
			return s.named(cli.UsageError(err))
		}
		at, err := s.set.Place()
		if err != nil {
			return s.named(err)
		}
		for _, other := range places {
			what := ""
			switch {
			case sameFile(s.set.State, other.of.set.State):
				what = "state folder, " + s.set.State
			case sameFile(at.Store.Path, other.Store.Path):
				what = "record, " + at.Store.Path
			case sameFile(at.Key, other.Key):
				what = "key of the record, " + at.Key
			case sameFile(at.Checkpoints, other.Checkpoints):
				what = "file of checkpoints, " + at.Checkpoints
			}
			if what != "" {
				return cli.UsageError(fmt.Errorf("tenants %s and %s have the same %s", other.of.name, s.name, what))
			}
		}
		places = append(places, place{s, at})
		id, err := recordID(ctx, at, s.log)
		if err != nil {
			return s.named(cli.InternalError(err))
		}
		if other := records[id]; other != nil {
			return cli.UsageError(fmt.Errorf("tenants %s and %s have the same record: their stores are one database, or one is "+
				"a copy of the other; give each a database, or a schema with ?search_path=NAME in its URL", other.name, s.name))
		}
		records[id] = s
	}
	return nil
}

// recordID makes the database of a record, unless it exists, and returns its id.
func recordID(ctx context.Context, at recorder.Place, log *slog.Logger) (string, error) {
	if _, err := at.Prepare(); err != nil {
		return "", err
	}
	at.Store.Log = log
	db, err := at.Open(ctx)
	if err != nil {
		return "", fmt.Errorf("opening the record: %w", err)
	}
	return db.ID(), db.Close()
}

// sameFile reports whether two paths lead to the same file or folder; "" leads to none.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return filepath.Clean(a) == filepath.Clean(b) || errX == nil && errY == nil && os.SameFile(x, y)
}

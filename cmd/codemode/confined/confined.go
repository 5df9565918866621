// Package confined says what codemode and its servers may reach where "serve --confine" confines them, and confines
// them. Package internal/confine enforces it.
//
// codemode starts twice: the first process reads the configuration, finds out what it and its servers need ([Own]), and
// replaces itself by one that may do that and no more ([Enter]). That one finds its rights with [Current], and gives
// each server a part of them ([Process.Server]).
package confined

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/confine"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// Variable has the rules of a confined codemode, as JSON.
const Variable = "CODEMODE_CONFINED"

// self is this binary, also after an upgrade replaced it.
const self = "/proc/self/exe"

// Possible returns why no process can be confined here, nil if one can.
func Possible(bestEffort bool) error {
	if missing := confine.Missing(); len(missing) > 0 && !bestEffort {
		return fmt.Errorf("this process cannot be confined: %s; --confine=best-effort goes on without that",
			strings.Join(missing, "; "))
	}
	if !confine.Possible() {
		return confine.ErrUnsupported
	}
	return nil
}

// Enter replaces this process by one with these rules. It returns only an error.
func Enter(r confine.Rules) error {
	if err := Possible(r.BestEffort); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return fmt.Errorf("confining this process: %w",
		confine.Exec(r, self, os.Args, append(os.Environ(), Variable+"="+string(text))))
}

// A Process is a confined codemode.
type Process struct {
	rules   confine.Rules
	Options codemode.Options // of its Evaluator: they say which files give power over it
	Log     *slog.Logger

	mu   sync.Mutex
	told map[string]string // by server, what was logged of its reach
}

// Current returns the confined process that this one is, nil if it is none. It does not believe the variable: it tries.
func Current() (*Process, error) {
	text, ok := os.LookupEnv(Variable)
	if !ok {
		return nil, nil
	}
	p := &Process{told: map[string]string{}}
	if err := json.Unmarshal([]byte(text), &p.rules); err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	if _, err := os.ReadDir("/"); !errors.Is(err, fs.ErrPermission) { // which everybody may read, and no rules allow
		return nil, fmt.Errorf("%s is set, and this process is not confined: unset it", Variable)
	}
	return p, nil
}

// Worker returns the command of a process that reads programs, with no rights but those to the binary itself.
func (p *Process) Worker(command []string) []string {
	if p == nil || len(command) == 0 {
		return command
	}
	return confine.Rules{BestEffort: p.rules.BestEffort}.Command(command[0], command[0], command[1:], 0)
}

// Server changes the command that starts a server, so that the server has a part of this process's rights.
func (p *Process) Server(cfg *config.Config, s *servers.Server, c upstream.Command) (upstream.Command, error) {
	const more = "a folder that its args, cwd or env name is its own too"
	g, err := newGuard(p.Options, cfg)
	if err != nil {
		return c, err
	}
	reach, err := g.reachOf(s, c)
	if err != nil {
		return c, err
	}
	if lacks := p.lacks(reach); lacks != "" {
		return c, fmt.Errorf("it needs %s, which codemode did not get when it started: restart codemode", lacks)
	}
	c.Refused = "codemode confines it: " + reach.String() + "; " + more
	p.tell(s.Name, reach.String())
	program, err := lookUp(c)
	if err != nil {
		return c, err
	}
	for name, value := range reach.env {
		c.Env[name] = value
	}
	reach.Rules.BestEffort = p.rules.BestEffort
	command := reach.Rules.Command(self, program, c.Args, os.Getpid())
	c.Name, c.Args = command[0], command[1:]
	return c, nil
}

// MayWrite reports whether the rules allow to write files in a folder. A nil Process is not confined.
func (p *Process) MayWrite(dir string) bool {
	return p == nil || slices.ContainsFunc(p.rules.Write, func(allowed string) bool { return within(allowed, real(dir)) })
}

// tell logs what a server may reach, once.
func (p *Process) tell(server, reach string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told[server] != reach {
		p.told[server] = reach
		p.Log.Info("a server starts confined", "server", server, "reach", reach)
	}
}

// lacks returns something that a server should reach and this process cannot, "" if there is nothing.
func (p *Process) lacks(r *Reach) string {
	has := func(path string, lists ...[]string) bool {
		return slices.ContainsFunc(slices.Concat(lists...), func(dir string) bool { return within(dir, path) })
	}
	for _, path := range r.Read {
		if !has(path, p.rules.Read, p.rules.Write) {
			return path
		}
	}
	for _, path := range r.Write {
		if !has(path, p.rules.Write) {
			return path
		}
	}
	return ""
}

// Own returns what codemode needs with these options and that configuration, for itself and its servers. listen has the
// addresses that it listens on, as the flag --http of codemode serve has them.
func Own(o codemode.Options, cfg *config.Config, listen ...string) (confine.Rules, error) {
	var read, write []string
	read = append(read, "/etc", "/var/lib/ca-certificates")
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "PGPASSFILE", "PGSERVICEFILE", "PGSSLCERT", "PGSSLKEY",
		"PGSSLROOTCERT", "KRB5_CONFIG"} {
		read = append(read, filepath.SplitList(os.Getenv(name))...)
	}
	read = append(read, under(home(), []string{".pgpass", ".pg_service.conf", ".postgresql"})...)
	places, err := codemode.Powers(o, cfg)
	if err != nil {
		return confine.Rules{}, err
	}
	for _, place := range places {
		path, err := filepath.Abs(place.Path)
		if err != nil {
			return confine.Rules{}, err
		}
		read = append(read, path)
		// An editor replaces a file, and who renews a certificate or a secret changes where a link leads: codemode then
		// reads another file in one of these folders.
		for _, dir := range []string{real(filepath.Dir(path)), filepath.Dir(real(path))} {
			if !tooBroad(dir) && !place.Searched {
				read = append(read, dir)
			}
		}
	}
	files, err := written(o, cfg)
	if err != nil {
		return confine.Rules{}, err
	}
	write = append(write, files...)
	write = append(write, devices...)
	write = append(write, socketFolders(listen)...)
	rules := confine.Rules{Connect: confine.Ports{Any: true}, Unix: true}
	if cfg != nil && cfg.Confine != nil {
		rules.BestEffort = cfg.Confine.BestEffort
		for _, path := range cfg.Confine.Read {
			read = append(read, checks.ExpandHome(path, ""))
		}
		for _, path := range cfg.Confine.Write {
			write = append(write, checks.ExpandHome(path, ""))
		}
	}
	rules.Read, rules.Write = resolved(slices.Concat(programs, read)), resolved(write)
	rules.Listen, rules.LowPorts = ports(listen)
	return withServers(rules, o, cfg)
}

// written lists the folders that codemode writes, and makes them.
func written(o codemode.Options, cfg *config.Config) ([]string, error) {
	folders := []string{o.StateDir, o.RecordDir, o.CacheDir, Folders(), os.TempDir(), o.Root}
	record, err := recorder.PlaceOf(o.RecordDir, cfg, o.Env)
	if err != nil {
		return nil, err
	}
	for _, file := range []string{record.Store.Path, record.Key, record.Checkpoints} {
		if filepath.IsAbs(file) {
			folders = append(folders, filepath.Dir(file))
		}
	}
	if cfg != nil && cfg.Builtin != nil && cfg.Builtin.Root != "" {
		root := cfg.Builtin.Root
		if !filepath.IsAbs(root) {
			root = filepath.Join(filepath.Dir(cfg.Path), root)
		}
		folders = append(folders, root)
	}
	folders = slices.DeleteFunc(folders, func(dir string) bool { return dir == "" })
	for i, dir := range folders {
		if folders[i], err = filepath.Abs(dir); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return folders, nil
}

// withServers adds what the servers may reach: a process gives away only what it has.
func withServers(rules confine.Rules, o codemode.Options, cfg *config.Config) (confine.Rules, error) {
	if cfg == nil {
		return rules, nil
	}
	g, err := newGuard(o, cfg)
	if err != nil {
		return rules, err
	}
	for _, entry := range cfg.Servers {
		s, reach, err := g.connection(o, entry)
		if err != nil {
			return rules, fmt.Errorf("server %q: %w", entry.Name, err)
		}
		if s.OwnProcess() && reach != nil {
			rules = rules.And(reach.Rules)
		}
		if s.EnvFile != "" {
			rules.Read = append(rules.Read, resolved([]string{s.EnvFile})...)
		}
	}
	return rules, nil
}

// connection reads the entry of a server and finds out what it may reach; nil if it cannot start.
func (g *guard) connection(o codemode.Options, entry config.Server) (servers.Server, *Reach, error) {
	s, err := entry.Connection(o.Env)
	if err != nil || !s.OwnProcess() || s.Disabled || s.Problem != "" {
		return s, nil, err
	}
	c, err := upstream.CommandOf(&upstream.Server{Server: s}, o.Env)
	if err != nil {
		return s, nil, nil // its start says so
	}
	if _, err := lookUp(c); err != nil {
		return s, nil, nil
	}
	reach, err := g.reachOf(&s, c)
	return s, reach, err
}

// Reaches says what each server that runs as a process may reach where codemode is confined.
func Reaches(o codemode.Options, cfg *config.Config) (map[string]*Reach, error) {
	g, err := newGuard(o, cfg)
	if err != nil {
		return nil, err
	}
	all := map[string]*Reach{}
	for _, entry := range cfg.Servers {
		_, reach, err := g.connection(o, entry)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", entry.Name, err)
		}
		if reach != nil {
			all[entry.Name] = reach
		}
	}
	return all, nil
}

// socketPrefix begins an address that is a socket in the file system, and systemd stands for one that is open already.
const socketPrefix, systemd = "unix:", "systemd"

// socketFolders returns the folders of the addresses that are sockets in the file system: codemode makes and removes
// those.
func socketFolders(addresses []string) (folders []string) {
	for _, address := range addresses {
		if path, ok := strings.CutPrefix(address, socketPrefix); ok && filepath.IsAbs(path) {
			folders = append(folders, filepath.Dir(path))
		}
	}
	return folders
}

// ports returns the ports of addresses, and whether one is below 1024.
func ports(addresses []string) (p confine.Ports, low bool) {
	for _, address := range addresses {
		if address == "" || address == systemd || strings.HasPrefix(address, socketPrefix) {
			continue
		}
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			address = u.Host
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			port = address
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 { // a name, or any free port
			p.Any = true
			continue
		}
		p.Only = append(p.Only, uint16(n))
		low = low || n < 1024
	}
	return p, low
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/isolation"
)

// A service runs programs with codemode serve. It has a profile for each set of rules that runs came with.
type service struct {
	folder   string // the configuration, the state and the cache of codemode
	tools    *toolServer
	client   *mcp.ClientSession
	names    map[string]string // of profiles, by their rules
	profiles object
}

type object map[string]any

// usual are the rules that a harness sends: with them, the first run need not wait for a new configuration.
var usual = isolation.Run{
	Allow: []string{"echo", "slow", "fail"},
	Limits: isolation.Limits{WallMS: 3010, CPUMS: 3000, MemoryBytes: 64 << 20, Calls: 2000, InFlight: 16,
		ArgumentBytes: 8 << 20, ResultBytes: 1 << 20},
}

// open starts codemode, and runs a program, so that the first one of the harness finds it ready.
func open(ctx context.Context, program string) (s *service, version string, err error) {
	s = &service{names: map[string]string{}, profiles: object{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.folder, err = os.MkdirTemp("", "codemode-"); err != nil {
		return s, "", err
	}
	if s.tools, err = serveTools(); err != nil {
		return s, "", err
	}
	if _, _, err := s.add(usual); err != nil {
		return s, "", err
	}
	command := exec.Command(program, "serve", "--config", s.config(), "--state", filepath.Join(s.folder, "state"),
		"--project", "none")
	// One client needs less than this. Go keeps more garbage without it; deploy/helm sets it, too.
	command.Env = append(environment(), "HOME="+s.folder, "GOMEMLIMIT=128MiB")
	command.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "harness", Version: "1"}, nil)
	if s.client, err = client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil); err != nil {
		return s, "", fmt.Errorf("starting %s: %w", program, err)
	}
	warm := usual
	warm.Program = `await codemode.echo().catch(() => {});`
	if end := s.run(ctx, warm, nil); end.Outcome != isolation.Value {
		return s, "", fmt.Errorf("the first program failed: %s", end.Message)
	}
	return s, s.client.InitializeResult().ServerInfo.Version, nil
}

// environment is that of this process, without what codemode would take for settings.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CODEMODE_") })
}

func (s *service) config() string { return filepath.Join(s.folder, "codemode.json") }

func (s *service) close() error {
	var errs []error
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	if s.tools != nil {
		errs = append(errs, s.tools.close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.folder))...)
}

func (s *service) run(ctx context.Context, r isolation.Run, call isolation.Caller) isolation.Outcome {
	fail := func(err error) isolation.Outcome {
		if errors.Is(err, mcp.ErrConnectionClosed) {
			log.Fatal("codemode serve ended: ", err)
		}
		return isolation.Outcome{Outcome: isolation.Error, Message: err.Error()}
	}
	profile, err := s.profile(ctx, r)
	if err != nil {
		return fail(err)
	}
	if call != nil {
		s.tools.calls.Store(trace(r.Run), call)
		defer s.tools.calls.Delete(trace(r.Run))
	}
	result, err := s.client.CallTool(ctx, &mcp.CallToolParams{
		Meta: mcp.Meta{"traceparent": trace(r.Run)}, Name: evalTool(profile),
		Arguments: object{"code": onOneLine(prelude) + r.Program},
	})
	if err != nil {
		return fail(err)
	}
	text, err := textOf(result)
	if err != nil {
		return fail(err)
	}
	if result.IsError {
		return isolation.Outcome{Outcome: ending(text), Message: text}
	}
	value, err := s.value(ctx, text)
	if err != nil {
		return fail(err)
	}
	if int64(len(value)) > r.Limits.ResultBytes { // codemode has no limit below a megabyte
		return fail(errors.New("the result is too large"))
	}
	return isolation.Outcome{Outcome: isolation.Value, Value: value}
}

// onOneLine keeps the lines of the program after it at their numbers.
func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") + " " }

func evalTool(profile string) string { return "codemode_eval_" + profile }

// profile returns the profile for the rules of a run. codemode reads a changed configuration at once, but not before it
// changes.
func (s *service) profile(ctx context.Context, r isolation.Run) (string, error) {
	name, added, err := s.add(r)
	if err != nil || !added {
		return name, err
	}
	ctx, cancel := context.WithTimeout(ctx, reload)
	defer cancel()
	for {
		list, err := s.client.ListTools(ctx, nil)
		if err != nil {
			return "", fmt.Errorf("waiting for a new profile: %w", err)
		}
		if slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == evalTool(name) }) {
			return name, nil
		}
		time.Sleep(10 * time.Millisecond) // for the watcher of the file in the other process
	}
}

// reload bounds how long codemode takes to read a changed configuration.
const reload = 10 * time.Second

// add writes the configuration with a profile for the rules of a run, if it has none.
func (s *service) add(r isolation.Run) (name string, added bool, err error) {
	rules := rulesOf(r)
	text, err := json.Marshal(rules)
	if err != nil {
		return "", false, err
	}
	if name := s.names[string(text)]; name != "" {
		return name, false, nil
	}
	name = fmt.Sprintf("run%d", len(s.names)+1)
	s.profiles[name] = rules
	exposed := []string{}
	for name := range s.profiles {
		exposed = append(exposed, name)
	}
	config, err := json.Marshal(object{
		"mcpServers": object{server: object{"type": "http", "url": s.tools.url}},
		"evaluation": object{"profiles": s.profiles, "expose": exposed},
		// A value that does not fit into a reply is read from there; none may be larger.
		"results": object{"largest": max(r.Limits.ResultBytes, 1<<20)},
	})
	if err != nil {
		return "", false, err
	}
	if err := os.WriteFile(s.config()+".new", config, 0o600); err != nil {
		return "", false, err
	}
	s.names[string(text)] = name
	return name, true, os.Rename(s.config()+".new", s.config())
}

func millis(n int64) string { return strconv.FormatInt(n, 10) + "ms" }

func rulesOf(r isolation.Run) object {
	allow := []string{}
	for _, name := range r.Allow {
		allow = append(allow, server+"__"+name)
	}
	l := r.Limits
	return object{
		"allowlist": allow,
		"limits": object{
			"wall": millis(l.WallMS), "call": millis(l.WallMS), "cpu": millis(l.CPUMS), "memory": l.MemoryBytes,
			"calls": l.Calls, "inFlight": l.InFlight, "argumentBytes": l.ArgumentBytes + int64(wrapping),
		},
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/confine"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A confinedHouse is a codemode with --confine, with its folders.
type confinedHouse struct {
	t                          *testing.T
	dir                        string // of everything
	home, config, state, files string
	temp                       string // of codemode, which it may write
	served                     *served
	client                     *mcp.ClientSession
}

func needConfinement(t *testing.T) {
	t.Helper()
	if missing := confine.Missing(); len(missing) > 0 {
		t.Skip("this system cannot confine: ", missing)
	}
}

func newConfinedHouse(t *testing.T) *confinedHouse {
	t.Helper()
	needConfinement(t)
	endToEnd(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	h := &confinedHouse{t: t, dir: dir}
	for name, to := range map[string]*string{"home": &h.home, "state": &h.state, "files": &h.files, "config": &h.config,
		"temp": &h.temp} {
		*to = filepath.Join(dir, name)
		checktest.OK(t, os.MkdirAll(filepath.Join(*to, ".ssh"), 0o700))
	}
	h.config = filepath.Join(h.config, "codemode.json")
	write(t, filepath.Join(h.home, ".ssh", "id"), "secret")
	write(t, filepath.Join(h.files, "a"), "a")
	return h
}

// configure writes a configuration; servers has the entries of probers, without how they are started.
func (h *confinedHouse) configure(more map[string]any, servers map[string]map[string]any) {
	h.t.Helper()
	self, err := os.Executable()
	checktest.OK(h.t, err)
	for _, entry := range servers {
		env := map[string]string{asCommand: "prober"}
		if other, ok := entry["env"].(map[string]string); ok {
			for name, value := range other {
				env[name] = value
			}
		}
		entry["command"], entry["env"] = self, env
	}
	file := map[string]any{"mcpServers": servers}
	for key, value := range more {
		file[key] = value
	}
	text, err := json.Marshal(file)
	checktest.OK(h.t, err)
	write(h.t, h.config, string(text))
}

// serve starts it over HTTP and connects a client.
func (h *confinedHouse) serve(flags ...string) {
	h.t.Helper()
	environment := []string{"HOME=" + h.home, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "TMPDIR=" + h.temp}
	h.served = serveOverHTTP(h.t, "0", environment,
		append([]string{"--config", h.config, "--state", h.state}, flags...)...)
	var err error
	if h.client, err = h.served.connect("2025-11-25", "", nil); err != nil {
		h.t.Fatalf("%v\n%s", err, h.served.log)
	}
}

// try has a prober try something and returns "done", or what the system said.
func (h *confinedHouse) try(server, what string) string {
	h.t.Helper()
	return callText(h.t, h.client, fmt.Sprintf(
		"try { return await codemode[%q].try({what: %q}) } catch (e) { return String(e.message ?? e) }", server, what))
}

func (h *confinedHouse) check(server, what, want string) {
	h.t.Helper()
	if got := h.try(server, what); !strings.Contains(strings.SplitN(got, "\n", 2)[0], want) {
		h.t.Errorf("%s: %s: got %q, want %q", server, what, got, want)
	}
}

// own has codemode itself try things, as a command of its configuration: that has codemode's own rights. It checks what
// the system refused.
func (h *confinedHouse) own(tries map[string]string, flags ...string) {
	h.t.Helper()
	self, err := os.Executable()
	checktest.OK(h.t, err)
	script := filepath.Join(h.dir, "probes", "probe")
	checktest.OK(h.t, os.MkdirAll(filepath.Dir(script), 0o700))
	write(h.t, script, fmt.Sprintf("#!/bin/sh\nn=$1\nshift\nsaid=$(%s=probe %q \"$@\") || case $said in\n"+
		"*\"permission denied\"*) echo the-probe-$n-was-refused; exit;;\n*) echo the-probe-$n-failed; exit;;\nesac\n"+
		"echo the-probe-$n-was-done\n", asCommand, self))
	checktest.OK(h.t, os.Chmod(script, 0o700))
	var tokens []map[string]any
	whats := slices.Sorted(maps.Keys(tries))
	for i, what := range whats {
		tokens = append(tokens, map[string]any{"token": fmt.Sprintf("${cmd:%s %d %s}", script, i, what),
			"principal": fmt.Sprint("p", i)})
	}
	h.configure(map[string]any{"http": map[string]any{"tokens": tokens}}, map[string]map[string]any{"a": {"args": []string{h.files}}})
	s := h.start("0", flags...)
	defer s.end()
	for i, what := range whats {
		c, err := s.connect("2025-11-25", fmt.Sprintf("the-probe-%d-was-%s", i, tries[what]), nil)
		if err != nil {
			h.t.Errorf("codemode itself: %s is not %s: %v", what, tries[what], err)
			continue
		}
		c.Close()
	}
}

// A server reaches what its entry names and the network, and nothing of codemode, of the home folder or of others.
func TestConfinedServers(t *testing.T) {
	h := newConfinedHouse(t)
	other := filepath.Join(h.dir, "other")
	checktest.OK(t, os.Mkdir(other, 0o700))
	write(t, filepath.Join(other, "b"), "b")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	defer listener.Close()
	h.configure(nil, map[string]map[string]any{
		"plain": {"args": []string{h.files}},
	})
	h.serve("--confine")
	const no, done = "permission denied", "done"
	tcp := "tcp " + listener.Addr().String()
	for _, tt := range []struct{ server, what, want string }{
		{"plain", "read " + h.files + "/a", done}, {"plain", "write " + h.files + "/new", done}, {"plain", "temp", done},
		{"plain", "read " + h.home + "/.ssh/id", no}, {"plain", "write " + h.home + "/.profile", no},
		{"plain", "write " + h.home + "/.npmrc", no}, {"plain", "read " + h.config, no}, {"plain", "write " + h.config, no},
		{"plain", "write " + filepath.Dir(h.config) + "/overlays.json", no},
		{"plain", "read " + h.state + "/record.key", no}, {"plain", "read " + h.state + "/codemode.db", no},
		{"plain", "write " + h.state + "/codemode.db", no}, {"plain", "socket " + h.state + "/approvals", no},
		{"plain", "read " + other + "/b", no}, {"plain", "write " + h.dir + "/x", no}, {"plain", "write /usr/x", no},
		{"plain", "read /etc/shadow", no}, {"plain", "read /etc/passwd", done},
		{"plain", "read /etc/codemode/managed.json", "no such"},
		{"plain", "signal", "operation not permitted"}, {"plain", "environment", no}, {"plain", "memory", no},
		{"plain", tcp, done}, {"plain", "listen", no},
	} {
		h.check(tt.server, tt.what, tt.want)
	}
	log := h.served.log.String()
	for _, want := range []string{"a server starts confined",
		"writes " + h.files + ", " + h.home + "/.cache/codemode-servers/plain-",
		`the system refused something to its server`, `a folder that its args, cwd or env name is its own too`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "no worker can read programs") {
		t.Errorf("programs are read without a worker:\n%s", log)
	}
	h.client.Close()
	h.served.end()
	var out, problems bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}
	if code := runMain(t, streams, "audit", "verify", "--state", h.state, "--config", h.config); code != 0 {
		t.Errorf("the record: exit code %d\n%s%s", code, &out, &problems)
	}
	// What codemode itself has is not the home folder.
	h.own(map[string]string{"read " + h.files + "/a": "done", "read " + h.home + "/.ssh/id": "refused",
		"write " + h.config: "refused"})
}

// A command line has the rights that a server with these words would have.
func TestConfinedCommandLines(t *testing.T) {
	t.Parallel()
	h := newConfinedHouse(t)
	write(t, h.config, fmt.Sprintf(`{"mcpServers": {"s": {"cwd": %q, "cli": {"command": "cat", "tools": {"read": {
		"args": ["--", "{path}"], "effect": "reads", "input": {"path": {"type": "string"}}}}}}}}`, h.files))
	h.serve("--confine")
	for path, want := range map[string]string{"a": "a", h.home + "/.ssh/id": "ermission denied", h.config: "ermission denied",
		h.state + "/record.key": "ermission denied", "-n": "No such file"} {
		got := callText(t, h.client, fmt.Sprintf(
			"try { return await codemode.s.read({path: %q}) } catch (e) { return String(e.message) }", path))
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if log := h.served.log.String(); !strings.Contains(log, "a server starts confined") {
		t.Errorf("the log says %s", log)
	}
}

// A confined codemode follows its configuration, restarts its servers, and says for which server it has to be restarted
// itself.
func TestConfinedReload(t *testing.T) {
	t.Parallel()
	h := newConfinedHouse(t)
	h.configure(nil, map[string]map[string]any{"a": {"args": []string{h.files}}})
	h.serve("--confine")
	h.check("a", "read "+h.files+"/a", "done")
	h.try("a", "end")
	h.check("a", "read "+h.files+"/a", "done")
	h.check("a", "read "+h.config, "permission denied")

	later := filepath.Join(h.dir, "later")
	checktest.OK(t, os.Mkdir(later, 0o700))
	h.configure(nil, map[string]map[string]any{
		"b": {"args": []string{h.files}}, "c": {"args": []string{later}},
	})
	if !testwait.Holds(func() bool { return strings.Contains(h.try("b", "read "+h.files+"/a"), "done") }) {
		t.Fatalf("the new configuration is not followed:\n%s", h.served.log)
	}
	if !testwait.Holds(func() bool { h.try("c", "temp"); return strings.Contains(h.served.log.String(), "restart codemode") }) {
		t.Errorf("the log does not say what c needs:\n%s", h.served.log)
	}
	h.served.end()
}

// A server that ends because the system refused it something is not a riddle.
func TestConfinedFailuresAreExplained(t *testing.T) {
	h := newConfinedHouse(t)
	secret := filepath.Join(h.home, ".ssh", "id")
	h.configure(map[string]any{"confine": true}, map[string]map[string]any{
		"a": {"env": map[string]string{"CODEMODE_TEST_NEEDS": secret}},
		"b": {"args": []string{h.home}},
	})
	h.serve()
	h.try("a", "temp")
	h.check("b", "read "+secret, "permission denied")
	for _, want := range []string{
		"cannot start: open " + secret + ": permission denied (codemode confines it: it reads and executes the system's",
		"it does not get " + h.home + " of its args: it holds much else",
		"it does not get " + h.home + "/.ssh of its env CODEMODE_TEST_NEEDS: it is hidden in the home folder",
	} {
		if log := h.served.log.String(); !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	h.served.end()
}

func TestConfinementThatIsRefused(t *testing.T) {
	h := newConfinedHouse(t)
	run := func(environment []string, args ...string) (int, string) {
		cmd := command(t, append([]string{"serve", "--config", h.config, "--state", h.state}, args...)...)
		cmd.Env = append(append(cmd.Env, "HOME="+h.home), environment...)
		out, _ := cmd.CombinedOutput() // its exit code says it
		return cmd.ProcessState.ExitCode(), string(out)
	}
	for _, tt := range []struct {
		name        string
		config      string
		environment []string
		args        []string
		want        string
	}{
		{"another word", `{}`, nil, []string{"--confine=maybe"}, "it is on or best-effort"},
		{"a broken configuration", `{"confine": "yes"}`, nil, nil, `"confine" is "yes"`},
		{"bounds of a server", `{"mcpServers": {"a": {"command": "true", "confine": {"network": false}}}}`, nil,
			[]string{"--confine"}, `"confine" is no key of a server`},
		{"a variable that says so", `{}`, []string{"CODEMODE_CONFINED={}"}, nil, "this process is not confined"},
		{"a variable of somebody else", `{}`, []string{"CODEMODE_CONFINED=1"}, nil, "CODEMODE_CONFINED"},
	} {
		write(t, h.config, tt.config)
		if code, out := run(tt.environment, tt.args...); code != cli.ExitUsage || !strings.Contains(out, tt.want) {
			t.Errorf("%s: exit code %d, %s", tt.name, code, out)
		}
	}
}

// The store of a fleet is reached over its socket and over TCP.
func TestConfinedWithPostgreSQL(t *testing.T) {
	t.Parallel()
	needConfinement(t)
	server := pgtest.Start(t)
	socket, err := url.Parse(server.URL("one"))
	checktest.OK(t, err)
	overTCP, err := url.Parse(server.URL("two"))
	checktest.OK(t, err)
	query := overTCP.Query()
	files, err := filepath.Glob(filepath.Join(query.Get("host"), ".s.PGSQL.*[0-9]"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the server has the sockets %q, %v", files, err)
	}
	overTCP.Host = forward(t, files[0])
	query.Del("host")
	query.Set("sslmode", "disable")
	overTCP.RawQuery = query.Encode()
	for _, database := range []*url.URL{socket, overTCP} {
		h := newConfinedHouse(t)
		if err := os.Chmod(filepath.Dir(files[0]), 0o755); err != nil { // it may belong to another user
			t.Fatal(err)
		}
		h.configure(map[string]any{"store": database.String()}, map[string]map[string]any{"a": {"args": []string{h.files}}})
		h.serve("--confine")
		h.check("a", "read "+h.files+"/a", "done")
		h.check("a", "socket "+filepath.Dir(files[0]), "permission denied")
		h.check("a", "unix "+files[0], "permission denied")
		h.served.end()
	}
}

// forward listens on TCP for connections to a Unix socket.
func forward(t *testing.T, socket string) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", socket)
			if err != nil {
				from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); to.Close() }()
			go func() { _, _ = io.Copy(from, to); from.Close() }()
		}
	}()
	return listener.Addr().String()
}

// The page is served.
func TestTheConfinedPage(t *testing.T) {
	h := newConfinedHouse(t)
	h.configure(nil, map[string]map[string]any{})
	h.serve("--confine")
	r, err := http.Get(strings.TrimSuffix(h.served.url, "/mcp") + "/console/")
	checktest.OK(t, err)
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized { // without a login
		t.Errorf("the page: %s", r.Status)
	}
	h.served.end()
}

// exam runs the attacks and returns how each ended.
func exam(t *testing.T, args ...string) map[string]string {
	t.Helper()
	endToEnd(t)
	cmd := command(t, append([]string{"bench", "isolation", "--once", "--format", "json"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return outcomes(t, out)
}

// examsOutside are the outcomes of exams without confinement, by their arguments: each takes minutes.
var examsOutside = struct {
	sync.Mutex
	outcomes map[string]map[string]string
}{outcomes: map[string]map[string]string{}}

// outsideExam is exam without confinement, once for the same arguments. Nobody changes what it returns.
func outsideExam(t *testing.T, args ...string) map[string]string {
	t.Helper()
	examsOutside.Lock()
	defer examsOutside.Unlock()
	key := strings.Join(args, " ")
	if examsOutside.outcomes[key] == nil {
		examsOutside.outcomes[key] = exam(t, args...)
	}
	return examsOutside.outcomes[key]
}

// stopped is the end of an attack by the limit of time or of memory, which the exam takes.
const stopped = "a limit"

// endAlike holds that the same attacks end alike in two exams. One that is stopped by a limit in one of them may reach
// its own end in the other, if the exam takes both: the machine decides which comes first.
func endAlike(t *testing.T, outside, inside map[string]string) {
	t.Helper()
	expected := maps.Clone(outside)
	for name, end := range outside {
		rest, limit := strings.CutPrefix(end, stopped)
		other, limitInside := strings.CutPrefix(inside[name], stopped)
		if limit && strings.HasSuffix(inside[name], rest) || limitInside && strings.HasSuffix(end, other) {
			expected[name] = inside[name]
		}
	}
	if diff := cmp.Diff(expected, inside); diff != "" {
		t.Error(diff)
	}
	t.Logf("%d attacks", len(inside))
}

// outcomes reads how each attack ended from a report.
func outcomes(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var report struct {
		Cases []struct {
			File, Expected, Got string
			OK                  bool
		}
	}
	checktest.OK(t, json.Unmarshal(text, &report))
	all := map[string]string{}
	for _, c := range report.Cases {
		if c.Got == "" {
			t.Fatalf("the report does not say how %s ended", c.File)
		}
		got := c.Got
		if c.OK && (got == "memory" || got == "timeout") { // which limit a bomb reaches first depends on the machine
			got = stopped
		}
		all[c.File] = fmt.Sprintf("%s, want %s: %t", got, c.Expected, c.OK)
	}
	if len(all) == 0 {
		t.Fatalf("no cases in %s", text)
	}
	return all
}

// TestConfinedExam: the attacks end inside as they do outside. With CODEMODE_LONG=1 all of them (make confined).
func TestConfinedExam(t *testing.T) {
	needConfinement(t)
	part := []string{"--filter", "b0[1-5]*"}
	if os.Getenv("CODEMODE_LONG") != "" {
		part = nil
	}
	outside, inside := outsideExam(t, part...), exam(t, append(part, "--confine")...)
	endAlike(t, outside, inside)
}

// Real servers work with what their entries name.
func TestConfinedNPMServers(t *testing.T) {
	t.Parallel()
	h := newConfinedHouse(t)
	bin := filepath.Join(npmDir(t), "node_modules", ".bin")
	command := func(name string) string { return filepath.Join(bin, name) }
	text, err := json.Marshal(map[string]any{"confine": true, "mcpServers": map[string]any{
		"everything": map[string]any{"command": command("mcp-server-everything"), "args": []string{"stdio"}},
		"filesystem": map[string]any{"command": command("mcp-server-filesystem"), "args": []string{h.files}},
		"npx": map[string]any{"command": "npx",
			"args": []string{"--offline", command("mcp-server-filesystem"), h.files}},
		"memory": map[string]any{"command": command("mcp-server-memory"),
			"env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(h.files, "memory.json")}},
		"git": map[string]any{"command": command("git-mcp-server"),
			"env": map[string]string{"GIT_BASE_DIR": h.files, "LOGS_DIR": filepath.Join(h.files, "logs")}},
	}})
	checktest.OK(t, err)
	write(t, h.config, string(text))
	h.serve()
	got := callText(t, h.client, fmt.Sprintf(`
		const dir = %q;
		await codemode.filesystem__write_file({path: dir + "/a.md", content: "ship it"});
		const echo = await codemode.everything__echo({message: "hello"});
		await codemode.memory__create_entities({entities: [{name: "n", entityType: "t", observations: ["o"]}]});
		const graph = await codemode.memory__read_graph({});
		await codemode.git__git_init({path: dir});
		const status = JSON.stringify(await codemode.git__git_status({path: dir}));
		const npx = await codemode.npx__read_text_file({path: dir + "/a.md"});
		let outside = "";
		try { await codemode.filesystem__read_text_file({path: %q}) } catch (e) { outside = e.message }
		return [echo, graph.entities[0].name, status.includes("a.md"), npx.content, outside !== ""].join()`,
		h.files, h.config))
	if want := "\"Echo: hello,n,true,ship it,true\""; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s\n%s", got, want, h.served.log)
	}
	h.served.end()
}

// doctor checks that a server whose entry names a folder with power over codemode does not get it, and that the doctor
// says so.
func (h *confinedHouse) doctor(more map[string]any, folder string) {
	h.t.Helper()
	h.configure(more, map[string]map[string]any{"a": {"args": []string{folder}}})
	cmd := command(h.t, "doctor", "--config", h.config, "--state", h.state, "--project", "none")
	cmd.Env = append(cmd.Env, "HOME="+h.home)
	out, err := cmd.CombinedOutput()
	if want := "it does not get " + folder + " of its args: "; !strings.Contains(string(out), want) ||
		strings.Contains(string(out), "writes "+folder) {
		h.t.Errorf("%v: it does not say %q:\n%s", err, want, out)
	}
}

// The doctor tries what holds, and says what each server would reach.
func TestTheDoctorOfConfinement(t *testing.T) {
	h := newConfinedHouse(t)
	h.configure(map[string]any{"confine": true}, map[string]map[string]any{"a": {"args": []string{h.files}}})
	cmd := command(t, "doctor", "--config", h.config, "--state", h.state, "--project", "none")
	cmd.Env = append(cmd.Env, "HOME="+h.home)
	out, err := cmd.CombinedOutput()
	for _, want := range []string{
		"ok       confine this system: a confined process was stopped at changes, files, ports, privileges, signals, " +
			"sockets\n",
		"ok       confine a: it reads and executes the system's programs and ", "; writes " + h.files,
	} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: it does not say %q:\n%s", err, want, out)
		}
	}
	h.doctor(map[string]any{"confine": true}, filepath.Dir(h.config))
	h.doctor(map[string]any{"confine": true}, h.state)
}

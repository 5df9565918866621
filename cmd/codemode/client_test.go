package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// These tests drive `codemode serve` with the TypeScript SDK's client over
// stdio, in front of real servers from npm: what users have. `make test-npm`
// installs them; see testdata/npm.

// npmDir is where the servers and the client are.
func npmDir(t *testing.T) string {
	t.Helper()
	endToEnd(t)
	dir := os.Getenv("CODEMODE_NPM_SERVERS")
	if dir == "" {
		t.Skip("CODEMODE_NPM_SERVERS does not say where the npm servers are installed: see testdata/npm/README.md")
	}
	return dir
}

// A client is the node process that holds one session.
type client struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	log *screen
}

type reply struct {
	Text         string
	IsError      bool
	Error        string
	Instructions string
	Changed      bool
	Asked        []struct {
		Message         string
		RequestedSchema json.RawMessage
	}
	Blocks   []struct{ Type, MIMEType, Data string } // what is no text
	Heard    []string                                // progress
	Mistakes []string                                // what the client took for one
	Tools    []struct{ Name, Description string }
}

// codemodeBinary is the command, built as users have it.
func codemodeBinary(t *testing.T) string {
	t.Helper()
	binary, err := buildCodemode()
	checktest.OK(t, err)
	return binary
}

var built string // its folder

var buildCodemode = sync.OnceValues(func() (string, error) {
	var err error
	if built, err = os.MkdirTemp("", "codemode-test"); err != nil {
		return "", err
	}
	binary := filepath.Join(built, "codemode")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building codemode: %v\n%s", err, out)
	}
	return binary, nil
})

// connect starts codemode serve with this configuration under a client. Its state is beside the configuration: people
// who answer in another test do not see its questions.
func connect(t *testing.T, config string, environment ...string) *client {
	t.Helper()
	state := "XDG_STATE_HOME=" + filepath.Join(filepath.Dir(config), "state")
	return connectWith(t, []string{"--config", config}, append([]string{state}, environment...)...)
}

// connectWith starts it with these flags.
func connectWith(t *testing.T, flags []string, environment ...string) *client {
	t.Helper()
	npm := npmDir(t)
	cmd := exec.Command("node", append([]string{filepath.Join(npm, "client.mjs"), codemodeBinary(t), "serve"},
		flags...)...)
	cmd.Env = append(os.Environ(), environment...)
	c := &client{t: t}
	c.in, c.out, c.log = startClient(t, cmd)
	if hello := c.read(); !strings.Contains(hello.Instructions, "codemode_eval") {
		t.Errorf("the instructions do not name the tool: %q", hello.Instructions)
	}
	return c
}

// startClient starts a client that reads lines and answers each with a line. It ends with the test, without an error.
func startClient(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out *bufio.Scanner, log *screen) {
	t.Helper()
	log = &screen{}
	cmd.Stderr = log
	in, written := startPiped(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client ended with %v\n%s", err, log)
		}
	})
	out = bufio.NewScanner(written)
	out.Buffer(nil, 16<<20)
	return in, out, log
}

func (c *client) read() reply {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the client is gone: %v\n%s", c.out.Err(), c.log)
	}
	var r reply
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		c.t.Fatalf("the client said %q: %v", c.out.Text(), err)
	}
	return r
}

func (c *client) send(command map[string]any) {
	c.t.Helper()
	line, err := json.Marshal(command)
	checktest.OK(c.t, err)
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

// run runs a program with a tool; answer is how questions are answered.
func (c *client) run(tool, code, answer string) reply {
	c.t.Helper()
	c.send(map[string]any{"call": tool, "arguments": map[string]any{"code": code}, "answer": answer})
	r := c.read()
	if r.Error != "" {
		c.t.Fatalf("%s: %s", tool, r.Error)
	}
	return r
}

var belowSummary = mcptest.BelowSummary

// toolNames lists what is offered.
func (c *client) toolNames() []string {
	c.t.Helper()
	c.send(map[string]any{"list": true})
	var names []string
	for _, tool := range c.read().Tools {
		if len(tool.Description) > 2048 {
			c.t.Errorf("the description of %s has %d bytes; clients cut it at 2 KiB", tool.Name, len(tool.Description))
		}
		names = append(names, tool.Name)
	}
	return names
}

// realServers writes a configuration with the three servers and returns its
// path and the folder that the filesystem server may use.
func realServers(t *testing.T, evaluation string) (config, files string) {
	t.Helper()
	dir, bin := t.TempDir(), filepath.Join(npmDir(t), "node_modules", ".bin")
	files = filepath.Join(dir, "files")
	checktest.OK(t, os.Mkdir(files, 0o700))
	config = filepath.Join(dir, "codemode.json")
	write(t, config, fmt.Sprintf(`{
		// as people have it
		"mcpServers": {
			"everything": {"command": %q, "args": ["stdio"]},
			"filesystem": {"type": "stdio", "command": %q, "args": [%q]},
			"memory": {"command": %q, "env": {"MEMORY_FILE_PATH": %q}},
		},
		"evaluation": %s
	}`, filepath.Join(bin, "mcp-server-everything"), filepath.Join(bin, "mcp-server-filesystem"), files,
		filepath.Join(bin, "mcp-server-memory"), filepath.Join(dir, "memory.json"), evaluation))
	return config, files
}

func TestRealServersAndARealClient(t *testing.T) {
	t.Parallel()
	config, files := realServers(t, `{"profiles": {
		"careful": {"allowlist": ["filesystem__read_*", "everything__*"], "asklist": ["filesystem__write_file"], "denylist": ["everything__get_env"]},
		"trusting": {"asklist": ["filesystem__write_file"], "elicitationFallback": "allow"}
	}}`)
	for i := range 10 {
		write(t, filepath.Join(files, fmt.Sprintf("%d.txt", i)), fmt.Sprintf("file %d has words", i))
	}
	c := connect(t, config)
	if names := c.toolNames(); !slices.Contains(names, "codemode_eval_careful") ||
		!slices.Contains(names, "codemode_eval") {
		t.Errorf("the tools are %q", names)
	}

	t.Run("ten files in parallel become entities", func(t *testing.T) {
		r := c.run("codemode_eval", fmt.Sprintf(`
			const dir: string = %q;
			const files = await Promise.all(Array.from({ length: 10 }, (_, i) => codemode.filesystem__read_text_file({ path: dir + "/" + i + ".txt" })));
			const texts: string[] = files.map((f: { content: string }) => f.content);
			await codemode.memory.create_entities({ entities: texts.map((text, i) => ({ name: "f" + i, entityType: "file", observations: [text] })) });
			const graph = await codemode.memory.read_graph({});
			return { entities: graph.entities.length, words: texts.join(" ").split(" ").length, last: graph.entities[9].observations[0] };`, files), "none")
		var got struct {
			Entities, Words int
			Last            string
		}
		if err := json.NewDecoder(strings.NewReader(r.Text)).Decode(&got); err != nil || r.IsError || got.Entities != 10 ||
			got.Words != 40 || got.Last != "file 9 has words" {
			t.Errorf("got %s", r.Text)
		}
	})
	t.Run("twenty calls of 100 ms take about one call's time", func(t *testing.T) {
		r := c.run("codemode_eval", `
			const start = Date.now();
			await Promise.all(Array.from({ length: 20 }, () => codemode.everything["trigger-long-running-operation"]({ duration: 0.1, steps: 1 })));
			return Date.now() - start;`, "none")
		var ms int
		if _, err := fmt.Sscan(r.Text, &ms); err != nil || r.IsError {
			t.Fatalf("got %s", r.Text)
		}
		// After each other they would take 2,000 ms.
		if t.Logf("it took %d ms", ms); ms > 1000 {
			t.Errorf("it took %d ms", ms)
		}
	})

	target := filepath.Join(files, "new.txt")
	program := fmt.Sprintf(`try { await codemode.filesystem__write_file({ path: %q, content: "x" }) } catch (e) { return [e.name, e.reason, e.toolName] } return "written"`, target)
	written := func() bool {
		_, err := os.Stat(target)
		os.Remove(target)
		return err == nil
	}
	for _, test := range []struct {
		answer, want string
		asked        int
	}{
		{"yes", `"written"`, 1},
		{"no", `elicitation_declined`, 1},
		{"refuse", `elicitation_declined`, 1},
		{"cancel", `canceled`, 1},
		{"empty", `no_approver`, 2}, // what is not clear is asked once more
		{"none", `no_approver`, 1},
	} {
		t.Run("answer "+test.answer, func(t *testing.T) {
			r := c.run("codemode_eval_careful", program, test.answer)
			if !strings.Contains(r.Text, test.want) || written() != (test.answer == "yes") {
				t.Errorf("got %s, want %s", r.Text, test.want)
			}
			if len(r.Asked) != test.asked || !strings.Contains(r.Asked[0].Message, "filesystem.write_file") ||
				!strings.Contains(r.Asked[0].Message, "new.txt") {
				t.Errorf("the question was %+v", r.Asked)
			}
		})
	}
	t.Run("a client that cannot ask", func(t *testing.T) {
		c := connect(t, config, "CLIENT_WITHOUT_ELICITATION=1")
		if r := c.run("codemode_eval_careful", program, ""); !strings.Contains(r.Text, "elicitation_unsupported") ||
			written() {
			t.Errorf("fallback deny: got %s", r.Text)
		}
		if r := c.run("codemode_eval_trusting", program, ""); !strings.Contains(r.Text, `"written"`) || !written() {
			t.Errorf("fallback allow: got %s", r.Text)
		}
	})
	t.Run("a denied call, by name, alias and computed name", func(t *testing.T) {
		r := c.run("codemode_eval_careful", `
			const c = codemode, f = codemode.everything__get_env, name = ["everything", "get_env"].join("__");
			const calls = [() => codemode.everything__get_env({}), () => f({}), () => c[name]({}), () => codemode.everything["get-env"]({}), () => Reflect.get(c, name)({})];
			return Promise.all(calls.map(async call => { try { return await call() } catch (e) { return e.reason } }));`, "none")
		if got := strings.Join(strings.Fields(strings.SplitN(belowSummary(r.Text), "calls:", 2)[0]),
			""); got != `["denied","denied","denied","denied","denied"]` {
			t.Errorf("got %s", r.Text)
		}
	})
	t.Run("mistakes are told", func(t *testing.T) {
		for _, test := range []struct {
			code string
			want []string
		}{
			{"const x = ;\nreturn 1", []string{"1:11", "const x = ;", "^"}},
			{"type T = { a: number }", []string{"there are only types"}},
			{"await codemode.everything__get_summ({})", []string{"ToolNotFoundError", "everything__get_sum", "1:"}},
			{"await codemode.everything__get_sum({ a: 'x', b: 2 })", []string{"InvalidArgumentsError", "/a", "number"}},
			{"await codemode.nothere__x({})", []string{"ToolNotFoundError", "nothere__x"}},
		} {
			r := c.run("codemode_eval", test.code, "none")
			for _, want := range test.want {
				if !strings.Contains(r.Text, want) {
					t.Errorf("%s: got\n%s\nwant it to say %q", test.code, r.Text, want)
				}
			}
		}
	})
}

func TestProfilesChangeWhileASessionLives(t *testing.T) {
	t.Parallel()
	const profile = `{"profiles": {"p": {"allowlist": ["everything__*"]%s}}}`
	config, _ := realServers(t, fmt.Sprintf(profile, ""))
	evaluation := func(text string) {
		t.Helper()
		data, err := os.ReadFile(config)
		checktest.OK(t, err)
		i := strings.Index(string(data), `"evaluation":`)
		write(t, config, string(data)[:i]+`"evaluation": `+text+"}")
	}
	c := connect(t, config)
	if names := c.toolNames(); slices.Contains(names, "codemode_eval_q") {
		t.Fatalf("the tools are %q", names)
	}
	evaluation(`{"profiles": {"p": {"allowlist": ["everything__*"]}, "q": {}}}`)
	c.send(map[string]any{"changed": true})
	if r := c.read(); !r.Changed {
		t.Fatalf("got %+v", r)
	}
	if names := c.toolNames(); !slices.Contains(names, "codemode_eval_q") {
		t.Fatalf("the tools are %q, without the new profile's", names)
	}

	// Tightened while a program runs: its next calls meet the new rules. On a busy machine a program may begin late.
	var got string
	for _, pause := range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second} {
		evaluation(`{"profiles": {"p": {"allowlist": ["everything__*"]}, "q": {}}}`)
		c.send(map[string]any{"changed": true})
		c.read()
		var tightened sync.WaitGroup
		tightened.Go(func() {
			time.Sleep(pause) // the process has begun the program by then
			evaluation(`{"profiles": {"p": {"allowlist": ["everything__*"], "denylist": ["everything__echo"]}, "q": {}}}`)
		})
		r := c.run("codemode_eval_p", fmt.Sprintf(`
			const seen = [];
			for (let i = 0; i < %d; i++) {
				try { await codemode.everything__echo({ message: "x" }); seen.push("ok") } catch (e) { seen.push(e.reason); break }
				await new Promise(r => setTimeout(r, 50));
			}
			return [seen[0], seen.at(-1)]`, 100+2*int(pause/(50*time.Millisecond))), "none")
		tightened.Wait()
		if got = strings.Join(strings.Fields(strings.SplitN(belowSummary(r.Text), "calls:", 2)[0]), ""); got == `["ok","denied"]` {
			break
		}
		t.Logf("after %v: %s", pause, r.Text)
	}
	if got != `["ok","denied"]` {
		t.Errorf("got %s", got)
	}

	// A broken file: the old rules hold, and the log says where.
	evaluation("{\n\"profiles\": {\"p\": {\"allowlst\": []}}}")
	where := regexp.MustCompile(`codemode\.json:\d+:\d+`)
	testwait.Holds(func() bool { return where.MatchString(c.log.String()) })
	if log := c.log.String(); !where.MatchString(log) || !strings.Contains(log, "allowlist") {
		t.Errorf("the log does not name line, column and the right word:\n%s", log)
	}
	if r := c.run("codemode_eval_p",
		`try { await codemode.everything__echo({ message: "x" }) } catch (e) { return e.reason }`,
		"none"); !strings.Contains(r.Text, "denied") {
		t.Errorf("with a broken file the old rules do not hold: %s", r.Text)
	}
}

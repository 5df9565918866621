package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// eightServers are those of testdata/npm, with how many tools each has. What
// server-everything lists depends on what its client can do, and it lists some
// of it only after the first list was read.
var eightServers = map[string]int{
	"everything": 0, "filesystem": 14, "memory": 9, "sequential-thinking": 1,
	"git": 28, "playwright": 25, "sqlite": 5, "github": 26,
}

// sqliteInstalled reports whether the one server is there that is optional,
// because npm has to compile a part of it.
func sqliteInstalled() bool {
	_, err := os.Stat(sqliteServer())
	return err == nil
}

func sqliteServer() string {
	return filepath.Join(os.Getenv("CODEMODE_NPM_SERVERS"), "sqlite", "node_modules", ".bin", "mcp-server-sqlite-npx")
}

// connectEight writes one file that connects all of them; files is the folder
// that filesystem, git and sqlite work in.
func connectEight(t *testing.T) (config, files string) {
	t.Helper()
	bin := filepath.Join(npmDir(t), "node_modules", ".bin")
	if _, err := os.Stat(filepath.Join(bin, "git-mcp-server")); err != nil {
		t.Skip("not all servers of testdata/npm are installed: run npm install there")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	files = filepath.Join(dir, "files")
	checktest.OK(t, os.Mkdir(files, 0o700))
	command := func(name string) string { return filepath.Join(bin, name) }
	servers := map[string]any{
		"everything": map[string]any{"command": command("mcp-server-everything"), "args": []string{"stdio"}},
		"filesystem": map[string]any{"command": command("mcp-server-filesystem"), "args": []string{files}},
		"memory": map[string]any{"command": command("mcp-server-memory"),
			"env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.json")}},
		"sequential-thinking": map[string]any{"command": command("mcp-server-sequential-thinking")},
		"git": map[string]any{"command": command("git-mcp-server"),
			"env": map[string]string{"GIT_BASE_DIR": files, "LOGS_DIR": filepath.Join(dir, "logs")}},
		"playwright": map[string]any{"command": command("playwright-mcp"), "args": []string{"--headless"}},
		"sqlite":     map[string]any{"command": sqliteServer(), "args": []string{filepath.Join(files, "notes.db")}},
		"github":     map[string]any{"command": command("mcp-server-github")},
	}
	if !sqliteInstalled() {
		delete(servers, "sqlite")
	}
	for _, s := range servers {
		s.(map[string]any)["timeout"] = map[string]any{"startup": (5 * time.Minute).Milliseconds()}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	checktest.OK(t, err)
	config = filepath.Join(dir, "codemode.json")
	write(t, config, string(text))
	return config, files
}

func TestEightServersAreListedWithTheirHealth(t *testing.T) {
	t.Parallel()
	config, _ := connectEight(t)
	var out, problems bytes.Buffer
	// Eight processes of node take minutes to start on a machine that is busy.
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, "tools", "--config", config,
		"--project", "none", "--wait", "5m"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, &problems)
	}
	if wrong := unlisted(out.String()); len(wrong) > 0 {
		t.Fatalf("%s\n%s\n%s", strings.Join(wrong, "\n"), &out, &problems)
	}
}

// unlisted says what is missing from the table of the servers.
func unlisted(table string) (wrong []string) {
	for name, tools := range eightServers {
		if name == "sqlite" && !sqliteInstalled() {
			continue
		}
		i := slices.IndexFunc(strings.Split(table, "\n"), func(line string) bool {
			fields := strings.Fields(line)
			if len(fields) < 4 || fields[0] != name || fields[1] != "ready" {
				return false
			}
			n, err := strconv.Atoi(fields[2])
			return err == nil && (n == tools || tools == 0 && n >= 13)
		})
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("%s is not ready with %d tools", name, tools))
		}
	}
	return wrong
}

func TestOneProgramUsesFiveRealServers(t *testing.T) {
	t.Parallel()
	config, files := connectEight(t)
	c := connect(t, config)
	c.toolNames()

	t.Run("five servers in one program", func(t *testing.T) {
		r := c.run("codemode_eval", fmt.Sprintf(`
			const dir: string = %q;
			await codemode.filesystem__write_file({ path: dir + "/a.md", content: "# Notes\nship it" });
			await codemode.git__git_init({ path: dir });
			const [file, echo, thought] = await Promise.all([
				codemode.filesystem__read_text_file({ path: dir + "/a.md" }),
				codemode.everything__echo({ message: "hello" }),
				codemode.sequential_thinking__sequentialthinking({ thought: "done", thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false }),
			]);
			await codemode.memory__create_entities({ entities: [{ name: "note", entityType: "file", observations: [file.content] }] });
			const sqlite: boolean = %t;
			if (sqlite) {
				await codemode.sqlite__create_table({ query: "create table notes (name text, words int)" });
				await codemode.sqlite__write_query({ query: "insert into notes values ('a.md', 4)" });
			}
			const [rows, graph, status] = await Promise.all([
				sqlite ? codemode.sqlite__read_query({ query: "select * from notes" }) : [{ name: "a.md", words: 4 }],
				codemode.memory__read_graph({}),
				codemode.git__git_status({ path: dir }),
			]);
			return { rows, known: graph.entities[0].observations[0], echo, thoughts: thought.totalThoughts, untracked: JSON.stringify(status).includes("a.md") };`, files, sqliteInstalled()), "none")
		var got struct {
			Rows []struct {
				Name  string
				Words int
			}
			Known, Echo string
			Thoughts    int
			Untracked   bool
		}
		if err := json.NewDecoder(strings.NewReader(r.Text)).Decode(&got); err != nil || r.IsError || len(got.Rows) != 1 ||
			got.Rows[0].Words != 4 ||
			got.Known != "# Notes\nship it" || got.Echo != "Echo: hello" || got.Thoughts != 1 || !got.Untracked {
			t.Errorf("got %s", r.Text)
		}
		for _, server := range []string{"filesystem__", "git__", "everything__", "sequential_thinking__", "memory__",
			"sqlite__"} {
			if !strings.Contains(r.Text, "\n  "+server) && (server != "sqlite__" || sqliteInstalled()) {
				t.Errorf("no call of %s in\n%s", server, r.Text)
			}
		}
	})

	t.Run("an image reaches the client and never the program", func(t *testing.T) {
		r := c.run("codemode_eval", `
			const result = await codemode.everything__get_tiny_image({});
			const text = JSON.stringify(result);
			console.log(text.length, /[A-Za-z0-9+\/]{100}/.test(text));
			return result;`, "none")
		if len(r.Blocks) != 1 || r.Blocks[0].Type != "image" || r.Blocks[0].MIMEType != "image/png" {
			t.Fatalf("the blocks are %+v\n%s", r.Blocks, r.Text)
		}
		data, err := base64.StdEncoding.DecodeString(r.Blocks[0].Data)
		if err != nil || !bytes.HasPrefix(data, []byte("\x89PNG")) {
			t.Errorf("the image is none: %v", err)
		}
		if strings.Contains(r.Text, r.Blocks[0].Data[:40]) || !strings.Contains(r.Text, " false\n") {
			t.Errorf("the program had the image as text:\n%s", r.Text)
		}
		var length int
		if _, after, ok := strings.Cut(r.Text, "  log: "); !ok {
			t.Errorf("no console in\n%s", r.Text)
		} else if _, err := fmt.Sscan(after, &length); err != nil || length > 500 {
			t.Errorf("what the program saw has %d characters", length)
		}
	})

	t.Run("what a link points to can be read", func(t *testing.T) {
		r := c.run("codemode_eval", `
			const links = (await codemode.everything__get_resource_links({ count: 2 })).filter(b => b.type === "resource_link");
			const read = await Promise.all(links.map(l => codemode.read_resource("everything", l.uri)));
			return read.map((r, i) => [r.uri === links[i].uri, r.type, typeof r.text]);`, "none")
		if r.IsError || !strings.Contains(r.Text, "everything__read_resource x2 done") || len(r.Blocks) != 0 {
			t.Errorf("got %s", r.Text)
		}
	})

	// It lists more tools once it knows that its client can be asked: after the
	// session has begun, with tools/list_changed.
	t.Run("a list of tools that changes is followed", func(t *testing.T) {
		var r reply
		for range testwait.Polls(testwait.Bound) {
			r = c.run("codemode_eval",
				`return (await codemode.search_tools({ query: "everything", limit: 200 })).some(t => t.name === "everything__trigger_elicitation_request")`, "none")
			if strings.HasPrefix(r.Text, "true") {
				return
			}
		}
		t.Fatalf("the tool that was added later is not found: %s", r.Text)
	})
}

// The client hears how a call goes, and nothing of a call whose result it has.
func TestNoProgressAfterTheResult(t *testing.T) {
	bin := filepath.Join(npmDir(t), "node_modules", ".bin")
	config := filepath.Join(writeFiles(t, map[string]string{"codemode.json": fmt.Sprintf(`{
		"mcpServers": {"everything": {"command": %q, "args": ["stdio"]}},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`, filepath.Join(bin, "mcp-server-everything"))}), "codemode.json")
	c := connect(t, config)
	heard := 0
	run := func(code string) {
		t.Helper()
		c.send(map[string]any{"call": "codemode_eval", "arguments": map[string]any{"code": code}, "progress": true})
		r := c.read()
		if r.Error != "" || r.IsError || len(r.Mistakes) > 0 {
			t.Errorf("%s: %s%s, and the client complains: %q", code, r.Error, r.Text, r.Mistakes)
		}
		heard += len(r.Heard)
	}
	for range 10 {
		run("return 1")
	}
	for range 3 {
		run(`return codemode.everything["trigger-long-running-operation"]({duration: 0.3, steps: 3})`)
	}
	if heard == 0 {
		t.Error("the client heard nothing of the calls that report")
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// serveListed is an MCP server over stdio with the tool definitions of a real one. It answers the few tools that the
// tasks below need.
func serveListed(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	var list []struct {
		Name, Title, Description   string
		Input, Output, Annotations json.RawMessage
	}
	if err := json.Unmarshal(data, &list); err != nil {
		panic(err)
	}
	var entities []json.RawMessage
	s := mcp.NewServer(&mcp.Implementation{Name: "listed", Version: "1"}, nil)
	for _, def := range list {
		tool := &mcp.Tool{Name: def.Name, Title: def.Title, Description: def.Description, InputSchema: def.Input}
		if len(def.Output) > 0 {
			tool.OutputSchema = def.Output
		}
		if len(def.Annotations) > 0 {
			tool.Annotations = new(mcp.ToolAnnotations)
			if err := json.Unmarshal(def.Annotations, tool.Annotations); err != nil {
				panic(err)
			}
		}
		s.AddTool(tool, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct {
				A, B     float64
				Entities []json.RawMessage
			}
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			switch def.Name {
			case "get-sum":
				text := fmt.Sprintf("The sum of %v and %v is %v.", args.A, args.B, args.A+args.B)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			case "create_entities":
				entities = append(entities, args.Entities...)
				return &mcp.CallToolResult{StructuredContent: map[string]any{"entities": args.Entities}}, nil
			case "read_graph":
				return &mcp.CallToolResult{StructuredContent: map[string]any{"entities": entities, "relations": []any{}}}, nil
			}
			return nil, fmt.Errorf("%s is not needed", def.Name)
		})
	}
	_ = s.Run(context.Background(), &mcp.StdioTransport{}) // the end of its input ends it
}

// The data of the tasks: files, and what is true of them.
type shop struct {
	paid  map[string]int // by country, the sum of the paid orders in cents
	wrong []string       // orders whose total is not the sum of their lines
	tags  map[string][]string
	todo  int      // notes with an open task
	ports []string // ports that two configuration files use
	debug []string // configuration files with debug on
}

func newShop(t *testing.T, root string) *shop {
	t.Helper()
	s := &shop{paid: map[string]int{}, tags: map[string][]string{}}
	put := func(name, text string) {
		path := filepath.Join(root, name)
		checktest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		write(t, path, text)
	}
	countries, states := []string{"AT", "DE", "FR", "NL", "PL"}, []string{"paid", "open", "paid", "canceled"}
	for i := range 140 {
		id, total := fmt.Sprintf("order-%03d", i), 0
		var lines []string
		for n := range 1 + i%4 {
			cents := 100 + (i*37+n*211)%9000
			total += cents
			lines = append(lines, fmt.Sprintf(`{"article": "a%d", "cents": %d}`, (i+n)%23, cents))
		}
		said := total
		if i%29 == 5 {
			said += 10
			s.wrong = append(s.wrong, id)
		}
		country, state := countries[i%len(countries)], states[i%len(states)]
		if state == "paid" {
			s.paid[country] += said
		}
		put("orders/"+id+".json", fmt.Sprintf(`{"id": %q, "customer": "customer-%d", "country": %q, "state": %q, "total": %d, "lines": [%s]}`,
			id, i%17, country, state, said, strings.Join(lines, ", ")))
	}
	tags := []string{"billing", "bugs", "design", "hiring", "ideas", "meeting", "plans", "support", "travel"}
	for i := range 42 {
		name, tag, task := fmt.Sprintf("note-%02d.md", i), tags[i*5%len(tags)], "- [x] sent"
		if i%3 == 0 {
			task, s.todo = "- [ ] send it", s.todo+1
		}
		s.tags[tag] = append(s.tags[tag], name)
		put("notes/"+name, fmt.Sprintf("# Note %d\ntag: %s\n\n%s\n%s\n", i, tag, strings.Repeat("words about it ", 20), task))
	}
	for i := range 12 {
		name, port := fmt.Sprintf("service-%02d.json", i), 8000+i
		if i == 9 {
			port = 8004
			s.ports = append(s.ports, "8004")
		}
		if i%5 == 2 {
			s.debug = append(s.debug, name)
		}
		put("config/"+name, fmt.Sprintf(`{"name": "service-%d", "port": %d, "debug": %t}`, i, port, i%5 == 2))
	}
	return s
}

// sevenTasks is a program that does all of them: it reads 194 files, writes nine, and uses three servers.
const sevenTasks = `
const names = async dir => {
	const { %[1]s: list } = await codemode.filesystem__list_directory({ path: base + dir });
	return typeof list === "string" ? list.split("\n").map(l => l.replace("[FILE] ", "").trim()).filter(Boolean) : list.map(e => e.name);
};
const read = async dir => Promise.all((await names(dir)).map(async name =>
	({ name, text: (await codemode.filesystem__read_text_file({ path: base + dir + "/" + name })).content })));
const [orders, notes, config] = await Promise.all([read("orders"), read("notes"), read("config")]);

const paid = {}, wrong = [];
for (const { text } of orders) {
	const o = JSON.parse(text);
	if (o.state === "paid") paid[o.country] = (paid[o.country] ?? 0) + o.total;
	if (o.lines.reduce((n, l) => n + l.cents, 0) !== o.total) wrong.push(o.id);
}
const tags = {};
for (const n of notes) (tags[n.text.match(/^tag: (.*)$/m)[1]] ??= []).push(n.name);
await Promise.all(Object.entries(tags).map(([tag, list]) => codemode.filesystem__write_file({ path: base + "index-" + tag + ".md", content: list.join("\n") })));
const todo = notes.filter(n => n.text.includes("- [ ]")).length;
const services = config.map(c => ({ file: c.name, ...JSON.parse(c.text) }));
const ports = services.map(s => s.port).filter((p, i, all) => all.indexOf(p) !== i).map(String);
const debug = services.filter(s => s.debug).map(s => s.file);
await codemode.memory__create_entities({ entities: Object.keys(paid).map(c => ({ name: c, entityType: "country", observations: ["paid " + paid[c]] })) });
const known = (await codemode.memory__read_graph({})).entities.length;
let sum = 0;
for (const c of Object.keys(paid).sort()) sum = Number((await codemode.everything__get_sum({ a: sum, b: paid[c] })).match(/is (\d+)/)[1]);
return { paid, wrong, tags: Object.keys(tags).length, todo, ports, debug, known, sum };`

// usesEach calls each of the three servers.
const usesEach = `
await codemode.filesystem__list_directory({ path: %q + "orders" });
await codemode.memory__read_graph({});
return codemode.everything__get_sum({ a: 1, b: 2 })`

// A reader counts what a model reads: instructions, the list of tools as it is sent, and answers.
type reader struct {
	t *testing.T
	*mcp.ClientSession
	listed, read int
}

func (r *reader) begin() {
	r.t.Helper()
	tools, err := r.ListTools(r.t.Context(), nil)
	checktest.OK(r.t, err)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	checktest.OK(r.t, e.Encode(tools.Tools))
	r.listed = utf8.RuneCount(b.Bytes()) + utf8.RuneCountInString(r.InitializeResult().Instructions)
	r.read = r.listed
}

func (r *reader) call(tool string, args map[string]any) string {
	r.t.Helper()
	res, err := r.CallTool(r.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	checktest.OK(r.t, err)
	var text strings.Builder
	for _, c := range res.Content {
		text.WriteString(c.(*mcp.TextContent).Text)
	}
	r.t.Logf("%s: %d characters", tool, utf8.RuneCountInString(text.String()))
	r.read += utf8.RuneCountInString(text.String())
	if res.IsError {
		r.t.Fatalf("%s: %s", tool, text.String())
	}
	return text.String()
}

// serve starts the command with a configuration and connects to it.
func startServe(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	cmd := command(t, append([]string{"serve"}, args...)...)
	var logged screen
	cmd.Stderr = &logged
	stdin, stdout := startPiped(t, cmd)
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve ended with %v\n%s", err, &logged)
		}
	})
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: io.NopCloser(stdout), Writer: keepOpen{stdin}}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, &logged)
	}
	return session
}

// What a model may have to read: for seven tasks from nothing, and of that for the list of tools with the instructions.
const (
	tasksBudget = 12_000
	listBudget  = 5_000
)

// A model that searches once and runs one program does seven tasks, with real declarations, within the budget.
func TestSevenTasksAreDoneWithOneSearchAndOneProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	checktest.OK(t, err)
	lists, err := filepath.Abs("../../internal/tools/catalog/testdata/tools")
	checktest.OK(t, err)
	listed := func(name string) map[string]any {
		return map[string]any{"command": self, "env": map[string]string{asCommand: "listed",
			"CODEMODE_TEST_LIST": filepath.Join(lists, name+".json")}}
	}
	for _, variant := range []string{"own servers", "npm servers"} {
		t.Run(variant, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			checktest.OK(t, err)
			truth := newShop(t, root)
			servers, base, entries := map[string]any{}, "", "entries"
			args := []string{"--root", root}
			switch variant {
			case "own servers":
				servers["memory"], servers["everything"] = listed("memory"), listed("everything")
			case "npm servers":
				bin := filepath.Join(npmDir(t), "node_modules", ".bin")
				servers["memory"] = map[string]any{"command": filepath.Join(bin, "mcp-server-memory"),
					"env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}}
				servers["everything"] = map[string]any{"command": filepath.Join(bin, "mcp-server-everything"),
					"args": []string{"stdio"}}
				servers["filesystem"] = map[string]any{"command": filepath.Join(bin, "mcp-server-filesystem"),
					"args": []string{root}}
				base, entries, args = root+"/", "content", nil
			}
			text, err := json.Marshal(map[string]any{"mcpServers": servers,
				"evaluation": map[string]any{"defaultProfile": "work", "profiles": map[string]any{
					"work": map[string]any{"allowlist": []string{"filesystem__*", "memory__*", "everything__*"},
						"asklist": []string{"filesystem__move_file"}, "denylist": []string{"everything__get_env"}},
				}}})
			checktest.OK(t, err)
			config := write(t, filepath.Join(t.TempDir(), "codemode.json"), string(text))
			r := &reader{t: t, ClientSession: startServe(t, append(args, "--config", config)...)}
			testwait.Until(t, "each server is ready", func() bool {
				res, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval", Arguments: map[string]any{
					"code": fmt.Sprintf(usesEach, base)}})
				return err == nil && !res.IsError
			})
			r.begin()
			found := r.call("search_tools",
				map[string]any{"query": "list a directory, read a text file, write a file, create entities, read the graph, sum of two numbers"})
			for _, tool := range []string{"filesystem__list_directory", "filesystem__read_text_file", "filesystem__write_file",
				"memory__create_entities", "memory__read_graph", "everything__get_sum"} {
				if !strings.Contains(found, "  "+tool+"(") {
					t.Errorf("one search does not declare %s:\n%s", tool, found)
				}
			}
			answer := r.call("codemode_eval", map[string]any{"code": "const base = " + strconv.Quote(base) + ";" +
				fmt.Sprintf(sevenTasks, entries)})
			t.Logf("list and instructions %d characters, in all %d", r.listed, r.read)
			if r.listed > listBudget {
				t.Errorf("the list of tools and the instructions have %d characters, want at most %d", r.listed, listBudget)
			}
			if r.read > tasksBudget {
				t.Errorf("a model reads %d characters, want at most %d\n%s\n%s", r.read, tasksBudget, found, answer)
			}
			truth.check(t, root, answer)
		})
	}
}

// check compares what the program found with what is so.
func (s *shop) check(t *testing.T, root, answer string) {
	t.Helper()
	var got struct {
		Paid                map[string]int
		Wrong, Ports, Debug []string
		Tags, Todo, Known   int
		Sum                 int
	}
	if err := json.NewDecoder(strings.NewReader(answer)).Decode(&got); err != nil {
		t.Fatalf("%v\n%s", err, answer)
	}
	sum := 0
	for _, cents := range s.paid {
		sum += cents
	}
	if !maps.Equal(got.Paid, s.paid) || !slices.Equal(got.Wrong, s.wrong) || !slices.Equal(got.Ports, s.ports) ||
		!slices.Equal(got.Debug, s.debug) ||
		got.Tags != len(s.tags) || got.Todo != s.todo || got.Known != len(s.paid) || got.Sum != sum {
		t.Errorf("got %+v\nwant %+v", got, *s)
	}
	for tag, notes := range s.tags {
		index, err := os.ReadFile(filepath.Join(root, "index-"+tag+".md"))
		if err != nil || string(index) != strings.Join(notes, "\n") {
			t.Errorf("the index of %s: %q, %v", tag, index, err)
		}
	}
	for _, part := range []string{"filesystem__read_text_file x194 done", "filesystem__write_file x9 done"} {
		if !strings.Contains(answer, part) {
			t.Errorf("%q is missing from\n%s", part, answer)
		}
	}
}

package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Names are the domains that this package implements.
var Names = []string{"airline", "retail"}

// A Domain is a database with tools and tasks. Many goroutines may call its tools.
type Domain struct {
	name  string
	tools []*tool
	tasks []task

	mu     sync.Mutex
	tables map[string]records
}

// A database has the tables and the tools of a domain.
type database interface {
	tables() map[string]records
	tools() []*tool
}

// records are a table of the database.
type records interface {
	begin(writes bool)
	reset()
	changes(name string, w io.Writer)
}

// A tool is one function on the database.
type tool struct {
	mcp.Tool
	writes bool // it may change the database
	call   func(args json.RawMessage) (any, error)
}

// Open reads a domain from a checkout of tau2-bench. Its name is one of [Names].
func Open(dir, name string) (*Domain, error) {
	var db database
	switch name {
	case "airline":
		db = new(airline)
	case "retail":
		db = new(retail)
	default:
		return nil, fmt.Errorf("there is no domain %q", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var texts [][]byte
	for _, file := range []string{"data/tau2/domains/%s/db.json", "data/tau2/domains/%s/tasks.json",
		"src/tau2/domains/%s/tools.py"} {
		text, err := root.ReadFile(fmt.Sprintf(file, name))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	d := &Domain{name: name, tables: db.tables(), tools: append(db.tools(), newTool("calculate", reads, calculate),
		newTool("transfer_to_human_agents", reads, func(summary) string { return "Transfer successful" }))}
	if err := json.Unmarshal(texts[0], db); err != nil {
		return nil, fmt.Errorf("reading the database of the domain %s: %w", name, err)
	}
	if d.tasks, err = readTasks(texts[1]); err != nil {
		return nil, fmt.Errorf("reading the tasks of the domain %s: %w", name, err)
	}
	if err := d.describe(readDocs(string(texts[2]))); err != nil {
		return nil, fmt.Errorf("the domain %s: %w", name, err)
	}
	return d, nil
}

type (
	nothing struct{}
	byUser  struct {
		User string `json:"user_id"`
	}
	summary struct {
		Summary string `json:"summary"`
	}
)

// describe gives the tools the words that the data have for them.
func (d *Domain) describe(docs map[string]doc) error {
	for _, t := range d.tools {
		of, ok := docs[t.Name]
		if !ok {
			return fmt.Errorf("tools.py has no tool %s", t.Name)
		}
		t.Description = of.text
		for name, p := range t.input().Properties {
			p.Description = of.arguments[name]
		}
	}
	for name := range docs {
		if d.tool(name) == nil {
			return fmt.Errorf("tools.py has the tool %s, which this version does not implement", name)
		}
	}
	return nil
}

// tool finds a tool by its name; nil if there is none.
func (d *Domain) tool(name string) *tool {
	i := slices.IndexFunc(d.tools, func(t *tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return d.tools[i]
}

// reset makes the database what it was at first.
func (d *Domain) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tables {
		t.reset()
	}
}

// changes are the records that differ from what they were at first, one in a line, in a fixed order.
func (d *Domain) changes() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.tables)) {
		d.tables[name].changes(name, &text)
	}
	return text.String()
}

// server is an MCP server with the tools.
func (d *Domain) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: d.name, Version: "1"}, nil)
	for _, t := range d.tools {
		s.AddTool(&t.Tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return d.serve(t, r.Params.Arguments), nil
		})
	}
	return s
}

// Serve serves the tools to one client on standard input and output, until it disconnects.
func (d *Domain) Serve(ctx context.Context) error { return d.server().Run(ctx, &mcp.StdioTransport{}) }

func (d *Domain) serve(t *tool, args json.RawMessage) *mcp.CallToolResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, of := range d.tables {
		of.begin(t.writes)
	}
	answer, err := t.call(args)
	if err != nil {
		answer = err.Error()
	}
	text, plain := answer.(string)
	if !plain {
		text = literal(answer)
	}
	r := &mcp.CallToolResult{IsError: err != nil, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	if !plain && t.OutputSchema != nil {
		r.StructuredContent = json.RawMessage(text)
	}
	return r
}

// kinds of tools
const (
	reads  = false
	writes = true
)

// newTool makes a tool of a function whose schemas come from its types. An answer that is no object has no schema of
// its own in MCP.
func newTool[In, Out any](name string, writes bool, f func(In) Out) *tool {
	t := &tool{writes: writes}
	t.Name, t.InputSchema = name, schemaOf[In]()
	if output := schemaOf[Out](); output.Type == "object" {
		t.OutputSchema = output
	}
	t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: !writes}
	t.call = func(args json.RawMessage) (answer any, err error) {
		defer func() {
			if r := recover(); r != nil {
				answer, err = nil, r.(refusal) // any other panic goes on
			}
		}()
		var in In
		decoder := json.NewDecoder(bytes.NewReader(args))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			return nil, fmt.Errorf("the arguments do not fit: %w", err)
		}
		return f(in), nil
	}
	return t
}

// A refusal is why a tool does nothing.
type refusal string

func (r refusal) Error() string { return string(r) }

// refuse ends the function of a tool with an error.
func refuse(format string, args ...any) { panic(refusal(fmt.Sprintf(format, args...))) }

// input is the schema of the arguments.
func (t *tool) input() *jsonschema.Schema { return t.InputSchema.(*jsonschema.Schema) }

// schemaOf is the schema of a type, without null for slices and pointers, which no answer has.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: choices})
	if err != nil {
		panic("discovery: " + err.Error()) // the types of this package have schemas
	}
	notNull(s)
	return s
}

func notNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		notNull(p)
	}
	notNull(s.Items)
	notNull(s.AdditionalProperties)
}

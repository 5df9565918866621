package tau2

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	Name  string
	Tools []*Tool
	Tasks []Task

	mu     sync.Mutex
	tables map[string]records
}

// records are a table of the database.
type records interface {
	check() error
	begin(writes bool)
	reset()
	changes(name string, w io.Writer) error
}

// A Tool is one function on the database.
type Tool struct {
	mcp.Tool
	// Writes says that the tool may change the database.
	Writes bool

	call func(args json.RawMessage) (any, error)
}

// Open reads a domain from a checkout of tau2-bench.
func Open(dir, name string) (*Domain, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return open(root.FS(), name)
}

func open(files fs.FS, name string) (*Domain, error) {
	if !slices.Contains(Names, name) {
		return nil, fmt.Errorf("there is no domain %q", name)
	}
	d := &Domain{Name: name}
	data, err := fs.ReadFile(files, "data/tau2/domains/"+name+"/db.json")
	if err != nil {
		return nil, err
	}
	if d.Tasks, err = readTasks(files, name); err != nil {
		return nil, err
	}
	source, err := fs.ReadFile(files, "src/tau2/domains/"+name+"/tools.py")
	if err != nil {
		return nil, err
	}
	if name == "airline" {
		db := new(airline)
		err = json.Unmarshal(data, db)
		d.tables, d.Tools = db.tables(), airlineTools(db)
	} else {
		db := new(retail)
		err = json.Unmarshal(data, db)
		d.tables, d.Tools = db.tables(), retailTools(db)
	}
	for _, t := range d.tables {
		err = errors.Join(err, t.check())
	}
	if err != nil {
		return nil, fmt.Errorf("reading the database of the domain %s: %w", name, err)
	}
	if err := d.describe(readDocs(string(source))); err != nil {
		return nil, fmt.Errorf("the domain %s: %w", name, err)
	}
	return d, nil
}

// describe gives the tools the words that the data have for them.
func (d *Domain) describe(docs map[string]doc) error {
	for _, t := range d.Tools {
		of, ok := docs[t.Name]
		if !ok {
			return fmt.Errorf("tools.py has no tool %s", t.Name)
		}
		t.Description = of.text
		schema, _ := t.InputSchema.(*jsonschema.Schema)
		for name, p := range schema.Properties {
			p.Description = of.arguments[name]
		}
	}
	for name := range docs {
		if !slices.ContainsFunc(d.Tools, func(t *Tool) bool { return t.Name == name }) {
			return fmt.Errorf("tools.py has the tool %s, which this version does not implement", name)
		}
	}
	return nil
}

// Tool finds a tool by its name; nil if there is none.
func (d *Domain) Tool(name string) *Tool {
	i := slices.IndexFunc(d.Tools, func(t *Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return d.Tools[i]
}

// Reset makes the database what it was at first.
func (d *Domain) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tables {
		t.reset()
	}
}

// Changes are the records that differ from what they were at first, one in a line, in a fixed order.
func (d *Domain) Changes() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.tables)) {
		if err := d.tables[name].changes(name, &text); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

// Server is an MCP server with the tools.
func (d *Domain) Server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: d.Name, Version: "1"}, nil)
	for _, t := range d.Tools {
		s.AddTool(&t.Tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return d.serve(t, r.Params.Arguments), nil
		})
	}
	return s
}

// ServeStdio serves one client on standard input and output, until it disconnects.
func (d *Domain) ServeStdio(ctx context.Context) error {
	return d.Server().Run(ctx, &mcp.StdioTransport{})
}

func (d *Domain) serve(t *Tool, args json.RawMessage) *mcp.CallToolResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, of := range d.tables {
		of.begin(t.Writes)
	}
	answer, err := t.call(args)
	var text []byte
	if err == nil {
		text, err = json.Marshal(answer)
	}
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
	}
	if plain, ok := answer.(string); ok {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: plain}}}
	}
	r := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
	if t.OutputSchema != nil {
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
func newTool[In, Out any](name string, writes bool, f func(In) (Out, error)) *Tool {
	t := &Tool{Writes: writes}
	t.Name, t.InputSchema = name, schemaOf[In]()
	if output := schemaOf[Out](); output.Type == "object" {
		t.OutputSchema = output
	}
	t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: !writes}
	t.call = func(args json.RawMessage) (any, error) {
		var in In
		decoder := json.NewDecoder(bytes.NewReader(args))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			return nil, fmt.Errorf("the arguments do not fit: %w", err)
		}
		return f(in)
	}
	return t
}

// schemaOf is the schema of a type, without null for slices and pointers, which no answer has.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: choices})
	if err != nil {
		panic("tau2: " + err.Error()) // the types of this package have schemas
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

// member gets a member of a record; what names its kind in the error.
func member[T any](of map[string]*T, id, what string) (*T, error) {
	if r := of[id]; r != nil {
		return r, nil
	}
	return nil, errors.New(what + " not found")
}

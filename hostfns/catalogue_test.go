package hostfns

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// shelf is a Library over the tools of a world.
type shelf struct{ w *world }

func (s shelf) Tools(context.Context) []*call.Tool {
	var tools []*call.Tool
	for _, t := range s.w.tools {
		tools = append(tools, t)
	}
	slices.SortFunc(tools, func(a, b *call.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

func (s shelf) Search(ctx context.Context, query string, limit int, visible func(*call.Tool) bool) []*call.Tool {
	var found []*call.Tool
	for _, t := range s.Tools(ctx) {
		if strings.Contains(t.Name, query) && visible(t) && len(found) < limit {
			found = append(found, t)
		}
	}
	return found
}

func (s shelf) Starting() []string { return nil }

func (s shelf) Declarations(names []string) string { return strings.Join(names, ";") }

func TestCatalogueFunctions(t *testing.T) {
	w := newWorld()
	w.hidden = func(t *call.Tool) bool { return t.Server == "pay" }
	w.tools["fs__read"].Description = strings.Repeat("d", 500)
	gate := NewGate(Deps{Tools: w, Recorder: w, Sender: w, Library: shelf{w}})
	r := gate.Run(RunInfo{Policy: w})
	tests := []struct{ name, function, args, want, err string }{
		{name: "search by text", function: "search_tools", args: `"write"`,
			want: `[{"name":"fs__write","server":"fs","declaration":"fs__write"}]`},
		{name: "search for nothing lists without declarations", function: "search_tools", args: `{"limit":1}`,
			want: `[{"name":"fs__read","server":"fs","description":"` + strings.Repeat("d", 400) + `… (100 more characters)"}]`},
		{name: "search by another name", function: "search", args: `{"query":"write"}`,
			want: `[{"name":"fs__write","server":"fs","declaration":"fs__write"}]`},
		{name: "a denied tool is not found", function: "search_tools", args: `{"query":"send"}`, want: `[]`},
		{name: "a limit", function: "search_tools", args: `{"query":"fs","limit":1}`,
			want: `[{"name":"fs__read","server":"fs","description":"` + strings.Repeat("d", 400) +
				`… (100 more characters)","declaration":"fs__read"}]`},
		{name: "declarations of some", function: "get_tools", args: `["fs__write","fs__read"]`, want: `"fs__write;fs__read"`},
		{name: "declarations of one", function: "get_tools", args: `"fs__write"`, want: `"fs__write"`},
		{name: "declarations of all that may be used", function: "get_tools", args: `null`, want: `"fs__read;fs__write"`},
		{name: "declarations of a server", function: "get_tools", args: `{"server":"pay"}`, want: `""`},
		{name: "a denied tool has no declaration", function: "get_tools", args: `["pay__send"]`,
			err: `there is no tool "pay__send"; Object.keys(codemode) lists those there are`},
		{name: "an unknown tool", function: "get_tools", args: `["fs__x"]`,
			err: `there is no tool "fs__x"; did you mean fs__read?`},
		{name: "a wrong key", function: "search_tools", args: `{"qurey":"x"}`,
			err: `search_tools: /qurey: expected one of the keys query, limit, names and server, got "x"`},
		{name: "a wrong type", function: "search_tools", args: `{"limit":"x"}`,
			err: `search_tools: /limit: expected a whole number, got "x"`},
		{name: "a number for text", function: "search_tools", args: `7`,
			err: `search_tools: the argument: expected text, an array of names or an object, got 7`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.Call(t.Context(), Invocation{ID: 1, Name: tt.function, Args: json.RawMessage(tt.args)})
			if tt.err != "" {
				x, _ := err.(*Exception)
				if x == nil || x.Message != tt.err {
					t.Errorf("got %s, %v; want %s", got, err, tt.err)
				}
			} else if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	if reports := r.End(); len(reports) != 0 || w.sent() != 0 {
		t.Errorf("reading the catalogue was reported as calls: %+v", reports)
	}
}

func TestCatalogueIsEmptyWithoutAPolicy(t *testing.T) {
	w := newWorld()
	r := NewGate(Deps{Tools: w, Recorder: w, Sender: w, Library: shelf{w}}).Run(RunInfo{})
	got, err := r.Call(t.Context(), Invocation{ID: 1, Name: "search_tools", Args: json.RawMessage(`"fs"`)})
	if err != nil || string(got) != `[]` {
		t.Errorf("got %s, %v; want []", got, err)
	}
}

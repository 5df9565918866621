package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Library is the part of the catalogue that programs may read. Many goroutines may call it. Search and Tools may wait
// for upstreams that are starting.
type Library interface {
	// Search returns at most limit tools that visible accepts, best first.
	Search(ctx context.Context, query string, limit int, visible func(*call.Tool) bool) []*call.Tool
	// Tools returns every tool, sorted by name.
	Tools(ctx context.Context) []*call.Tool
	// Starting names the servers whose tools are not known yet.
	Starting() []string
	// Declarations describes tools in TypeScript.
	Declarations(names []string) string
}

// A function is a host function that reaches no upstream and so needs no decision.
type function func(ctx context.Context, in Invocation) (json.RawMessage, error)

// Functions are the names of the functions that a program may call and that are no tools. The guest has background itself.
func Functions() []string {
	return []string{"search_tools", "search", "get_tools", emitName, keepName, loadName, askUserName, ReadResource,
		"background"}
}

// IsFunction reports whether a name is one of [Functions].
func IsFunction(name string) bool { return slices.Contains(Functions(), name) }

const (
	searchLimit    = 20  // results without a `limit`
	maxSearchLimit = 200 // results at all
	maxSummary     = 400 // runes of a description in a search result

	declaredMatches = 5       // of the results with their declaration
	maxDeclaration  = 4 << 10 // bytes of one; a longer one is for get_tools
)

// A view is what of the catalogue one program can find. Tools that its policy always denies, whatever the arguments, do
// not exist there.
type view struct {
	tools   Finder
	library Library // nil: no functions
	policy  Policy  // nil hides every tool
	taint   *taint  // hears which descriptions the program reads

	mu     sync.Mutex
	missed []string // see Run.Missed
}

// hostFunction returns the host function of a name; nil if a run has none. To find its way a program calls
//
//	codemode.search_tools("read a file")          // [{name, server, title, description, declaration}]
//	codemode.search_tools({query: "file", limit: 5})
//	codemode.get_tools(["fs__read", "fs__list"])  // TypeScript declarations, as a string
//	codemode.get_tools({server: "fs"})
//
// The best matches have their declaration, the others do not. search is an alias of search_tools.
func hostFunction(r *Run, name string) function {
	switch {
	case name == emitName:
		return r.blocks.emit
	case name == askUserName:
		return r.askUser
	case name == loadName && r.info.Results != nil:
		return r.load
	case name == keepName && r.info.Keep != nil:
		return r.blocks.keepContent
	case (name == "search_tools" || name == "search") && r.view.library != nil:
		return r.view.searchTools
	case name == "get_tools" && r.view.library != nil:
		return r.view.getTools
	}
	return nil
}

// Missed names the servers that were starting when the program looked for tools, so that it did not find theirs.
func (r *Run) Missed() []string {
	r.view.mu.Lock()
	defer r.view.mu.Unlock()
	return r.view.missed
}

// miss notes which servers have not listed their tools. A later search may find these.
func (v *view) miss() {
	starting := v.library.Starting()
	if p, ok := v.policy.(interface{ Reaches(server string) bool }); ok {
		starting = slices.DeleteFunc(starting, func(name string) bool { return !p.Reaches(name) })
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.missed = slices.Sorted(slices.Values(starting))
}

func (v *view) visible(t *call.Tool) bool { return v.policy != nil && !v.policy.Hidden(t) }

// maxName is the longest tool name to look up; no tool has a longer one.
const maxName = 256

// find looks a tool up, unless the host gives the tool with the call.
func (v *view) find(ctx context.Context, name string, given *call.Tool) (*call.Tool, error) {
	if len(name) > maxName {
		return nil, &NotFoundError{Name: fmt.Sprintf("%.40s… (%d bytes)", name, len(name))}
	}
	if given != nil {
		return given, nil
	}
	return v.tools.Find(ctx, name)
}

// notFound makes the exception for a name without a tool. It does not suggest tools that the profile denies anyway.
func (v *view) notFound(ctx context.Context, name string, err error) *Exception {
	if starting, ok := errors.AsType[*StartingError](err); ok {
		return upstreamError(&call.Tool{Name: name, Server: starting.Server}, call.NotSent, err.Error(),
			&SendError{Reason: ReasonStarting})
	}
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok {
		return notFound(&NotFoundError{Name: name, Detail: err.Error()})
	}
	shown := *missing.For(func(t *call.Tool) bool { return !v.visible(t) })
	shown.Nearest = nil
	if shown.Withheld != nil {
		v.taint.described(shown.Withheld)
	}
	for _, near := range missing.Nearest {
		if t, err := v.tools.Find(ctx, near); err == nil && v.visible(t) {
			shown.Nearest = append(shown.Nearest, near)
		}
	}
	return notFound(&shown)
}

// A foundTool is one tool in the answer of search_tools.
type foundTool struct {
	Name        string `json:"name"`
	Server      string `json:"server"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Declaration string `json:"declaration,omitempty"` // TypeScript
}

func (v *view) searchTools(ctx context.Context, in Invocation) (json.RawMessage, error) {
	args, err := catalogueArgs("search_tools", in.Args)
	if err != nil {
		return nil, err
	}
	found := []foundTool{}
	limit := min(cmp.Or(max(args.Limit, 0), searchLimit), maxSearchLimit)
	tools := v.library.Search(ctx, args.Query, limit, v.visible)
	v.taint.described(tools...)
	for i, t := range tools {
		f := foundTool{Name: t.Name, Server: t.Server, Title: t.Title, Description: cut(t.Description, maxSummary)}
		if i < declaredMatches && args.Query != "" {
			if text := v.library.Declarations([]string{t.Name}); len(text) <= maxDeclaration {
				f.Declaration = text
			}
		}
		found = append(found, f)
	}
	v.miss()
	return json.Marshal(found)
}

func (v *view) getTools(ctx context.Context, in Invocation) (json.RawMessage, error) {
	args, err := catalogueArgs("get_tools", in.Args)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(args.Names))
	for _, name := range args.Names {
		t, err := v.find(ctx, name, nil)
		if err == nil && !v.visible(t) {
			err = &NotFoundError{Name: name}
		}
		if err != nil {
			return nil, v.notFound(ctx, name, err)
		}
		v.taint.described(t)
		names = append(names, t.Name)
	}
	if len(args.Names) == 0 {
		for _, t := range v.library.Tools(ctx) {
			if (args.Server == "" || t.Server == args.Server) && v.visible(t) {
				v.taint.described(t)
				names = append(names, t.Name)
			}
		}
		v.miss()
	}
	return json.Marshal(v.library.Declarations(names))
}

type catalogueArguments struct {
	Query  string
	Limit  int
	Names  []string
	Server string
}

// catalogueArgs reads what the catalogue functions accept: a string, an array of names, an object, or nothing.
func catalogueArgs(function string, raw json.RawMessage) (*catalogueArguments, error) {
	wrong := func(path, expected, got string) error {
		return invalidArguments(function, &ArgumentError{Path: path, Expected: expected, Got: cut(got, 60)})
	}
	a := &catalogueArguments{}
	tree, bad := call.Unread(raw).Tree()
	names, isList := texts(tree)
	switch {
	case bad == nil && tree.Kind() == strictjson.String:
		a.Query, a.Names = tree.Text(), []string{tree.Text()}
		return a, nil
	case isList:
		a.Query, a.Names = strings.Join(names, " "), names
		return a, nil
	case bad != nil || tree.Kind() != strictjson.Object:
		return nil, wrong("", "text, an array of names or an object", string(raw))
	}
	for key, value := range tree.Members() {
		ok, expected := value.Kind() == strictjson.String, "text"
		switch key {
		case "query":
			a.Query = value.Text()
		case "server":
			a.Server = value.Text()
		case "limit":
			var err error
			a.Limit, err = strconv.Atoi(value.Text())
			ok, expected = err == nil && value.Kind() == strictjson.Number, "a whole number"
		case "names":
			a.Names, ok = texts(value)
			expected = "an array of names"
		default:
			return nil, wrong("/"+key, "one of the keys query, limit, names and server", value.Source())
		}
		if !ok && value.Kind() != strictjson.Null {
			return nil, wrong("/"+key, expected, value.Source())
		}
	}
	return a, nil
}

// texts are the elements of an array of strings.
func texts(v strictjson.Value) (all []string, ok bool) {
	for _, element := range v.Elements() {
		if element.Kind() != strictjson.String {
			return nil, false
		}
		all = append(all, element.Text())
	}
	return all, v.Kind() == strictjson.Array
}

// cut shortens s to at most n runes and says how many are missing.
func cut(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return fmt.Sprintf("%s… (%d more characters)", string(runes[:n]), len(runes)-n)
}

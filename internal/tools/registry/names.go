package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/visible"
)

// Names says what the names in one program mean. A name means a tool in another spelling if that is the only reading:
// no other tool that the profile shows fits. It tells nothing that search_tools would not tell under the same profile:
// tools that the profile hides are not there. A meaning permits nothing, because the Gate decides each call under its
// canonical name.
type Names struct {
	Tools   *Registry
	Visible func(*call.Tool) bool
}

// Names returns the meanings of names in a program that runs under a policy.
func (g *Registry) Names(p *inforce.Policy) *Names {
	return &Names{Tools: g, Visible: func(t *call.Tool) bool { return !p.Hidden(t) }}
}

// A Meaning is what a name means.
type Meaning struct {
	Found  bool
	Caller bool   // it takes the name of a tool and its arguments, as codemode.call; Name is ""
	Name   string // canonical: of a tool, a server or a function; "" is codemode itself
}

// Answer answers what a program asks, see [sandbox.Names]. The list of all names is not ready while a server starts.
func (n *Names) Answer(ask byte, name string) string {
	switch ask {
	case 'l':
		return n.list(name)
	case 'n', 'g':
		m := n.Means(name, ask == 'g')
		switch {
		case m.Caller:
			return "c"
		case m.Found:
			return "t" + m.Name
		case ask == 'g':
			return "m" + n.Undeclared(name)
		}
	}
	return "m"
}

// Means returns the meaning of a name: of a property of codemode, or of one of a server after the server's name and
// [call.Separator]. global says that the name stands alone, and that nothing in the program declares it.
func (n *Names) Means(name string, global bool) Meaning {
	if len(name) > maxSpelling || global && Absent(name) != "" {
		return Meaning{}
	}
	if m, ok := n.exact(name, global); ok {
		return m
	}
	switch short := call.WithoutPrefix(name); {
	case call.IsToolsObject(name):
		return Meaning{Found: true}
	case call.IsCaller(name, global):
		return Meaning{Found: true, Caller: true}
	case short != name:
		return n.Means(short, false)
	}
	found := n.spelled(name)
	if global && len(found) == 1 && call.Fold(found[0].Raw) == call.Fold(name) {
		return Meaning{} // a tool's name alone is too likely to be a variable that the program forgot
	}
	var names []string
	for _, t := range found {
		names = append(names, t.Name)
	}
	for _, s := range n.servers() {
		if len(found) == 0 && call.Fold(s) == call.Fold(name) {
			names = append(names, s)
		}
	}
	for _, f := range hostfns.Functions() {
		if len(names) == 0 && !global && call.Fold(f) == call.Fold(name) {
			return Meaning{Found: true, Name: f}
		}
	}
	if len(names) != 1 {
		return Meaning{}
	}
	return Meaning{Found: true, Name: names[0]}
}

// maxSpelling is the longest name that can mean something, in bytes.
const maxSpelling = 256

// exact returns the meaning of a name that needs no reading. It reports false if there is no such name.
func (n *Names) exact(name string, global bool) (Meaning, bool) {
	found := Meaning{Found: true, Name: name}
	if t := n.Tools.Catalog.Lookup(name); t != nil {
		return Meaning{Found: n.visible(t), Name: t.Name}, true
	}
	server, _, whole := strings.Cut(name, call.Separator)
	switch {
	case !whole && !global && hostfns.IsFunction(name), n.Tools.Catalog.Has(name):
		return found, true
	case !whole:
		return found, slices.Contains(n.servers(), name)
	}
	if n.Tools.starting(server + call.Separator) {
		return found, true // its tools are not known yet: the call waits for them
	}
	t := n.Tools.resource(name)
	return found, t != nil && n.Visible(t)
}

func (n *Names) visible(t *catalog.Tool) bool { return n.Visible(n.Tools.Describe(t)) }

// spelled returns the tools that a name means in another spelling.
func (n *Names) spelled(name string) []*catalog.Tool {
	return slices.DeleteFunc(slices.Clone(n.Tools.Catalog.Spelled(name)), func(t *catalog.Tool) bool { return !n.visible(t) })
}

// Listed waits, at most so long, until the servers of some tools have listed their tools or failed to. A name may be that
// of a tool in any spelling.
func (g *Registry) Listed(ctx context.Context, wait time.Duration, names []string) {
	starting := func() bool {
		return slices.ContainsFunc(names, func(name string) bool {
			if g.Catalog.Has(name) || hostfns.IsFunction(name) || call.IsToolsObject(name) || Absent(name) != "" {
				return false
			}
			server, _, _ := strings.Cut(strings.Replace(call.WithoutPrefix(name), ".", call.Separator, 1), call.Separator)
			for _, s := range g.Manager.Status() {
				if call.Part(s.Name) == server {
					return g.starting(call.Name(s.Name, ""))
				}
			}
			return len(g.waiting()) > 0 // it may be a tool of any server
		})
	}
	for deadline := time.Now().Add(wait); ctx.Err() == nil && time.Now().Before(deadline) && starting(); {
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
		}
	}
}

// servers returns the names, as programs write them, of the servers with a tool that the profile shows, and of those
// whose tools are not known yet, sorted.
func (n *Names) servers() []string {
	var names []string
	for _, t := range n.Tools.Catalog.Tools() {
		if name := call.Part(t.Server); !slices.Contains(names, name) && n.visible(t) {
			names = append(names, name)
		}
	}
	names = append(names, n.Tools.waiting()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// waiting returns the servers that start and whose tools are not known yet.
func (g *Registry) waiting() (names []string) {
	for _, s := range g.Manager.Status() {
		if !g.IsListed(s.Name) && g.starting(call.Name(s.Name, "")) {
			names = append(names, call.Part(s.Name))
		}
	}
	return names
}

// list answers which names are behind codemode, or behind a server: tools, and behind codemode also the servers and the
// functions.
func (n *Names) list(server string) string {
	prefix := ""
	if server != "" {
		prefix = server + call.Separator
	}
	for _, name := range n.Tools.waiting() {
		if server == "" || server == name {
			return fmt.Sprintf("wthe tools of %s are not known yet, because it is starting: await codemode.search_tools() "+
				"waits for them", name)
		}
	}
	var names []string
	for _, t := range n.Tools.Catalog.Tools() {
		if name, ok := strings.CutPrefix(t.Name, prefix); ok && n.visible(t) {
			names = append(names, name)
		}
	}
	if server == "" {
		names = append(names, n.servers()...)
		names = append(names, hostfns.Functions()...)
	}
	return "l" + strings.Join(names, "\n")
}

// Undeclared is the message of the error where a program uses a name that means nothing and that nothing declares, if
// there is a better one than JavaScript's.
func (n *Names) Undeclared(name string) string {
	if len(name) > maxSpelling || !utf8.ValidString(name) || Absent(name) != "" {
		return ""
	}
	var near []string
	if hostfns.IsFunction(name) {
		near = append(near, "codemode."+name)
	}
	if s := visible.Nearest(name, n.servers()); s != "" {
		near = append(near, "codemode."+s)
	}
	if utf8.RuneCountInString(name) >= 4 {
		for _, tool := range n.Tools.Catalog.Near(call.WithoutPrefix(name)) {
			if t := n.Tools.Catalog.Lookup(tool); t != nil && n.visible(t) {
				near = append(near, "codemode."+tool)
			}
		}
	}
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is not defined; did you mean %s?", name, strings.Join(near, ", "))
}

// Absent says what replaces a global that programs elsewhere have and programs here do not, "" for other names.
func Absent(name string) string { return absent[name] }

var absent = map[string]string{
	"fetch":          "there is no network but through tools: codemode.search_tools(\"http\") finds one that fetches, if there is one",
	"XMLHttpRequest": "there is no network but through tools: codemode.search_tools(\"http\") finds one that fetches, if there is one",
	"require":        "there are no modules; tools are called as codemode.<server>__<tool>(args)",
	"module":         "there are no modules; return gives the result",
	"exports":        "there are no modules; return gives the result",
	"process":        "there is no process; what the program is given is in input, and return gives the result",
	"Buffer":         "use Uint8Array with TextEncoder and TextDecoder, or atob and btoa",
	"Intl": "there is no Intl; numbers and dates have toLocaleString with the options of en-US, dates toISOString, and texts " +
		"localeCompare; plurals, lists and relative times are written in the program",
	"Temporal":    "there is no Temporal; use Date, whose time zone is UTC",
	"window":      "there is no browser; globalThis is the global object",
	"document":    "there is no browser",
	"WebAssembly": "there is no WebAssembly inside a program",
	"Worker":      "there are no threads; Promise.all runs calls in parallel",
	"__dirname":   "there is no file system but through tools",
	"__filename":  "there is no file system but through tools",
}

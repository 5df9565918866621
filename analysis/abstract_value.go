package analysis

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// The ways to write a call.
const (
	Member       = "member"       // codemode.a__b(x)
	Computed     = "computed"     // codemode["a__b"](x)
	Server       = "server"       // codemode.a.b(x)
	Alias        = "alias"        // const f = codemode.a__b; f(x)
	Destructured = "destructured" // const {a__b} = codemode; a__b(x)
	Indirect     = "indirect"     // codemode.a__b.call(null, x)
	Value        = "value"        // list.map(codemode.a__b): other code may call it, or nothing does
)

// A nature is the known kind of a value.
type nature uint8

const (
	other     nature = iota
	codemode         // the global object of the tools
	global           // globalThis
	server           // codemode.x: the tools of x, or a function of the host
	tool             // codemode.x__y
	bound            // call, apply or bind of a tool
	evaluator        // eval, Function: turns text into code
	result           // of a call of a tool, or a part of it
)

// An abstractValue is what the analysis knows about the value of an expression.
type abstractValue struct {
	nature nature
	name   string // of the server or the tool
	how    string
	start  int                 // where the reference begins
	last   int                 // where the last part of it begins: the name
	from   *ecmascript.Binding // the variable it was read from
	call   string              // of bound: call, apply or bind
	free   string              // the name behind which it is, if nothing in the text declares that
	via    string              // the name that is not codemode and is read as it
	path   string              // of result: the part, as "/items/-/id"; - is any element
}

// part returns the abstract value of a member of a value.
func part(v abstractValue, name string, how string, last int) abstractValue {
	p := abstractValue{start: v.start, last: last, how: how, from: v.from, free: v.free, via: v.via}
	switch v.nature {
	case codemode:
		switch {
		case strings.Contains(name, "__") && !strings.HasPrefix(name, "__"):
			p.nature, p.name = tool, name
		case name == "", inherited(name):
		case call.IsToolsObject(name) && v.via == "":
			p.nature, p.via = codemode, name
		default:
			p.nature, p.name = server, name
		}
	case server:
		if !inherited(name) {
			p.nature, p.name = tool, v.name+"__"+name
			if how == Member {
				p.how = Server
			}
		}
	case tool:
		if name == "call" || name == "apply" || name == "bind" {
			p.nature, p.name, p.how, p.call, p.last = bound, v.name, Indirect, name, v.last
		}
	case result:
		if !inherited(name) && name != "catch" && name != "finally" && len(v.path) < maxPath {
			p.nature, p.name, p.path = result, v.name, strictjson.AppendToken(v.path, name)
		}
	case global:
		switch name {
		case "codemode":
			p.nature = codemode
		case "globalThis":
			p.nature = global
		case "eval", "Function":
			p.nature = evaluator
		}
	}
	return p
}

// inherited reports whether a name has the meaning that it has on any object, or on a promise.
func inherited(name string) bool {
	switch name {
	case "constructor", "toString", "toJSON", "then", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable",
		"toLocaleString":
		return true
	}
	return strings.HasPrefix(name, "__")
}

// free returns the value of a global name.
func free(n *ecmascript.Node) abstractValue {
	v := abstractValue{start: n.Start, last: n.Start, how: Member}
	switch n.Name {
	case "codemode":
		v.nature = codemode
	case "globalThis":
		v.nature = global
	case "eval", "Function":
		v.nature = evaluator
	default:
		if !known[n.Name] { // it may be a server, see Program.Meant
			v.nature, v.free = codemode, n.Name
			return part(v, n.Name, Member, n.Start)
		}
	}
	return v
}

// named returns the value of a name.
func named(n *ecmascript.Node) abstractValue {
	b := n.Bind
	if b == nil {
		return free(n)
	}
	v := evaluated(b).value
	v.start, v.last, v.from = n.Start, n.Start, b
	if v.nature == tool || v.nature == bound {
		if v.how != Destructured {
			v.how = Alias
		}
	}
	return v
}

// glance returns the abstract value of n, without reporting anything. It reads names and members only.
func glance(n *ecmascript.Node) abstractValue {
	switch n.Op {
	case ecmascript.OpName:
		return named(n)
	case ecmascript.OpAwait:
		return glance(n.A)
	case ecmascript.OpCall:
		return resultOf(n, glance(n.A))
	case ecmascript.OpMember:
		return part(glance(n.A), n.Name, spelling(n, Member), n.Last)
	case ecmascript.OpIndex:
		v := glance(n.A)
		if v.nature != other {
			if key, ok := constant(n.B); ok {
				return part(v, key, spelling(n, Computed), n.Last)
			}
		}
	}
	return abstractValue{}
}

// maxPath bounds the place of a part of a result, in bytes.
const maxPath = 200

// resultOf returns the value of a call of v.
func resultOf(n *ecmascript.Node, v abstractValue) abstractValue {
	r := abstractValue{nature: result, name: v.name, start: n.Start, last: n.Start, free: v.free, via: v.via}
	switch {
	case v.nature == tool, v.nature == server && !call.IsCaller(v.name, v.free == v.name):
		return r
	case v.nature == bound && v.call == "call":
		return r
	case v.nature == server: // codemode.call("crm__x", arguments)
		if name, ok := dispatchee(n.List); ok {
			r.name = name
			return r
		}
	}
	return abstractValue{}
}

func spelling(n *ecmascript.Node, how string) string {
	if n.Is(ecmascript.FlagPattern) {
		return Destructured
	}
	return how
}

// dispatchee returns the name of the tool in the arguments of such a function.
func dispatchee(list []*ecmascript.Node) (name string, ok bool) {
	if len(list) == 0 || slices.ContainsFunc(list, spread) || list[0] == nil {
		return "", false
	}
	if o := list[0]; o.Op == ecmascript.OpObject {
		if slices.ContainsFunc(o.List, func(p *ecmascript.Node) bool { return p.Op != ecmascript.OpProperty || p.B != nil }) {
			return "", false
		}
		server, _ := textOf(o, "server", "serverName", "server_name")
		name, ok = textOf(o, "name", "tool", "toolName", "tool_name")
		if server != "" {
			name = server + call.Separator + name
		}
		return name, ok
	}
	name, ok = constant(list[0])
	if ok && len(list) > 2 {
		tool, is := constant(list[1])
		return name + call.Separator + tool, is
	}
	return name, ok
}

// memberOf returns the first of some members that an object literal has, nil if the text does not show it.
func memberOf(o *ecmascript.Node, names ...string) *ecmascript.Node {
	for _, name := range names {
		for _, p := range o.List {
			if p.Op == ecmascript.OpProperty && p.B == nil && p.Name == name && !p.Is(ecmascript.FlagMethod) {
				return p.A
			}
		}
	}
	return nil
}

func textOf(o *ecmascript.Node, names ...string) (string, bool) {
	m := memberOf(o, names...)
	if m == nil {
		return "", false
	}
	return constant(m)
}

// facts are what the walker knows of a binding.
type facts struct {
	body     *ecmascript.Node // the function it holds, if the walker reads that at its only use
	reported bool             // a use of it was reported

	asked  bool // value and text are known, or being computed
	value  abstractValue
	text   string
	isText bool
}

// factsOf returns the facts of a binding.
func factsOf(b *ecmascript.Binding) *facts {
	f, ok := b.Facts.(*facts)
	if !ok {
		f = &facts{}
		b.Facts = f
	}
	return f
}

// evaluated returns the facts of a binding with its value and text. A binding that refers to itself has no known value.
func evaluated(b *ecmascript.Binding) *facts {
	f := factsOf(b)
	if f.asked {
		return f
	}
	f.asked = true
	if v := b.Value(); v != nil {
		f.text, f.isText = constant(v)
		f.isText = f.isText && v.Op != ecmascript.OpNumber // which is text only where it is a key
		f.value = glance(v)
	}
	return f
}

package hostile

import (
	"math"
	"math/rand/v2"
	"strings"
)

// A Generator makes texts at random; the same seed and programs give the same texts.
type Generator struct {
	Random   *rand.Rand
	Programs []string // real programs, to mutate
	Most     int      // bytes; at most [Most]
}

// Next returns a text.
func (g *Generator) Next() Text {
	var t Text
	switch n := g.Random.IntN(10); {
	case n < 4:
		t = g.shape()
	case n < 6:
		t = g.mixture()
	case n < 8 && len(g.Programs) > 0:
		t = g.mutated()
	default:
		t = g.soup()
	}
	if g.Random.IntN(2) == 0 {
		t = With(g.prefix(), t)
	}
	return t
}

// size is a number of bytes: one of the largest, or any, where each power of two is equally likely.
func (g *Generator) size() int {
	if g.Random.IntN(2) == 0 {
		return g.Most >> g.Random.IntN(4)
	}
	return int(math.Exp2(g.Random.Float64() * math.Log2(float64(g.Most))))
}

func (g *Generator) prefix() string {
	if g.Random.IntN(2) == 0 {
		return hidden[g.Random.IntN(len(hidden))].prefix + g.any([]string{"", "1;y=", "y=0;"})
	}
	prefix := g.any(Prefixes)
	if g.Random.IntN(4) == 0 {
		prefix += "\n" + g.any(Prefixes)
	}
	if g.Random.IntN(3) == 0 {
		prefix += g.any([]string{"1;y=", ";y=", "/;y=", "\n;y=", "'", "`", "*/", "\n", ")", "}"})
	}
	return prefix
}

func (g *Generator) any(of []string) string { return of[g.Random.IntN(len(of))] }

func (g *Generator) shape() Text {
	t := Shapes[g.Random.IntN(len(Shapes))].Text(g.size())
	if g.Random.IntN(6) == 0 { // because esbuild fails on it
		t = t[:1+g.Random.IntN(len(t))]
	}
	return t
}

// mixture nests several shapes.
func (g *Generator) mixture() Text {
	var before, after Text
	middle := ""
	room := g.size()
	for n := 2 + g.Random.IntN(3); n > 0; n-- {
		s := Shapes[g.Random.IntN(len(Shapes))]
		times := 1 + g.Random.IntN(max(1, room/max(1, n*(len(s.Open)+len(s.Close)))))
		before = append(before, Part{s.Before, 1, false}, Part{s.Open, times, s.Numbered})
		after = append(Text{{s.Close, times, s.Numbered}, {s.After, 1, false}}, after...)
		middle = s.Middle
	}
	if g.Random.IntN(4) == 0 { // each in turn, all of them repeatedly
		var unit strings.Builder
		for _, p := range append(before, after...) {
			unit.WriteString(p.Piece)
		}
		return Text{{unit.String(), max(1, room/max(1, unit.Len())), false}}
	}
	return append(append(before, Part{middle, 1, false}), after...).trim()
}

// mutated is a program with changes, and often with a shape inside.
func (g *Generator) mutated() Text {
	program := g.any(g.Programs)
	program = program[:min(len(program), g.Most)]
	for n := g.Random.IntN(4); n > 0 && len(program) > 0; n-- {
		from := g.Random.IntN(len(program))
		to := min(len(program), from+1+g.Random.IntN(40))
		switch g.Random.IntN(4) {
		case 0:
			program = program[:from] + program[to:]
		case 1:
			program = program[:to] + program[from:]
		case 2:
			program = program[:from] + g.any(pieces) + program[from:]
		default:
			other := g.any(g.Programs)
			at := g.Random.IntN(len(other) + 1)
			program = program[:from] + other[at:min(len(other), at+60)] + program[to:]
		}
	}
	at := g.Random.IntN(len(program) + 1)
	if i := strings.IndexAny(program[at:], " \n;({[,"); i >= 0 {
		at += i + 1
	}
	first, second := Part{program[:at], 1, false}, Part{program[at:], 1, false}
	if g.Random.IntN(3) == 0 {
		return Text{first, {program[at:min(len(program), at+1+g.Random.IntN(30))], 1 + g.size()/30, false}, second}.trim()
	}
	inside := g.shape()
	if g.Random.IntN(2) == 0 {
		inside = With(g.prefix(), inside)
	}
	return append(append(Text{first}, inside...), second).trim()
}

// soup is some pieces of the grammar, repeated, and their closing brackets.
func (g *Generator) soup() Text {
	var open, closed strings.Builder
	for range 1 + g.Random.IntN(6) {
		open.WriteString(g.any(pieces))
	}
	text := open.String()
	for i := len(text) - 1; i >= 0; i-- {
		if at := strings.IndexByte("([{", text[i]); at >= 0 {
			closed.WriteByte(")]}"[at])
		}
	}
	s := Shape{Open: text, Close: closed.String(), Middle: g.any([]string{"", "1", "a"})}
	s.Before = g.any([]string{"", "x=", "let x:", "class A{", "type a=", ";", "("})
	if g.Random.IntN(3) == 0 {
		s.Close = ""
	}
	return s.Text(g.size())
}

// pieces are parts of the grammar, and texts outside of it; spaced holds those that strings.Fields would split.
var pieces = append(strings.Fields(symbols), spaced...)

const symbols = "a 1 's' ( ) [ ] { } ; , . ?. ? : => = += + - ! ~ < > << && ?? || | & ... @ #a / /a/ /[/]/ * ** ++ -- " +
	"% == >> $ \\ ' \" ` ${ `a` `${a}` <a> <a,> (a) (a,b) (a:b) {a} {a:b} [a] [a,b] =>{ ():c=> a=> a?b: a?(b): " +
	"a?(b):c=> a<b a<b> a<( a<[ 0 1n .5 07.e+ 0x1p 1_ é 😀 \\u0061 \\u{62} \\ud800 <!-- --> /* */ // /**/ #! import( " +
	"super.a this null 'a'+ `a`+ x=> async()=> async({ function(){ class{ class{a= @a @(a) ${}"

var spaced = []string{
	"\n", " ", "\t", "\u2028", "\ufeff", "\r\n", "async ", "await ", "yield ", "function ", "return ",
	"if(1)", "else ", "for(;;)", "for(let a of b)", "while(1)", "do ", "try{", "}catch{", "}catch(e){",
	"}finally{", "switch(a){case 1:", "default:", "throw ", "break ", "a:", "class a ", "extends ", "static ",
	"static{", "get ", "set ", "new ", "typeof ", "void ", "delete ", " in ", " of ", " as ", " as void ",
	" as const ", " satisfies ", " is ", "infer a extends ", "keyof ", "unique symbol", "abstract ",
	"declare ", "namespace a{", "module 'a'{", "global{", "enum E{a=", "interface A{", "type a=",
	"import a=b;", "export ", "let ", "const ", "var ", "using ", "let [", "let {a:",
	"constructor(private a=", "accessor ", "new.target", "import.meta", "with(a)", "debugger;",
	"'use strict';", "\x00", "\xff", "\xed\xa0\x80", "//# sourceMappingURL=data:application/json,{}\n",
}

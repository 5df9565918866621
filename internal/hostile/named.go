package hostile

import "strings"

// A Case is a text that killed or blocked a process which reads programs with esbuild and measures them with another
// lexer.
type Case struct {
	Name string
	Text Text
}

// hidden are the kinds of text that a lexer without esbuild's grammar mistakes for the rest of a string, a comment or a
// regular expression.
var hidden = []struct{ name, prefix string }{
	{"a slash behind as void", "x as void /"},
	{"a second line that begins with #!", "#!a\n#!'\n"},
	{"--> behind a comment at the start", "/**/-->'\n"},
	{"a decorator", "@a/'/ "},
	{"an exponent without digits", "x=07.e+/'/;"},
	{"a decrement behind a block", "{}--/'/;"},
	{"a regular expression behind a block", "if(1){}/a//"},
}

// Cases returns named texts of all kinds: each kind of difference between the lexers followed by nesting, and
// separately each construct that esbuild cannot be trusted with.
func Cases() []Case {
	var all []Case
	add := func(name string, parts ...Part) { all = append(all, Case{name, parts}) }
	times := func(piece string, n int) Part { return Part{Piece: piece, Times: n} }
	numbered := func(piece string, n int) Part { return Part{Piece: piece, Times: n, Numbered: true} }
	retries := []Part{times("a?(b):c=>", 40), once("d")}
	for _, h := range hidden {
		room := Most - len(h.prefix)
		add(h.name+", then parentheses", once(h.prefix), times("(", room))
		add(h.name+", then tildes", once(h.prefix), times("~", room))
		add(h.name+", then arrows behind conditionals", With(h.prefix+"1;y=", retries)...)
	}
	hide := func(name string, parts ...Part) { add(name, With("x as void /1;y=0;", parts)...) }
	for _, s := range Shapes {
		if strings.HasPrefix(s.Name, "arrows behind") || strings.HasPrefix(s.Name, "infer in") {
			hide(s.Name, s.Repeat(60)...)
		} else {
			hide(s.Name, s.Text(Most-20)...)
		}
	}
	hide("enum members that double", once(enumDoubling(40, "+")))
	hide("enum templates that double", once(enumDoubling(40, "`")))
	hide("names in many blocks", times("{", Most/4), times("a;", Most/5), times("}", Most/4))
	hide("functions in parentheses", times("(", Most/4), times("a=>a,", Most/12), once("1"), times(")", Most/4))
	hide("jumps over many labels", numbered("a#:", Most/24), once("for(;;){"), times("break a0;", Most/24), once("}"))
	hide("names that hoist out of many blocks", times("{", Most/8), numbered("var b#;", Most/24), times("}", Most/8))
	hide("uses of a long enum member", once("enum E{a='"+strings.Repeat("x", 4000)+"'}"), times("E.a;", Most/6))
	return all
}

// enumDoubling is an enum where each member is twice as long as the one before.
func enumDoubling(n int, how string) string {
	name := func(i int) string { return "a" + strings.Repeat("b", i) }
	var b strings.Builder
	b.WriteString("enum E{a='ab'")
	for i := 1; i <= n; i++ {
		if how == "+" {
			b.WriteString("," + name(i) + "=" + name(i-1) + "+" + name(i-1))
		} else {
			b.WriteString("," + name(i) + "=`${" + name(i-1) + "}${" + name(i-1) + "}`")
		}
	}
	return b.String() + "}"
}

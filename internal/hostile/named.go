package hostile

import "strings"

// A Case is a text that ended or pinned a process which reads programs with
// esbuild and measures them with another lexer.
type Case struct {
	Name string
	Text Text
}

// Cases are named texts of all kinds: each class of difference between the
// lexers with nesting behind it, and each construct that esbuild cannot be
// trusted with, alone.
func Cases() []Case {
	var all []Case
	add := func(name string, t Text) { all = append(all, Case{name, t}) }
	for _, hidden := range []struct{ name, prefix string }{
		{"a slash behind as void", "x as void /"},
		{"a second line that begins with #!", "#!a\n#!'\n"},
		{"--> behind a comment at the start", "/**/-->'\n"},
		{"a decorator", "@a/'/ "},
		{"an exponent without digits", "x=07.e+/'/;"},
		{"a decrement behind a block", "{}--/'/;"},
		{"a regular expression behind a block", "if(1){}/a//"},
	} {
		add(hidden.name+", then parentheses", With(hidden.prefix, Text{{"(", Most - len(hidden.prefix), false}}))
		add(hidden.name+", then tildes", With(hidden.prefix, Text{{"~", Most - len(hidden.prefix), false}}))
		add(hidden.name+", then arrows behind conditionals", With(hidden.prefix+"1;y=", Text{{"a?(b):c=>", 40, false}, {"d", 1, false}}))
	}
	hide := func(t Text) Text { return With("x as void /1;y=0;", t) }
	doubling := func(first, next string, n int) Text {
		return Text{{first, 1, false}, {next, n, true}, {"}", 1, false}}
	}
	for _, s := range Shapes {
		switch {
		case strings.HasPrefix(s.Name, "arrows behind"), strings.HasPrefix(s.Name, "infer in"):
			add(s.Name, hide(s.Repeat(60)))
		default:
			add(s.Name, hide(s.Text(Most-20)))
		}
	}
	add("enum members that double", hide(Text{{enumDoubling(40, "+"), 1, false}}))
	add("enum templates that double", hide(Text{{enumDoubling(40, "`"), 1, false}}))
	add("enums that double", hide(doubling("{enum E{a='ab',b='ab'}", "enum F#{a=E.a+E.a+E.a+E.a}", 40)))
	add("names in many blocks", hide(Text{{"{", Most / 4, false}, {"a;", Most / 5, false}, {"}", Most / 4, false}}))
	add("functions in parentheses", hide(Text{{"(", Most / 4, false}, {"a=>a,", Most / 12, false}, {"1", 1, false}, {")", Most / 4, false}}))
	add("jumps over many labels", hide(Text{{"a#:", Most / 24, true}, {"for(;;){", 1, false}, {"break a0;", Most / 24, false}, {"}", 1, false}}))
	add("names that hoist out of many blocks", hide(Text{{"{", Most / 8, false}, {"var b#;", Most / 24, true}, {"}", Most / 8, false}}))
	add("uses of a long enum member", hide(Text{{"enum E{a='" + strings.Repeat("x", 4000) + "'}", 1, false}, {"E.a;", Most / 6, false}}))
	return all
}

// enumDoubling is an enum each of whose members is twice as long as the one before.
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

package analysis

import (
	"encoding/json"
	"strings"
)

// A variant is another reading of a text that is no program as it is.
type variant struct {
	whole string // the text that its positions are in: the submitted one, or what that one holds in quotes
	start int    // where the program begins in it
	text  string // the program
	calls bool   // it counts only if it calls tools: the text could also be a value
}

func variants(text string, start, end int) (all []variant) {
	if v, ok := fencedIn(text); ok {
		all = append(all, v)
	}
	decode := func(quoted string, calls bool) {
		var decoded string
		if json.Unmarshal([]byte(quoted), &decoded) == nil && decoded != text {
			from, to := program(decoded)
			all = append(all, variant{decoded, from, decoded[from:to], calls})
		}
	}
	t := text[start:end]
	switch {
	case len(t) < 2:
	case t[0] == '"' && t[len(t)-1] == '"':
		decode(t, true)
	case t[0] == '\'' && t[len(t)-1] == '\'' || t[0] == '`' && t[len(t)-1] == '`':
		from, to := program(t[1 : len(t)-1])
		all = append(all, variant{text, start + 1 + from, t[1+from : 1+to], true})
	case t[0] == '{':
		decode(codeIn(t), true)
	}
	if strings.Contains(t, `\n`) && !strings.ContainsAny(t, "\r\n") {
		decode(`"`+t+`"`, false)
	}
	return all
}

// codeIn returns the JSON text of a program in an object that is meant as the arguments of a tool; "" if it is not.
func codeIn(text string) string {
	var outer struct{ Arguments, Code, Javascript, JS, Script json.RawMessage }
	for range 2 {
		if json.Unmarshal([]byte(text), &outer) != nil {
			return ""
		}
		for _, code := range []json.RawMessage{outer.Code, outer.JS, outer.Javascript, outer.Script} {
			if len(code) > 0 {
				return string(code)
			}
		}
		text = string(outer.Arguments)
		outer.Arguments = nil
	}
	return ""
}

var (
	fence      = pattern("^[ \t]*```+[ \t]*([A-Za-z0-9+#]*)[^`\n]*$")
	fences     = pattern("(?m)^[ \t]*```+[ \t]*([A-Za-z0-9+#]*)[ \t\r]*$")
	isScript   = pattern(`(?i)^(|js|javascript|jsx|ts|typescript|tsx|mjs|node)$`)
	hasReturns = pattern(`(?m)(^|[;{}\s])return\b`)
	topNames   = pattern(`(?m)^\s*(?:const|let|var|(?:async\s+)?function|class)\s+(?:\{([^}]*)\}|\[([^\]]*)\]|(\w+))`)
	nameIn     = pattern(`[A-Za-z_$][\w$]*`)
)

// fencedIn returns the program in the fences of an explanation. It is the only fence in JavaScript, or all fences if each
// goes on where the one before ended. The text around them becomes blank, so that positions stay.
func fencedIn(text string) (variant, bool) {
	type block struct {
		from, to int
		marked   bool
	}
	var blocks []block
	open, language, at := -1, "", 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		m := fence().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		switch {
		case m == nil:
		case open < 0:
			open, language = at+len(line), m[1]
		case m[1] == "": // a closing fence
			if isScript().MatchString(language) {
				blocks = append(blocks, block{open, at, language != ""})
			}
			open = -1
		}
		at += len(line)
	}
	if open >= 0 && open < len(text) && isScript().MatchString(language) {
		blocks = append(blocks, block{open, len(text), language != ""})
	}
	for _, b := range blocks { // blocks without a language may be anything: output, data
		if b.marked {
			var marked []block
			for _, b := range blocks {
				if b.marked {
					marked = append(marked, b)
				}
			}
			blocks = marked
			break
		}
	}
	if len(blocks) == 0 {
		return variant{}, false
	}
	joined := []byte(text)
	done := 0
	for i, b := range blocks {
		blank(joined[done:b.from])
		done = b.to
		if i > 0 && !goesOnFrom(text[blocks[i-1].from:blocks[i-1].to], text[b.from:b.to]) {
			return variant{}, false
		}
	}
	blank(joined[done:])
	start, end := trim(string(joined), blocks[0].from, done)
	return variant{text, start, string(joined[start:end]), false}, true
}

// goesOnFrom reports whether a block is certainly the continuation of another one: it uses what that one declares, and
// that one returns nothing.
func goesOnFrom(before, after string) bool {
	if hasReturns().MatchString(before) {
		return false
	}
	used := map[string]bool{}
	for _, name := range nameIn().FindAllString(after, -1) {
		used[name] = true
	}
	for _, m := range topNames().FindAllStringSubmatch(before, -1) {
		for _, name := range nameIn().FindAllString(m[1]+" "+m[2]+" "+m[3], -1) {
			if used[name] {
				return true
			}
		}
	}
	return false
}

// nameText puts what a text is before the problems that a reader of JavaScript has with it.
func nameText(name, text string, start, end int, problems []Problem) []Problem {
	what, hint := whatIs(text[start:end])
	if what == "" && strings.HasPrefix(strings.TrimSpace(text), "#!") {
		what, hint = whatIs(strings.TrimSpace(text))
	}
	if m := fences().FindStringSubmatch(text[start:end]); m != nil {
		what, hint = "there are several programs in the text", "send one, without text around it"
		if !isScript().MatchString(m[1]) && strings.Count(text, "```") < 4 {
			what, hint = "the text has a fence of "+m[1]+" in it; a program is JavaScript or TypeScript", oneLine(text)
		}
	}
	if what == "" || what == isJSX && strings.HasPrefix(problems[0].Message, "there is no JSX") {
		return problems
	}
	c := newCompiler(name, text, start, text[start:end])
	named := []Problem{c.problem(fault{message: what, hint: hint})}
	if what == brokenJSON {
		named = append(named, problems[0]) // it says where
	}
	return named
}

// Compile makes a [Program] from a text, or returns the problems that prevent it. name is the file name in problems; ""
// means "program.ts". It reads in this process, and therefore only texts within a bound; see [Reader] for the others.
func Compile(name, text string) (*Program, []Problem) { return read(name, text, true) }

// compile is Compile without a bound.
func compile(name, text string) (*Program, []Problem) { return read(name, text, false) }

// read compiles a text, or a program that the text holds: in one fence of an explanation, in quotes, or with its line
// breaks escaped. bounded is for texts that this process reads.
func read(name, text string, bounded bool) (*Program, []Problem) {
	start, end := program(text)
	p, problems := readPart(name, text, start, text[start:end], bounded)
	inFences := fences().MatchString(text[start:end]) // which JavaScript may read as templates
	if len(problems) == 0 && p.Idle == nil && !inFences {
		return p, nil
	}
	for _, v := range variants(text, start, end) {
		other, wrong := readPart(name, v.whole, v.start, v.text, bounded)
		if len(wrong) > 0 || other.Idle != nil || other.Unread || v.calls && len(other.Calls) == 0 {
			continue
		}
		if v.whole != text {
			other.origin.Repaired = v.whole
		}
		return other, nil
	}
	if len(problems) > 0 || inFences {
		problems = nameText(name, text, start, end, problems)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

// readPart compiles a part of a text.
func readPart(name, whole string, start int, text string, bounded bool) (*Program, []Problem) {
	c := newCompiler(name, whole, start, text)
	if bounded {
		if f := exceeds(text); f != nil {
			return c.giveUp(*f)
		}
	}
	return c.read()
}

package analysis

import (
	"strings"

	"github.com/codemode-project/codemode/analysis/ecmascript"
)

// enums bounds what the members of enums become. esbuild works them out and
// puts the value in wherever one is used, so that forty lines of "b = a + a"
// would need a terabyte.
type enums struct {
	at    int             // the first enum
	open  []int           // the depth of each enum that is open
	names map[string]bool // of all members
	odd   bool            // a name is not a plain word
	name  bool            // the next token is a member's name

	text, refs, joins int // of one member: its literals in bytes, names, operators that join
	max               int // the longest member so far can be no longer than this
}

func (e *enums) begin(at, depth int) {
	if e.names == nil {
		e.names = map[string]bool{}
		e.at = at
	}
	e.open = append(e.open, depth)
	e.member()
}

func (e *enums) finish() {
	e.member()
	e.open = e.open[:len(e.open)-1]
}

// member ends one member and begins the next.
func (e *enums) member() {
	size := e.text
	if e.joins > 0 {
		size += e.refs * e.max
	}
	e.max = max(e.max, min(size, maxFolded+1))
	e.text, e.refs, e.joins, e.name = 0, 0, 0, true
}

func (e *enums) token(t ecmascript.Token, text string, depth int) {
	if len(e.open) == 0 {
		return
	}
	if depth == e.open[len(e.open)-1] && text == "," {
		e.member()
		return
	}
	switch t.Kind {
	case ecmascript.WordToken, ecmascript.PrivateToken:
		e.refs++
	case ecmascript.StringToken, ecmascript.TemplateToken, ecmascript.TemplateHead, ecmascript.TemplateMiddle, ecmascript.TemplateTail:
		e.text += len(text)
	case ecmascript.NumericToken:
		e.text += 25 // as long as a number is printed
	}
	if text == "+" || t.Kind == ecmascript.TemplateHead {
		e.joins++
	}
	if e.name && (t.Kind == ecmascript.WordToken || t.Kind == ecmascript.StringToken) {
		name := strings.Trim(text, `"'`)
		e.odd = e.odd || strings.ContainsFunc(name, separates)
		e.names[name] = true
		e.text, e.refs, e.name = 0, 0, false
	}
}

// separates says whether r is no part of a plain word.
func separates(r rune) bool {
	return r != '_' && r != '$' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
}

// check says whether the members, put in wherever their names stand, take too much.
func (e *enums) check(text string, tokens int) *fault {
	if e.max == 0 || e.names == nil {
		return nil
	}
	uses := tokens
	if !e.odd {
		uses = strings.Count(text, `\u`)
		for w := range strings.FieldsFuncSeq(text, separates) {
			if e.names[w] {
				uses++
			}
		}
	}
	if e.max > maxFolded || uses*e.max > maxInlined {
		return &fault{at: e.at, len: 1, message: "the members of the enum are too long", hint: "use an object with constant members"}
	}
	return nil
}

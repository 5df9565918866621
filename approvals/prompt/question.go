package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
)

// A question is a rendering under construction: first facts, then warnings, then the words of others.
type question struct {
	printer
	request *Request
	options RenderOptions
	args    string // as laid out
	total   int    // bytes of the arguments
	sum     []byte // the input of their digest
	unnamed bool   // the names of the server and the tool are not shown whole
}

func newQuestion(r *Request, o RenderOptions, l limits, masks *masker) *question {
	q := &question{request: r, options: o}
	if q.width = o.Width; q.width == 0 {
		q.width = defaultWidth
	}
	q.width = max(q.width, leastWidth)
	q.limits, q.masker, q.markdown = l, masks, o.Markdown
	return q
}

// arguments lays out the arguments, to find out what to remark about them and how many lines they take.
func (q *question) arguments() int {
	q.indent = margin
	q.newline(margin)
	q.put("arguments:")
	var written bool
	if q.sources, written = sourcesOf(q.request); written {
		q.put(" (all written in the program)")
		q.sources = nil
	}
	q.printer.arguments(q.request.Args, margin)
	q.args = q.b.String()
	q.total, q.sum = len(q.request.Args), q.request.Args
	q.b.Reset()
	return strings.Count(q.args, "\n")
}

func (q *question) finish() Rendering {
	q.put("A program asks to make this call. Nothing happens before you answer.")
	q.b.WriteByte('\n')
	q.newline(margin)
	q.paint(bold, Heading(q.request))
	q.facts(true)
	q.preview()
	q.plan()
	q.b.WriteByte('\n')
	return q.rendering()
}

func (q *question) rendering() Rendering {
	return Rendering{Text: q.b.String(), Cut: q.cut, Masked: q.masked, Complete: q.complete(), Arguments: q.args}
}

// facts writes everything below the heading except the preview.
func (q *question) facts(code bool) {
	r := q.request
	server, cutServer := Shorten(r.Server)
	tool, cutTool := Shorten(r.Tool)
	q.unnamed = cutServer || cutTool
	q.cut = q.cut || q.unnamed
	if plainName := server + "." + tool; plainName != Heading(r) && r.Server+r.Tool != "" {
		q.label("sent to")
		q.put("server " + server + ", tool " + tool)
	}
	q.label("risk")
	q.risk()
	q.fact("profile", r.Profile)
	q.fact("rule", r.Rule)
	for _, reason := range r.Reasons {
		q.fact("why", reason)
	}
	if code {
		q.fact("code", r.Code)
	}
	q.b.WriteString(q.args)
	q.lookTwice()
	q.claims()
}

func (q *question) label(name string) {
	q.newline(margin)
	q.paint(dim, name)
	q.put(strings.Repeat(" ", labels-len(name)))
}

// fact writes a word or a sentence from the configuration.
func (q *question) fact(name, value string) {
	if value == "" {
		return
	}
	q.label(name)
	q.sentence(value)
}

// sentence writes escaped text without quotation marks, over as many lines as needed.
func (q *question) sentence(s string) {
	shown := words(strings.TrimSpace(s), prose, q.markdown)
	for u := range units(characters(s), prose, false) {
		q.note(u)
	}
	for utf8.RuneCountInString(shown) > q.width-q.column {
		at := len(string([]rune(shown)[:q.width-q.column]))
		if space := strings.LastIndexByte(shown[:at], ' '); space > at/2 {
			at = space + 1
		}
		q.put(shown[:at])
		shown = shown[at:]
		q.bar()
	}
	q.put(shown)
}

func (q *question) risk() {
	switch r := q.request.Risk; r {
	case "":
		q.put("not stated")
	case call.Low:
		q.put(string(r))
	case call.Medium:
		q.paint(yellow, string(r))
	case call.High, call.Critical:
		q.paint(red, string(r))
	default:
		s, _ := Shorten(string(r))
		q.paint(red, s+" (unknown, treated as critical)")
	}
}

// lookTwice warns of what a reader would miss.
func (q *question) lookTwice() {
	var notes []string
	if q.cut {
		notes = append(notes, fmt.Sprintf("not everything is shown: the arguments have %s, sha256 %x",
			counted(q.total, "byte", "bytes"), digest(q.sum)[:8]))
	}
	if q.masked > 0 {
		notes = append(notes, counted(q.masked, "value is hidden: it looks like a secret, or the profile hides it",
			"values are hidden: they look like secrets, or the profile hides them"))
	}
	for _, name := range []struct{ what, name string }{{"server", q.request.Server}, {"tool", q.request.Tool}} {
		if foreign(name.name) {
			shown, _ := Shorten(name.name)
			notes = append(notes, fmt.Sprintf("the name of the %s, %s, has characters that are easily mistaken%s",
				name.what, shown, mixture(name.name)))
		}
	}
	for _, m := range q.seen.mixed {
		notes = append(notes, m+", which look alike")
	}
	if len(q.odd) > 0 {
		n := 0
		var kinds []string
		for _, k := range slices.Sorted(maps.Keys(q.odd)) {
			n += q.odd[k]
			kinds = append(kinds, fmt.Sprintf("%s: %d", k, q.odd[k]))
		}
		notes = append(notes, fmt.Sprintf(`%s, written as \u{...} (%s)`, counted(n, "character does not show as itself",
			"characters do not show as themselves"), strings.Join(kinds, ", ")))
	}
	if q.rtl {
		notes = append(notes,
			"there are letters that run from right to left; what stands next to them may appear in another order")
	}
	for i, n := range notes {
		if i == 0 {
			q.newline(margin)
			q.paint(yellow, "look twice:")
		}
		q.newline(margin + 2)
		q.put("! ")
		q.indent = margin + 2
		q.wrapped(n)
	}
}

func mixture(name string) string {
	if _, alphabets := mixed(characters(name)); alphabets != "" {
		return " and mixes " + alphabets + " letters"
	}
	return ""
}

// wrapped writes one of our remarks, wrapped at words.
func (q *question) wrapped(s string) {
	for i, word := range strings.Fields(s) {
		if q.column+1+utf8.RuneCountInString(word) > q.width {
			q.newline(margin + 4)
		} else if i > 0 {
			q.put(" ")
		}
		q.put(word)
	}
}

// claims shows what the upstream says about its tool, after the facts and marked as the upstream's words.
func (q *question) claims() {
	r := q.request
	if r.Title == "" && r.Description == "" {
		return
	}
	cut := q.cut // cuts below are not part of the call
	q.newline(margin)
	q.put("The server's own words about this tool (not verified):")
	if !q.options.Full {
		q.limits.text = maxClaim
	}
	for _, claim := range []struct{ label, text string }{{"title: ", r.Title}, {"description: ", r.Description}} {
		if claim.text != "" {
			q.newline(margin + 2)
			q.put(claim.label)
			q.text(characters(claim.text), nil)
		}
	}
	q.cut = cut
}

// preview lists the calls that analysis found.
func (q *question) preview() {
	p := q.request.Preview
	if len(p.Calls) == 0 && !p.Dynamic {
		return
	}
	q.newline(margin)
	q.put("Calls seen in the program text (not verified, may be incomplete):")
	for i, c := range p.Calls {
		if i == maxCalls {
			q.newline(margin + 2)
			q.put(fmt.Sprintf("(%d more)", len(p.Calls)-i))
			break
		}
		q.newline(margin + 2)
		q.put(Heading(&Request{Name: c.Name}))
		if c.Line > 0 {
			q.put(fmt.Sprintf(" at line %d, column %d", c.Line, c.Column))
		}
	}
	if p.Dynamic {
		q.newline(margin + 2)
		q.put("and calls whose names are made while the program runs; they are not in this list")
	}
}

// Colours of our own words.
const (
	bold   = "1"
	dim    = "2"
	red    = "1;31"
	yellow = "33"
)

func (q *question) paint(color, s string) {
	if q.options.Color {
		q.b.WriteString("\x1b[" + color + "m")
		defer q.b.WriteString("\x1b[0m")
	}
	q.put(s)
}

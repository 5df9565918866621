package prompt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
)

// A question is a block of a View under construction: first facts, then warnings, then the words of others.
type question struct {
	printer
	request *Request
	options RenderOptions
	block   Block
	total   int    // bytes of the arguments
	sum     []byte // the input of their digest
	unnamed bool   // the names of the server and the tool are not shown whole
}

func newQuestion(r *Request, o RenderOptions, l limits, masks *masker) *question {
	q := &question{request: r, options: o}
	q.width = max(cmp.Or(o.Width, defaultWidth), leastWidth)
	q.limits, q.masker, q.markdown = l, masks, o.Markdown
	return q
}

// arguments lays out the arguments, to find out what to remark about them and how many lines they take.
func (q *question) arguments() {
	q.newline(margin)
	q.put("arguments:")
	var written bool
	if q.sources, written = sourcesOf(q.request); written {
		q.put(" (all written in the program)")
		q.sources = nil
	}
	q.printer.arguments(q.request.Args, margin)
	q.block.Arguments = q.take()
	q.total, q.sum = len(q.request.Args), q.request.Args
}

// about lays out everything about a call except its arguments.
func (q *question) about(heading string, code bool) {
	r := q.request
	q.block.Heading = ours(title, heading)
	server, cutServer := shorten(r.Server)
	tool, cutTool := shorten(r.Tool)
	q.unnamed = cutServer || cutTool
	q.cut = q.cut || q.unnamed
	if plainName := server + "." + tool; plainName != Heading(r) && r.Server+r.Tool != "" {
		q.label("sent to")
		q.put("server " + server + ", tool " + tool)
	}
	q.label("risk")
	q.risk()
	q.facts("profile", r.Profile, "rule", r.Rule)
	for _, reason := range r.Reasons {
		q.facts("why", reason)
	}
	if code {
		q.facts("code", r.Code)
	}
	q.block.Facts = q.take()
	q.lookTwice()
	q.claims()
}

func (q *question) label(name string) {
	q.newline(margin)
	q.paint(label, name)
	q.put(strings.Repeat(" ", labels-len(name)))
}

// facts writes words or sentences from the configuration: names, each followed by its value.
func (q *question) facts(all ...string) {
	for pair := range slices.Chunk(all, 2) {
		if pair[1] != "" {
			q.label(pair[0])
			q.sentence(pair[1])
		}
	}
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
		q.paint(caution, string(r))
	case call.High, call.Critical:
		q.paint(danger, string(r))
	default:
		s, _ := shorten(string(r))
		q.paint(danger, s+" (unknown, treated as critical)")
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
			shown, _ := shorten(name.name)
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
			q.paint(caution, "look twice:")
		}
		q.newline(margin + 2)
		q.put("! ")
		q.wrapped(n)
	}
	q.block.Warnings = q.take()
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
	if !q.options.Whole {
		q.limits.text = maxClaim
	}
	for _, claim := range []struct{ label, text string }{{"title: ", r.Title}, {"description: ", r.Description}} {
		if claim.text != "" {
			q.newline(margin + 2)
			q.put(claim.label)
			q.text(characters(claim.text), nil)
		}
	}
	q.block.Foreign, q.cut = q.take(), cut
}

// preview lists the calls that analysis found.
func (q *question) preview() [][]Span {
	p := q.request.Preview
	if len(p.Calls) == 0 && !p.Dynamic {
		return nil
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
	return q.take()
}

// add adds the block of q, and what is to be known about it.
func (v *View) add(q *question) {
	v.Blocks = append(v.Blocks, q.block)
	v.note(&q.seen)
}

func (v *View) note(s *seen) {
	v.Cut, v.Masked, v.Complete = v.Cut || s.cut, v.Masked+s.masked, v.Complete && s.complete()
}

// alone is the View of a question that is no call: its block, between an opening and a closing.
func (q *question) alone(opening, closing [][]Span) View {
	v := View{Opening: opening, Closing: closing, Complete: true}
	v.add(q)
	v.each = []bool{v.Complete}
	return v
}

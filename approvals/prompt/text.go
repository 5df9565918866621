package prompt

import (
	"fmt"
	"iter"
	"slices"
	"unicode"
)

// A piece is the output for some characters of a text: a unit between quotation marks, or the mark of a secret outside
// them.
type piece struct {
	unit
	mark   string
	secret int // characters of the secret
}

func (p piece) width() int {
	if p.mark != "" {
		return len(p.mark) + len(`" "`)
	}
	return p.unit.width()
}

// lineWeight is the weight of a line end where texts are cut.
const lineWeight = 30

// weight is the weight of x where a text is cut.
func (p *printer) weight(x piece) int {
	if x.r == '\n' && !p.oneLine {
		return x.width() + lineWeight
	}
	return x.width()
}

func (p piece) characters() int { return p.n + p.secret }

// pieces iterates over a text that has some secret spans.
func (p *printer) pieces(cs []rune, secret []span) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		at := 0
		for _, s := range append(slices.Clip(secret), span{from: len(cs), to: len(cs)}) {
			for u := range units(cs[at:s.from], quoted, p.markdown) {
				if !yield(piece{unit: u}) {
					return
				}
			}
			if s.from < s.to && !yield(piece{mark: mark(cs[s.from:s.to], s.what), secret: s.to - s.from}) {
				return
			}
			at = s.to
		}
	}
}

// text writes a string: whole if it is short, else its two ends with the number of characters between them. It shows
// both ends because dangerous parts tend to be at one of them.
func (p *printer) text(cs []rune, secret []span) {
	var head, tail []piece
	headWidth, tailWidth, hidden := 0, 0, 0
	most := p.limits.text - p.limits.text/3
	for x := range p.pieces(cs, secret) {
		if w := p.weight(x); len(tail) == 0 && hidden == 0 && headWidth+w <= most {
			head, headWidth = append(head, x), headWidth+w
			continue
		}
		tail, tailWidth = append(tail, x), tailWidth+p.weight(x)
		for len(tail) > 0 && tailWidth > p.limits.text/3 {
			hidden, tailWidth = hidden+tail[0].characters(), tailWidth-p.weight(tail[0])
			tail = tail[1:]
		}
	}
	out := quoting{printer: p}
	for i := range head {
		out.put(head[i:], hidden == 0 && len(tail) == 0)
	}
	if hidden > 0 {
		p.cut = true
		out.remark("(" + counted(hidden, "character", "characters") + " hidden)")
	}
	for i := range tail {
		out.put(tail[i:], true)
	}
	out.close()
	p.look(slices.Concat(head, tail))
}

// quoting writes pieces, with quotation marks around the data.
type quoting struct {
	*printer
	begun, inside bool
	space         bool // the last piece was a space
}

// put writes the first of some pieces; ending says that nothing follows the last one.
func (q *quoting) put(xs []piece, ending bool) {
	x := xs[0]
	if x.mark != "" {
		q.masked++
		q.large = q.large || x.secret > largeSecret
		q.remark(x.mark)
		return
	}
	if !q.inside {
		if q.begun {
			q.printer.put(" ")
		}
		q.printer.put(`"`)
		if x.raw && unicode.Is(unicode.M, x.r) { // it would sit on the quotation mark
			x.raw = false
		}
		q.begun, q.inside = true, true
	}
	if q.column+x.unit.width() > q.right() || q.space && q.column+word(xs) > q.right() {
		q.bar()
	}
	q.space = x.r == ' '
	q.b.WriteString(x.text())
	q.column += x.unit.width()
	if x.r == '\n' && !(ending && len(xs) == 1) {
		q.bar()
	}
	q.note(x.unit)
}

// word is the width of the text before the next space, or 0 if that is too long for a word.
func word(xs []piece) int {
	w := 0
	for _, x := range xs {
		if x.mark != "" || x.r == ' ' || x.r == '\n' {
			return w
		}
		if w += x.width(); w > longestWord {
			return 0
		}
	}
	return w
}

// longestWord is the longest word that moves to the next line whole.
const longestWord = 24

func (q *quoting) remark(s string) {
	if q.inside {
		q.printer.put(`"`)
	}
	if q.begun {
		q.printer.put(" ")
	}
	q.say(s)
	q.begun, q.inside = true, false
}

func (q *quoting) close() {
	if q.inside || !q.begun {
		if !q.inside {
			q.printer.put(`"`)
		}
		q.printer.put(`"`)
	}
}

// largeSecret is the length above which a masked value may be more than a password or a token.
const largeSecret = 2048

// note counts characters that are not shown unescaped.
func (p *printer) note(u unit) {
	if u.raw || ordinary(u.r) {
		return
	}
	if p.odd == nil {
		p.odd = map[string]int{}
	}
	p.odd[kind(u.r)] += u.n
}

// ordinary reports whether an escaped r needs no warning.
func ordinary(r rune) bool {
	return r == ' ' || short[r] != "" || shows(r) && !unicode.Is(unicode.M, r)
}

// look records what a reader could misread in the text shown.
func (p *printer) look(shown []piece) {
	cs := make([]rune, 0, len(shown))
	for _, x := range shown {
		if x.raw {
			cs = append(cs, x.r)
			p.rtl = p.rtl || rightToLeft(x.r)
		} else {
			cs = append(cs, ' ')
		}
	}
	if word, alphabets := mixed(cs); word != "" && len(p.seen.mixed) < 5 {
		p.seen.mixed = append(p.seen.mixed, fmt.Sprintf("%s mixes %s letters", Quote(word), alphabets))
	}
}

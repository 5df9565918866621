package analysis

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// An origin maps a program's JavaScript to the submitted text. The JavaScript differs from esbuild's output in two
// places: the function around the body is removed, and a wrapper may surround its result.
type origin struct {
	// Workers send these as encoding/gob writes them.
	Output           output // Patched is esbuild's input, without a wrapper
	Start            int    // where the program begins in the submitted text
	Cut, Width       int    // where Width bytes were removed
	Insert, Inserted int    // where bytes were inserted after that
	First            int    // the line of esbuild's input, from 0, where the program begins
	Declared         bool   // what is there is the only statement, a function declaration with another name than main
	DeclaredEnd      int    // where it ends, before the insertion
	Same             bool   // esbuild read nothing: the JavaScript is the submitted text
	Repaired         string // the text that positions are in; "" is the submitted one

	whole *index // the submitted text

	once     sync.Once
	segments []segment
	printed  *index
	read     *index
}

func (o *origin) prepare() {
	o.once.Do(func() {
		o.segments = decode(o.Output.Maps)
		o.printed = newIndex(o.Output.Code)
		o.read = newIndex(o.Output.Patched)
	})
}

// offset returns the offset in the submitted text of the token at an offset of the JavaScript before insertions.
func (o *origin) offset(at int) int {
	o.prepare()
	if at >= o.Cut {
		at += o.Width
	}
	line := o.printed.line(at)
	column := o.printed.unitsBefore(at) - o.printed.unitsBefore(o.printed.lines[line])
	i, exact := find(o.segments, line, column)
	if i < 0 {
		return o.Start
	}
	lex := ecmascript.Lexer{Src: o.Output.Code, Pos: at}
	token := lex.Text(lex.Next(true))
	from := o.sourceOffset(o.segments[i])
	if exact {
		for ; i < len(o.segments) && int(o.segments[i].line) == line && int(o.segments[i].column) == column; i++ {
			if at := o.sourceOffset(o.segments[i]); strings.HasPrefix(o.Output.Patched[at:], token) {
				from = at
				break
			}
		}
	} else if n := strings.Index(o.Output.Patched[from:min(len(o.Output.Patched), from+200)], token); n >= 0 &&
		token != "" {
		from += n
	}
	return o.Start + o.unpatch(from)
}

func (o *origin) sourceOffset(s segment) int {
	return o.read.offset(int(s.sourceLine)-o.First, int(s.sourceColumn))
}

func (o *origin) unpatch(at int) int {
	n, _ := slices.BinarySearch(o.Output.Patches, at)
	return max(at-n*o.Output.PatchLen, 0)
}

// lookup finds a place of js that QuickJS reports: lines and columns from 1, columns in bytes.
func (o *origin) lookup(js string, line, column int) Position {
	at := 0
	for n := 1; n < line; n++ {
		i := strings.IndexByte(js[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	at = min(at+max(column-1, 0), len(js))
	for at > 0 && at < len(js) && !utf8.RuneStart(js[at]) {
		at--
	}
	if o.Same {
		return o.whole.position(o.Start + at)
	}
	if at >= o.Insert {
		at = max(at-o.Inserted, o.Insert)
	}
	return o.whole.position(o.offset(min(at, len(o.Output.Code)-o.Width)))
}

// reference returns the length in code points, on its line, of a reference. It begins at offset from of the submitted
// text; its last part, a name or an index, begins at last.
func (o *origin) reference(from, last int) int {
	lex := ecmascript.Lexer{Src: o.whole.text, Pos: last}
	t := lex.Next(true)
	end := t.End
	if last < from || o.whole.line(end) != o.whole.line(from) {
		lex.Pos = from
		end = lex.Next(true).End
	} else if before := strings.TrimRight(o.whole.text[:last], " \t"); last > from && strings.HasSuffix(before, "[") {
		for depth := 0; t.Kind != ecmascript.EOF && t.Kind != ecmascript.InvalidToken && !t.Newline &&
			depth >= 0; t = lex.Next(false) {
			switch lex.Text(t) {
			case "[", "(", "{":
				depth++
			case "]", ")", "}":
				depth--
			}
			end = t.End
		}
	}
	if o.whole.line(end) != o.whole.line(from) {
		return 0
	}
	return o.whole.runesBefore(end) - o.whole.runesBefore(from)
}

// list adds the walker's findings to the program.
func (p *Program) list(w *walker) {
	o := p.origin
	for _, f := range w.calls {
		from := o.offset(f.start)
		c := Call{
			Name:     f.name,
			Host:     !strings.Contains(f.name, "__"),
			Position: o.whole.position(from),
			Length:   o.reference(from, o.offset(f.last)),
			How:      f.how,
			Args:     f.args,
			Outline:  f.outline,
			Repeats:  f.repeats,
			Tested:   w.tested[f.name],
			Times:    f.times,
			Stage:    f.stage,
			Via:      f.via,
		}
		if f.free == "" {
			p.Calls = append(p.Calls, c)
		} else {
			p.Perhaps = append(p.Perhaps, Perhaps{Free: f.free, Call: &c})
		}
	}
	p.reads(w)
	slices.Sort(w.reads)
	p.Reads = slices.Compact(w.reads)
	slices.SortStableFunc(p.Calls, func(a, b Call) int { return comparePositions(a.Position, b.Position) })
	for _, at := range w.dynamic {
		place := o.whole.position(o.offset(at.at))
		p.Lists = p.Lists || at.whole
		if at.free == "" {
			p.Dynamic = append(p.Dynamic, place)
		} else {
			p.Perhaps = append(p.Perhaps, Perhaps{Free: at.free, At: place})
		}
	}
	slices.SortFunc(p.Dynamic, comparePositions)
	p.Dynamic = slices.Compact(p.Dynamic)
}

func comparePositions(a, b Position) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}

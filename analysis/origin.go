package analysis

import (
	"cmp"
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

// A segment of a source map maps a place in the output to a place in the source. All numbers count from 0, columns in
// UTF-16 code units.
type segment struct {
	line, column             int32
	sourceLine, sourceColumn int32
}

// decode reads the mappings of a source map: lines end with ";", segments with ",", and a segment is four or five
// numbers in base 64, each the difference from the one before. It stops at the first part that it does not understand.
func decode(mappings string) []segment {
	segments := make([]segment, 0, strings.Count(mappings, ",")+1)
	var at segment
	for i := 0; i < len(mappings); {
		switch mappings[i] {
		case ';':
			at.line++
			at.column = 0
			i++
			continue
		case ',':
			i++
			continue
		}
		var field [5]int32
		n := 0
		for ; n < len(field) && i < len(mappings) && mappings[i] != ',' && mappings[i] != ';'; n++ {
			var size int
			if field[n], size = vlq(mappings[i:]); size == 0 {
				return segments
			}
			i += size
		}
		at.column += field[0]
		if n < 4 {
			continue
		}
		at.sourceLine += field[2]
		at.sourceColumn += field[3]
		segments = append(segments, at)
	}
	return segments
}

// vlq reads one number: five bits a digit, the lowest first, the sixth bit
// says that more follow, and the lowest bit of all is the sign.
func vlq(s string) (value int32, size int) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var n uint32
	for i := range min(len(s), 7) {
		d := strings.IndexByte(digits, s[i])
		if d < 0 {
			break
		}
		n |= uint32(d&31) << (5 * i)
		if d < 32 {
			value = int32(n >> 1)
			if n&1 != 0 {
				value = -value
			}
			return value, i + 1
		}
	}
	return 0, 0
}

// find returns the first segment at a place, or else the last one before it on
// the same line; -1 if there is none.
func find(segments []segment, line, column int) (i int, exact bool) {
	i, exact = slices.BinarySearchFunc(segments, segment{line: int32(line), column: int32(column)},
		func(a, b segment) int {
			return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
		})
	if !exact {
		i--
	}
	if i < 0 || int(segments[i].line) != line {
		return -1, false
	}
	return i, exact
}

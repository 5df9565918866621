package analysis

import (
	"cmp"
	"slices"
	"strings"
)

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

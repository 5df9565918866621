package records

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Position is a place in the record: a number for each chain. Chains have no common order that stays the same when an
// entry comes late, so no single number is a place. Clients keep it as a word.
type Position map[int64]int64

// mostChains bounds the chains of a position that a client sends.
const mostChains = 10_000

// String writes a position as a word such as 1-345.2-17.
func (p Position) String() string {
	var b strings.Builder
	for _, chain := range slices.Sorted(maps.Keys(p)) {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		fmt.Fprintf(&b, "%d-%d", chain, p[chain])
	}
	return b.String()
}

// Within reports whether a record that ends at a place has all of p.
func (p Position) Within(end Position) bool {
	for chain, seq := range p {
		if seq > end[chain] {
			return false
		}
	}
	return true
}

// ParsePosition reads what String writes.
func ParsePosition(text string) (Position, error) {
	p := Position{}
	for part := range strings.SplitSeq(text, ".") {
		chain, seq, _ := strings.Cut(part, "-")
		c, err := strconv.ParseInt(chain, 10, 64)
		n, err2 := strconv.ParseInt(seq, 10, 64)
		if err != nil || err2 != nil || c < 1 || n < 0 || len(p) == mostChains {
			return nil, errors.New("that is no place in the record: repeat it as it was given")
		}
		p[c] = n
	}
	return p, nil
}

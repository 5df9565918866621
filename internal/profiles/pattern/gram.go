package pattern

// A Gram is up to three bytes, with their number in the lowest byte.
type Gram uint32

// GramLength is the length of the longest gram in bytes.
const GramLength = 3

// NewGram is the gram of up to three bytes.
func NewGram(s string) Gram {
	g := Gram(len(s))
	for i := range len(s) {
		g |= Gram(s[i]) << (8 * (i + 1))
	}
	return g
}

package profiles

import (
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold gives text as a lenient upstream might read it: compatibility characters replaced
// (NFKC) and case folded. Two texts that look alike to such an upstream fold to the same.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	// Folding can undo the normal form (U+0345 is one case), so it is made again.
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// foldedMost is how long a text may be that is folded anew for each rule that asks.
const foldedMost = 1 << 10

// folded is the text of a value, folded. That of a long one is remembered: there may be many rules.
func (v value) folded() string {
	if len(v.node.Text()) <= foldedMost || v.args == nil {
		return fold(v.node.Text())
	}
	folded, ok := v.args.folded[v.node]
	if !ok {
		folded = fold(v.node.Text())
		if v.args.folded == nil {
			v.args.folded = map[strictjson.Value]string{}
		}
		v.args.folded[v.node] = folded
	}
	return folded
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i]&0x80 != 0 {
			return false
		}
	}
	return true
}

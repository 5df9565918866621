package profiles

import (
	"fmt"

	"github.com/codemode-project/codemode/call"
)

// Differ says in a sentence how another profile's decision on a call differs from the one
// that counts; "" if the same would happen. That the same verdict has other reasons is no
// difference.
func Differ(counts, other call.Decision) string {
	if counts.Verdict == other.Verdict {
		return ""
	}
	r := other.Reasons[0]
	if r.Rule == "" {
		return fmt.Sprintf("%s instead of %s: %s", other.Verdict, counts.Verdict, r.Text)
	}
	return fmt.Sprintf("%s instead of %s: the rule %q at %s", other.Verdict, counts.Verdict, r.Rule, r.Pos)
}

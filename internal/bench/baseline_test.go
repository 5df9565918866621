package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
)

// A Baseline lists the tests that are known to fail, with the reason. A line is
//
//	built-ins/Array/from/x.js: engine
//	language/expressions/y.js strict: absent by design: modules
//
// The first is about all variants of the test, the second about one. A reason
// is "engine" when the same engine fails natively too, "absent by design: "
// and what, or "unexplained: " and what was seen, which nobody should leave so.
// Lines that are empty or begin with # say nothing.
type Baseline struct{ lines []known }

type known struct{ test, variant, reason string }

type knownKey struct{ test, variant string }

const (
	ofEngine    = "engine"
	byDesign    = "absent by design: "
	unexplained = "unexplained: "
)

// ReadBaseline reads a list of known failures.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	b := &Baseline{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok || reason != ofEngine && !strings.HasPrefix(reason, byDesign) && !strings.HasPrefix(reason, unexplained) {
			return nil, fmt.Errorf("line %d: it has to be a test, a colon and a reason: %q, %q or %q", n, ofEngine, byDesign+"…",
				unexplained+"…")
		}
		k := known{test: name, reason: reason}
		if test, variant, ok := strings.Cut(name, " "); ok {
			if variant != sloppy && variant != strict {
				return nil, fmt.Errorf("line %d: %q is neither %s nor %s", n, variant, sloppy, strict)
			}
			k.test, k.variant = test, variant
		}
		b.lines = append(b.lines, k)
	}
	return b, lines.Err()
}

func (k known) String() string {
	if k.variant == "" {
		return k.test + ": " + k.reason
	}
	return k.test + " " + k.variant + ": " + k.reason
}

// passing lists the variants that the line is about and that do not fail.
func (k known) passing(variants []string, failed map[knownKey]bool) []string {
	if k.variant != "" {
		variants = []string{k.variant}
	}
	return slices.DeleteFunc(slices.Clone(variants), func(v string) bool { return failed[knownKey{k.test, v}] })
}

func (b *Baseline) all() []known {
	if b == nil {
		return nil
	}
	return b.lines
}

// reason is why a test is known to fail; "" says that it is not.
func (b *Baseline) reason(test, variant string) string {
	for _, k := range b.all() {
		if k.test == test && (k.variant == "" || k.variant == variant) {
			return k.reason
		}
	}
	return ""
}

// Baseline writes the failures of the report as a list of known ones, with the
// reasons that old gives. Lines of old about tests that did not run stay.
func (r *LanguageReport) Baseline(old *Baseline) []byte {
	lines := slices.DeleteFunc(slices.Clone(old.all()), func(k known) bool { return keeps(r.filter, k.test) })
	for i := 0; i < len(r.Failures); {
		test := r.Failures[i].Test
		var group []known
		for ; i < len(r.Failures) && r.Failures[i].Test == test; i++ {
			f := r.Failures[i]
			group = append(group, known{test, f.Variant, cmp.Or(old.reason(test, f.Variant), unexplained+visible.Line(f.Detail))})
		}
		alike := !slices.ContainsFunc(group, func(k known) bool { return k.reason != group[0].reason })
		if alike && len(group) == len(r.variants[test]) {
			group = []known{{test, "", group[0].reason}}
		}
		lines = append(lines, group...)
	}
	slices.SortStableFunc(lines, func(a, b known) int { return strings.Compare(a.test, b.test) })
	var b bytes.Buffer
	b.WriteString(baselineTop)
	for _, k := range lines {
		fmt.Fprintln(&b, k)
	}
	return b.Bytes()
}

const baselineTop = `# The tests of test262 (language and built-ins, script tests) that are known to
# fail, with the reason; see make test262.
#
# engine: the same engine, run natively, fails them too.
# global scripts: a program is the body of a function and there are no scripts, so the
# tests are evaluated by indirect eval: there, variables of strict code and all of let, const and
# class are local, and those of sloppy code can be deleted. Natively, evaluated so, they fail alike.
`

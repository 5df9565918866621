package profiles

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A glob is a pattern over names, or over text in the operator "glob". The grammar is
//
//   - any characters, none too, "/" like any other
//     ?        one character
//     [a-z_]   one of these characters; [^...] and [!...] one of the others
//     {a,b}    one of these patterns
//     \c       the character c itself
//
// Case matters and a glob has to fit the whole text. On names without "/" this is what
// doublestar and picomatch understand too; what only one of them understands (extglobs,
// a leading !, {1..3}, [[:alpha:]]) is an error, because such a rule would mean something
// else than its author thinks.
//
// Matching takes time proportional to pattern times text at worst.
type glob struct {
	alternatives []sequence
}

// A sequence is a glob without braces, cut at its stars: the first run stands at the
// start of the text, the last at its end, the others somewhere between in that order.
type sequence struct {
	runs []run
}

// A run matches a fixed number of characters.
type run struct {
	atoms      []atom
	characters int
}

// An atom is a literal text, or one character out of a class.
type atom struct {
	literal string
	class   *class // nil = the literal
}

// A class is a set of characters; without ranges and negated it is every character.
type class struct {
	negated bool
	ranges  []characterRange
}

type characterRange struct{ low, high rune }

func (c *class) contains(r rune) bool {
	for _, x := range c.ranges {
		if x.low <= r && r <= x.high {
			return !c.negated
		}
	}
	return c.negated
}

// containsOtherCase reports whether r in another case is in the class.
func (c *class) containsOtherCase(r rune) bool {
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		if c.contains(other) {
			return true
		}
	}
	return false
}

func (g *glob) match(s string) bool {
	for i := range g.alternatives {
		if g.alternatives[i].match(s, false) {
			return true
		}
	}
	return false
}

// covers reports whether g matches every text that begins with prefix, as far as that is easy to see.
func (g *glob) covers(prefix string) bool {
	return slices.ContainsFunc(g.alternatives, func(q sequence) bool {
		last := len(q.runs) - 1
		return last > 0 && len(q.runs[last].atoms) == 0 && q.match(prefix, false)
	})
}

// mayBegin reports whether g matches some text that begins with prefix, which is ASCII.
func (g *glob) mayBegin(prefix string) bool {
	return slices.ContainsFunc(g.alternatives, func(q sequence) bool {
		rest := prefix
		for _, a := range q.runs[0].atoms {
			n := 1
			if a.class == nil {
				n = min(len(a.literal), len(rest))
			}
			switch {
			case rest == "":
				return true
			case a.class == nil && a.literal[:n] != rest[:n], a.class != nil && !a.class.contains(rune(rest[0])):
				return false
			}
			rest = rest[n:]
		}
		return rest == "" || len(q.runs) > 1
	})
}

// matchFolded is match for a folded glob and folded text; see [glob.folded].
func (g *glob) matchFolded(s string) bool {
	for i := range g.alternatives {
		if g.alternatives[i].match(s, true) {
			return true
		}
	}
	return false
}

func (q *sequence) match(s string, folded bool) bool {
	first := &q.runs[0]
	n, ok := first.matchPrefix(s, folded)
	if !ok {
		return false
	}
	s = s[n:]
	if len(q.runs) == 1 {
		return s == ""
	}
	for i := 1; i < len(q.runs)-1; i++ {
		if s, ok = q.runs[i].find(s, folded); !ok {
			return false
		}
	}
	last := &q.runs[len(q.runs)-1]
	at := len(s)
	for range last.characters {
		if at == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	n, ok = last.matchPrefix(s[at:], folded)
	return ok && n == len(s)-at
}

// matchPrefix gives how many bytes of s the run takes, if s begins with it.
func (r *run) matchPrefix(s string, folded bool) (n int, ok bool) {
	for i := range r.atoms {
		a := &r.atoms[i]
		if a.class == nil {
			if !strings.HasPrefix(s[n:], a.literal) {
				return 0, false
			}
			n += len(a.literal)
			continue
		}
		if n == len(s) {
			return 0, false
		}
		c, size := utf8.DecodeRuneInString(s[n:])
		if !a.class.contains(c) && !(folded && a.class.containsOtherCase(c)) {
			return 0, false
		}
		n += size
	}
	return n, true
}

// find gives what follows the first place in s where the run fits.
func (r *run) find(s string, folded bool) (rest string, ok bool) {
	for s != "" {
		if n, ok := r.matchPrefix(s, folded); ok {
			return s[n:], true
		}
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return "", false
}

// folded is the glob with its literals folded as [fold] does, for matchFolded.
func (g *glob) folded() *glob {
	f := &glob{alternatives: make([]sequence, len(g.alternatives))}
	for i, q := range g.alternatives {
		f.alternatives[i].runs = make([]run, len(q.runs))
		for j, r := range q.runs {
			atoms := make([]atom, len(r.atoms))
			for k, a := range r.atoms {
				atoms[k] = atom{literal: fold(a.literal), class: a.class}
			}
			f.alternatives[i].runs[j] = newRun(atoms)
		}
	}
	return f
}

func newRun(atoms []atom) run {
	r := run{atoms: atoms}
	for _, a := range atoms {
		if a.class == nil {
			r.characters += utf8.RuneCountInString(a.literal)
		} else {
			r.characters++
		}
	}
	return r
}

// literal gives the only text the sequence matches, if there is only one.
func (q *sequence) literal() (string, bool) {
	if len(q.runs) != 1 || len(q.runs[0].atoms) > 1 {
		return "", false
	}
	if len(q.runs[0].atoms) == 0 {
		return "", true
	}
	a := q.runs[0].atoms[0]
	return a.literal, a.class == nil
}

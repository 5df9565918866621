package requeststate

import (
	"strings"
	"testing"
)

// FuzzState: whatever comes as a state, it is what was sealed or it is refused.
func FuzzState(f *testing.F) {
	s := NewSealer(nil)
	good := s.Seal(&Claims{Exchange: "x", Round: 1, Tool: "t", Expires: 1 << 40})
	for _, seed := range []string{good, "", "v1.", "v1.AAAA", "v2." + good[3:], good + "=", good[:len(good)-1],
		strings.ToUpper(good), good + "\n", NewSealer([]byte(strings.Repeat("k", KeyBytes))).Seal(&Claims{})} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, state string) {
		c, err := s.Open(state)
		switch {
		case err == nil && state != good:
			t.Errorf("%q was opened as %+v", state, c)
		case err != nil && state == good:
			t.Error("what was sealed is refused")
		}
	})
}

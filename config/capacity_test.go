package config

import (
	"fmt"
	"strings"
	"testing"
)

// Capacities are read from files that have a say in the process, and nonsense is refused where it stands.
func TestCapacity(t *testing.T) {
	for _, test := range []struct{ value, want string }{
		{`{"guestMemory": "8GiB", "waitingRuns": 100, "waitingMemory": "64MiB", "sessions": 8, "requests": 5000}`, ""},
		{`{}`, ""},
		{`{"guestMemory": 0}`, "c.json:2:29"},
		{`{"guestMemory": "lots"}`, "c.json:2:29"},
		{`{"guestMemory": "1KiB"}`, "at least 1MiB"},
		{`{"guestMemory": "2000000GiB"}`, "c.json:2:29"},
		{`{"guestMemory": -1}`, "c.json:2:29"},
		{`{"sessions": 7}`, "at least 8"},
		{`{"sessions": "100"}`, "without quotes"},
		{`{"requests": 1.5}`, "whole number"},
		{`{"requests": 99999999999}`, "at most"},
		{`{"requsts": 100}`, `did you mean "requests"?`},
		{`"8GiB"`, "c.json:2:13"},
		{`{"sessions": 8, "sessions": 9}`, "c.json:2"},
	} {
		c, err := Parse("c.json", []byte("{\n\"capacity\": "+test.value+"}"))
		if test.want == "" && (err != nil || c.Capacity == nil) ||
			test.want != "" && (err == nil || !strings.Contains(fmt.Sprint(err), test.want)) {
			t.Errorf("%s: got %v, want %q", test.value, err, test.want)
		}
	}
	give := func(standing Standing, sessions int) Source {
		return Source{File: standing.String(), Data: fmt.Appendf(nil, `{"capacity": {"sessions": %d}}`, sessions),
			Standing: standing}
	}
	for _, test := range []struct {
		what  string
		files []Source
		want  int
	}{
		{"the user's file", []Source{give(User, 100)}, 100},
		{"the managed file goes before the user's", []Source{give(Managed, 50), give(User, 100)}, 50},
		{"a project has no say", []Source{give(User, 100), give(Untrusted, 9000)}, 100},
		{"a trusted project has none either", []Source{give(User, 100), give(Trusted, 9000)}, 100},
	} {
		c, err := ParseAll(nil, test.files...)
		if err != nil || c.Capacity == nil || c.Capacity.Sessions != test.want {
			t.Errorf("%s: %+v, %v", test.what, c, err)
		}
	}
}

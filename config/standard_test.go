package config_test

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode/config"
)

func TestStandard(t *testing.T) {
	for _, row := range []struct{ in, out, err string }{
		{"\ufeff// one\n{ \"a\": [1e2, /* two */ \"x\",], }", `{"a":[1e2,"x"]}`, ""},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`, ""}, // which of them counts is for its reader to say
		{`{"a": }`, "", "settings.json:1:7"},
		{"", "", "settings.json:1:1"},
		{"\xff\xfe{", "", "UTF-16"},
	} {
		out, err := config.Standard("settings.json", []byte(row.in))
		switch {
		case row.err == "" && (err != nil || string(out) != row.out):
			t.Errorf("%q: got %s, %v; want %s", row.in, out, err, row.out)
		case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)):
			t.Errorf("%q: got %v, want an error with %s", row.in, err, row.err)
		}
	}
}

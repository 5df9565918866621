package terminal

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
)

// A call of high risk that is longer than the terminal is shown page by page before its code is asked for.
func TestATerminalShowsAHighRiskToItsEnd(t *testing.T) {
	long := json.RawMessage(`{"script":"` + strings.Repeat("make all; ", 200) + `rm -rf /end"}`)
	tests := []struct {
		why   string
		risk  call.Risk
		rows  int
		typed []string
		allow bool
		pages int
	}{
		{"it fits", call.High, 80, []string{"yes 7f3a"}, true, 0},
		{"no terminal", call.High, 0, []string{"yes 7f3a"}, true, 0},
		{"three pages", call.High, 18, []string{"", "", "yes 7f3a"}, true, 2},
		{"a yes before the end is none", call.High, 18, []string{"yes 7f3a", "yes 7f3a", "no"}, false, 2},
		{"a no before the end is one", call.High, 18, []string{"no not that"}, false, 1},
		{"a medium risk is shown at once", call.Medium, 22, []string{"yes"}, true, 0},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			in, keyboard := io.Pipe()
			defer keyboard.Close()
			out := newScreen()
			c := New(in, out, Options{Plain: true})
			c.rows = func() int { return test.rows }
			r := request(test.risk)
			r.Args = long
			go func() {
				for i, l := range test.typed {
					before := out.wait("Type ", i+1)
					last := before[strings.LastIndex(before[:strings.LastIndex(before, "Type ")], "Type ")+1:]
					if n := strings.Count(last, "\n"); test.risk == call.High && test.rows > 0 && n > test.rows {
						t.Errorf("%d lines at once on a terminal of %d", n, test.rows)
					}
					io.WriteString(keyboard, l+"\n")
				}
			}()
			reply, err := c.Ask(t.Context(), &approvals.Showing{Request: r})
			if err != nil || (reply.Allowed) != test.allow {
				t.Errorf("got %+v, %v\n%s", reply, err, out.text)
			}
			if got := strings.Count(out.text, "Type Enter for the next of "); got != test.pages {
				t.Errorf("%d pages, want %d:\n%s", got+1, test.pages+1, out.text)
			}
			if test.allow && !strings.Contains(out.text, "rm -rf /end") {
				t.Error("the end was not shown")
			}
		})
	}
}

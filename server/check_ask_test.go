package server_test

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode/server"
)

// N2: a check lets the person allow the calls of a program before it runs, in both generations of the protocol. One run
// of it then needs no question.
func TestN2ACheckLetsThePersonAllowThePlan(t *testing.T) {
	const program = `for (const i of [1, 2, 3]) await codemode.filesystem__write_file({path: i + ".md", content: "x"}); return "all"`
	const config = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"], "remember": {"scopes": ["run"]}}}}}`
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, row := range []struct {
			why, decision string
			ask           bool
			text          string // in the answer to the check
			checked, ran  int    // questions of each
		}{
			{"allowed", "allow_once", true, "A person allowed these calls for one run of this program", 1, 0},
			{"refused", "deny", true, "The calls were not allowed beforehand", 1, 3},
			{"not asked", "allow_once", false, "", 0, 3},
		} {
			t.Run(version+" "+row.why, func(t *testing.T) {
				h := open(t, config, server.Options{Principal: "local:anna"})
				decision := row.decision
				c := h.connect(fills(func(string) string { return decision }), version)
				args := map[string]any{"code": program, "profile": "p"}
				if row.ask {
					args["ask"] = true
				}
				text, failed := c.call("codemode_check", args)
				asked := c.questions()
				if failed || !strings.Contains(text, row.text) || len(asked) != row.checked {
					t.Errorf("%d questions, and got\n%s", len(asked), text)
				}
				if row.ask && (len(asked) == 0 || !strings.Contains(asked[0], "further calls of line 1 (50 at most), with")) {
					t.Errorf("asked %q", asked)
				}
				if h.holds("1.md") {
					t.Error("the check has run the program")
				}
				decision = "allow_once"
				if text, failed := c.eval("codemode_eval_p", program); failed || !strings.HasPrefix(below(text), `"all"`) {
					t.Errorf("got\n%s", text)
				}
				if n := len(c.questions()) - len(asked); n != row.ran {
					t.Errorf("%d questions in the run, want %d", n, row.ran)
				}
			})
		}
	}
}

// What is no true or false in ask is refused, and a program that would not get through is not put to anybody.
func TestACheckAsksNobodyInVain(t *testing.T) {
	h := open(t, checked, server.Options{})
	c := h.connect(fills(func(string) string { return "allow_once" }), "")
	if text, failed := c.call("codemode_check", map[string]any{"code": "return 1", "ask": "yes"}); !failed ||
		!strings.Contains(text, "true or false") {
		t.Errorf("got %s", text)
	}
	text, failed := c.call("codemode_check", map[string]any{"code": threeOfFive, "profile": "careful", "ask": true})
	if failed || !strings.Contains(text, "would not get through") || len(c.questions()) != 0 {
		t.Errorf("asked %v, and got\n%s", c.questions(), text)
	}
}

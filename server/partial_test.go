package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/server"
)

// A form that hides the middle of a call allows only the others that came with it. The hidden one is allowed on the
// page, where it can be read whole, and the form says so; where there is no page, the program reads what is missing.
func TestP39_13ACallThatAFormHidesIsAllowedOnThePage(t *testing.T) {
	const program = `
		const long = "x ".repeat(2000) + "; rm -rf ~; " + "x ".repeat(2000);
		const write = async (path, content) => { try { await codemode.filesystem__write_file({path, content}); return "ok" } catch (e) { return e.reason + ": " + e.detail } };
		return (await Promise.all([write("a.md", "short"), write("long.md", long), write("c.md", "short")])).join(" | ");`
	const rules = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"]}}}}`
	yes := fills(func(string) string { return "allow_once" })
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, there := range []bool{true, false} {
			page := approvals.NewStrongQueue("web")
			page.Where = approvals.OnPage
			h := open(t, rules, server.Options{}, func(o *codemode.Options) {
				if there {
					o.Channels = []approvals.Channel{page}
				}
			})
			c := h.connect(yes, version)
			if there {
				seat := page.Sit("ben")
				defer seat.Leave()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				go func() {
					for ctx.Err() == nil {
						if all := seat.Pending(); len(all) == 1 && strings.Contains(string(all[0].Request.Args), "long.md") {
							_ = seat.Answer(all[0].Request.ID, all[0].Request.Digest, "", call.Answer{Allowed: true})
							return
						}
						time.Sleep(10 * time.Millisecond) // the calls that the form allows are still pending
					}
				}()
			}
			text, failed := c.eval("codemode_eval_p", program)
			value := below(text)
			if failed || !strings.HasPrefix(value, `"ok | `) || !strings.Contains(value, ` | ok"`) {
				t.Errorf("%s, page %t: the calls that are shown whole: %s", version, there, text)
			}
			if h.holds("long.md") != there || !there && !strings.Contains(value, "no_approver") {
				t.Errorf("%s, page %t: the hidden call: written %t, %s", version, there, h.holds("long.md"), value)
			}
			form := strings.Join(c.questions(), "\n")
			if !strings.Contains(form, "This form can only refuse call 2: the call is too large to be shown whole here. "+
				"A person answers on the page") || len(c.questions()) != 1 {
				t.Errorf("%s, page %t: %d forms:\n%s", version, there, len(c.questions()), form)
			}
			if !there && !strings.Contains(value, "A person answers on the page alone") {
				t.Errorf("%s: the program does not read where people answer: %s", version, value)
			}
		}
	}
}

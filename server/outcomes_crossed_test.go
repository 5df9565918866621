package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/server"
)

// Whatever transport and generation of the protocol a client speaks, what its person does has one outcome, in the same
// time. There is a page in each case, and nobody ever opens it.
func TestWhatAPersonDoesHasOneOutcomeOnEveryTransport(t *testing.T) {
	const soon = 5 * time.Second // the question itself waits for 6
	houses, urls := map[string]*house{}, map[string]string{}
	for fallback, said := range map[string]string{"": "", "deny": `, "elicitationFallback": "deny"`,
		"allow": `, "elicitationFallback": "allow"`} {
		h := open(t, fmt.Sprintf(`{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"],
			"ask": {"timeout": "6s"}%s}}}}`, said), server.Options{}, func(o *codemode.Options) {
			o.Channels = []approvals.Channel{approvals.NewStrongQueue("web")}
		})
		houses[fallback], urls[fallback] = h, h.listen()
	}
	human := func(action string, content map[string]any) person {
		return func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			time.Sleep(350 * time.Millisecond) // a person needs longer than a client that answers by itself
			return &mcp.ElicitResult{Action: action, Content: content}, nil
		}
	}
	hang := func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		select { // in 2026-07-28 the client waits by itself, and learns of the outcome when it comes back
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(7 * time.Second):
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
		}
	}
	for _, row := range []struct {
		does               string
		person             person
		unset, deny, allow string // by elicitationFallback
		forms              int
	}{
		{"no elicitation", nil, "timeout", "elicitation_unsupported", "sent", 0},
		{"accept", human("accept", map[string]any{"decision": "allow_once"}), "sent", "sent", "sent", 1},
		{"decline", human("decline", nil), "elicitation_declined", "elicitation_declined", "elicitation_declined", 1},
		{"cancel", human("cancel", nil), "canceled", "canceled", "canceled", 1},
		{"unclear", human("accept", map[string]any{"decision": "allow_once", "also": true}), "no_approver", "no_approver",
			"no_approver", 2},
		{"hang", hang, "timeout", "timeout", "timeout", 1},
	} {
		for fallback, want := range map[string]string{"": row.unset, "deny": row.deny, "allow": row.allow} {
			for _, version := range []string{"2025-11-25", "2026-07-28"} {
				for _, http := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/fallback %q/%s/http %t", row.does, fallback, version, http), func(t *testing.T) {
						t.Parallel()
						h, file := houses[fallback], fmt.Sprintf("%s-%s-%t.md", strings.ReplaceAll(row.does, " ", "-"), version, http)
						var c *client
						if http {
							c = h.connectHTTPOn(urls[fallback], row.person, version)
						} else {
							c = h.connect(row.person, version)
						}
						begun := time.Now()
						text, _ := c.eval("codemode_eval_p", fmt.Sprintf(`try {
								await codemode.filesystem__write_file({path: %q, content: "x"}); return "sent" } catch (e) { return e.reason }`, file))
						if took := time.Since(begun); !strings.HasPrefix(below(text), `"`+want+`"`) || want != "timeout" && took > soon {
							t.Errorf("after %v:\n%s\nwant %s", took, text, want)
						}
						if h.holds(file) != (want == "sent") || len(c.questions()) != row.forms {
							t.Errorf("written: %t, %d forms", h.holds(file), len(c.questions()))
						}
					})
				}
			}
		}
	}
}

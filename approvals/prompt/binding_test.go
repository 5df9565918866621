package prompt

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
)

// Such arguments are shown as bytes, come from nowhere that is known, and are covered by no grant, whatever it covers.
func TestRefusedArgumentsAreCoveredByNothing(t *testing.T) {
	for _, args := range refusedArgs {
		r := request(call.Medium)
		r.Args, r.Run = json.RawMessage(`{"a":1}`), "r_1"
		r.Terms = Terms{Scopes: []call.Scope{call.ForRun}, Args: coverAny}
		g, err := r.Draft(call.Answer{Scope: call.ForRun}, time.Now())
		if err != nil || !g.Covers(r, time.Now()) {
			t.Fatalf("%v, %v", g, err)
		}
		r.Args = json.RawMessage(args)
		if g.Covers(r, time.Now()) {
			t.Errorf("a grant for any arguments covers %q", args)
		}
		for _, coverage := range []string{coverExact, coverRule, coverAny} {
			r.Terms.Args, r.Terms.Pointers = coverage, []string{"/a"}
			if g, err := r.Draft(call.Answer{Scope: call.ForRun}, time.Now()); err == nil {
				t.Errorf("%s: a yes to %q is remembered: %+v", coverage, args, g)
			}
		}
		if _, err := Sketch(r.Args, []string{""}, nil); err == nil {
			t.Errorf("%q are planned", args)
		}
		if (&Envelope{Free: []string{""}}).holds(r.Args) {
			t.Errorf("a plan with any arguments holds %q", args)
		}
		for _, shown := range []string{Text(r, RenderOptions{}), Summary(r), Shown(r.Args, Display{}),
			Rows([]*Request{r, r})[0]} {
			if checkInert(t, shown); !strings.Contains(shown, "(not strict JSON, ") {
				t.Errorf("%q are shown as\n%s", args, shown)
			}
		}
	}
}

package prompt

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// foretold is a question about the plan of a program that does not run yet.
func foretold(t *testing.T, principal string) *Request {
	t.Helper()
	line := write("")
	line.Principal = principal
	plan, err := PlanGrants([]PlannedCall{{Call: line, Envelope: Envelope{Fixed: []Value{{"/path", `"/data/a"`}}},
		Count: 1, At: 3}}, "r7", time.Now())
	checktest.OK(t, err)
	r := &Request{Profile: line.Profile, ProfileDigest: line.ProfileDigest, Risk: call.Medium, Principal: principal,
		Session: "s1", Run: "r7", Code: "7f3a"}
	checktest.OK(t, r.PlanAhead("sha256:00112233445566778899", plan))
	return r
}

// N2: a plan allowed before the run is a grant for one run. By itself it answers for no call, and never for another
// session's where nobody knows the principal.
func TestN2APlanAllowedAheadIsForOneRun(t *testing.T) {
	now := time.Now()
	r := foretold(t, "local:anna")
	g, err := r.DraftAhead(now.Add(10*time.Minute), now)
	checktest.OK(t, err)
	if g.Uses != 1 || g.Run != "" || g.Expires.Sub(now) != 10*time.Minute || g.Key() != AheadKey("local:anna", r.Profile,
		r.Definition) {
		t.Errorf("got %+v", g)
	}
	if want := `one run of the program 001122334455: fs.write with /path "/data/a", once`; g.Allows() != want {
		t.Errorf("it allows %q, want %q", g.Allows(), want)
	}
	made := write("/data/a")
	made.Run, made.Args = "r9", []byte(`{"path":"/data/a"}`)
	if g.Covers(made, now) {
		t.Error("it answers for a call by itself")
	}
	lines := g.For("r9", "")
	if len(lines) != 1 || !lines[0].Covers(made, now) || lines[0].ID != g.ID+"_1" || g.Lines[0].Run != "r7" {
		t.Errorf("lines %+v", lines)
	}
	for why, got := range map[string][]*Grant{"no run": g.For("", ""), "a line": lines[0].For("r9", ""),
		"the plan of a run": func() []*Grant {
			in := *g
			in.Run = "r7"
			return in.For("r9", "")
		}()} {
		if len(got) > 0 {
			t.Errorf("%s: %v", why, got)
		}
	}
	if long, err := r.DraftAhead(now.Add(100*time.Hour), now); err != nil ||
		long.Expires.Sub(now) > defaultMaxGrant+time.Minute {
		t.Errorf("it outlasts what the profile lets it: %v, %v", long, err)
	}

	nameless, err := foretold(t, "").DraftAhead(now.Add(time.Minute), now)
	checktest.OK(t, err)
	if nameless.For("r9", "s2") != nil || len(nameless.For("r9", "s1")) != 1 {
		t.Error("what was allowed in a session without a principal is for that session")
	}
	nobody := foretold(t, "")
	nobody.Session = ""
	if _, err := nobody.DraftAhead(now.Add(time.Minute), now); !errors.Is(err, errNotOffered) {
		t.Errorf("nobody's: %v", err)
	}

	// What is answered is bound to the lines that were shown.
	other := foretold(t, "local:anna")
	checktest.OK(t, other.PlanAhead(other.Definition, append(other.Plan, other.Plan[0])))
	a, err1 := r.Bind(now)
	b, err2 := other.Bind(now)
	if a == b || err1 != nil || err2 != nil {
		t.Errorf("two plans have one digest: %v, %v", err1, err2)
	}
	for where, o := range map[string]RenderOptions{"plain": {}, "narrow": {Width: 40}, "Markdown": {Markdown: true}} {
		shown := Render(r, o)
		checkInert(t, shown.Text())
		if !strings.Contains(shown.Text(), "1. fs.write, once, with") || len(shown.Blocks[0].Arguments) < 2 ||
			shown.Cut {
			t.Errorf("%s:\n%s", where, shown.Text())
		}
	}
	if _, schema := formOfOne(r, oneOf); strings.Contains(string(schema), "allow_plan") ||
		!strings.Contains(string(schema), `"const":"allow_once","title":"Allow these calls in one run of the program"`) {
		t.Errorf("form: %s", schema)
	}
}

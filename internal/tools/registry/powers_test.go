package registry

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// hinted is a server's list of tools, each with the annotations that its name says.
var hinted = []upstream.Tool{
	{Name: "get", Annotations: []byte(`{"readOnlyHint":true,"openWorldHint":false}`)},
	{Name: "fetch", Annotations: []byte(`{"readOnlyHint":true}`)},
	{Name: "add", Annotations: []byte(`{"destructiveHint":false,"openWorldHint":false}`)},
	{Name: "drop", Annotations: []byte(`{"destructiveHint":true}`)},
	{Name: "say"},
	{Name: "odd", Annotations: []byte(`{"readOnlyHint":"yes","openWorldHint":0}`)},
}

// directoryOf is a directory under these rules with the servers "s" and "t", where listed ones have the hinted tools.
func directoryOf(t *testing.T, dir, evaluation string, trust bool, listed ...string) *Directory {
	t.Helper()
	entry := fmt.Sprintf(`{"command":"node","trustAnnotations":%t}`, trust)
	cfg, err := config.Parse("codemode.json", fmt.Appendf(nil, `{"mcpServers":{"s":%s,"t":%[1]s},"evaluation":%s}`, entry, evaluation))
	checktest.OK(t, err)
	accepted, err := catalog.OpenPins(dir)
	checktest.OK(t, err)
	rules := inforce.NewRules(slog.New(slog.DiscardHandler), accepted)
	state := &inforce.State{Config: cfg, Servers: map[string]inforce.Server{}}
	var all []upstream.Server
	for _, s := range cfg.Servers {
		state.Servers[s.Name] = inforce.Server{Identity: catalog.ServerIdentity(s.Name, s.JSON)}
		connection, err := s.Connection(nil)
		checktest.OK(t, err)
		all = append(all, upstream.Server{Server: connection})
	}
	rules.Replace(state)
	g := New(Options{Log: slog.New(slog.DiscardHandler), Rules: rules, Changed: func() {}})
	g.Manager.Set(all)
	t.Cleanup(func() { checktest.OK(t, g.Manager.Close(context.WithoutCancel(t.Context()))) })
	for _, server := range listed {
		g.toolsChanged(server, hinted, "")
	}
	return &Directory{Rules: rules, Tools: g}
}

func TestPowersAreWhatTheRulesLeave(t *testing.T) {
	for _, row := range []struct {
		name, profile string
		trust         bool
		want          Powers
	}{
		{"reads alone, at a server that is trusted", `{"allowlist":["s__get"]}`, true, Powers{}},
		{"the same at any other server", `{"allowlist":["s__get"]}`, false, everything},
		{"reads of the open world", `{"allowlist":["s__get","s__fetch"]}`, true, Powers{Reach: true}},
		{"adds", `{"allowlist":["s__add"]}`, true, Powers{Write: true}},
		{"what destroys, allowed", `{"allowlist":["s__drop"]}`, true, everything},
		{"what destroys, asked about", `{"asklist":["s__drop"],"unmatched":"deny"}`, true, Powers{Write: true, Reach: true}},
		{"what destroys, asked about where silence is a yes", `{"asklist":["s__drop"],"elicitationFallback":"allow"}`, true, everything},
		{"what destroys, denied", `{"allowlist":["s__get"],"denylist":["s__drop"]}`, true, Powers{}},
		{"what destroys, allowed for some arguments", `{"allowlist":[{"tool":"s__drop","when":{"/x":{"eq":"a"}}}]}`, true, everything},
		{"what says nothing", `{"allowlist":["s__say"]}`, true, everything},
		{"hints of another type", `{"allowlist":["s__odd"]}`, true, everything},
		{"everything that is not denied", `{"unmatched":"allow"}`, true, everything},
		{"what a hint allows", `{"allowlist":[{"tool":"*","annotations":{"readOnlyHint":true}}]}`, true, Powers{Reach: true}},
		{"nothing", `{"denylist":["*"]}`, true, Powers{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := directoryOf(t, "", `{"profiles":{"p":`+row.profile+`}}`, row.trust, "s", "t")
			if got := d.Powers("p"); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

// What a server has offered before counts until it has listed its tools again.
func TestPowersBeforeServersAreReady(t *testing.T) {
	const reads = `{"profiles":{"p":{"allowlist":["s__get"]},"all":{"allowlist":["*"]}}}`
	dir := t.TempDir()
	for _, row := range []struct {
		name   string
		listed []string
		want   Powers
	}{
		{"a server that nobody knows can do everything", nil, everything},
		{"it has listed its tools", []string{"s"}, Powers{}},
		{"codemode has started again", nil, Powers{}},
	} {
		if got := directoryOf(t, dir, reads, true, row.listed...).Powers("p"); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
	}
	if got := directoryOf(t, dir, reads, true, "s").Powers("all"); got != everything {
		t.Errorf("with a server that never listed its tools: got %+v", got)
	}
}

// Ten thousand random profiles claim no less danger than a call shows that they allow.
func TestPowersHideNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 3))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	rules := func(lists int) string {
		var all []string
		for range r.IntN(lists) {
			tool := pick("s__get", "s__*", "*__drop", "t__add", "*", "s__say", "t__odd", "*__fetch")
			all = append(all, fmt.Sprintf(`{"tool":%q%s}`, tool, pick("", "", `,"when":{"/x":{"eq":"a"}}`,
				`,"annotations":{"readOnlyHint":true}`, `,"annotations":{"destructiveHint":false}`)))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	var found [3]int
	for range 100 {
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf(`"p%d":{"allowlist":%s,"asklist":%s,"denylist":%s,"unmatched":%q%s}`, i, rules(4), rules(3),
				rules(3), pick("deny", "deny", "ask", "allow"), pick("", `,"elicitationFallback":"allow"`,
					`,"raise":{"destructiveHint":"ask"}`, `,"raise":{"openWorldHint":"deny"}`)))
		}
		trust := r.IntN(4) > 0
		d := directoryOf(t, "", `{"profiles":{`+strings.Join(all, ",")+`}}`, trust, "s", "t")
		for i := range 100 {
			said := d.Powers(fmt.Sprint("p", i))
			policy, err := d.Rules.Bind(fmt.Sprint("p", i), config.Subject{})
			checktest.OK(t, err)
			for _, tool := range d.Tools.Catalog.Tools() {
				for _, args := range []string{`{}`, `{"x":"a"}`, `{"x":"b"}`} {
					decided := policy.Decide(d.Tools.Describe(tool), call.Unread([]byte(args)), hostfns.Counters{})
					reads := trust && tool.Hints["readOnlyHint"] == true
					unasked := decided.Verdict == call.Allow || decided.Verdict == call.Ask && decided.Fallback
					harms := !reads && !(trust && tool.Hints["destructiveHint"] == false)
					for n, wrong := range []bool{
						decided.Verdict != call.Deny && !reads && !said.Write,
						unasked && harms && !said.Destroy,
						decided.Verdict != call.Deny && !(trust && tool.Hints["openWorldHint"] == false) && !said.Reach,
					} {
						if wrong {
							t.Fatalf("%d: %s %s is %v, and %+v of %s", n, tool.Name, args, decided.Verdict, said, all[i])
						}
					}
				}
			}
			for n, harmless := range []bool{!said.Write, !said.Destroy, !said.Reach} {
				if harmless {
					found[n]++
				}
			}
		}
	}
	if t.Log("harmless by Write, Destroy, Reach:", found); min(found[0], found[1], found[2]) < 500 {
		t.Error("too few profiles are harmless: the test looks at too little")
	}
}

package registry

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// renamed is a registry of one server "s", which tells nobody what it will list next.
type renamed struct {
	*Registry
	t       *testing.T
	dir     string
	entry   string // of the server, in the configuration
	profile string
}

func newRenamed(t *testing.T, profile string) *renamed {
	r := &renamed{t: t, dir: t.TempDir(), entry: `{"command": "node", "args": ["s.js"]}`, profile: profile}
	r.start()
	return r
}

// start is a start of codemode: only the folder of the accepted definitions is left of the run before.
func (r *renamed) start() {
	r.t.Helper()
	accepted, err := catalog.OpenPins(r.dir)
	checktest.OK(r.t, err)
	cfg, err := config.Parse("codemode.json", []byte(`{"evaluation": {"profiles": {"p": `+r.profile+`}}}`))
	checktest.OK(r.t, err)
	log := slog.New(slog.DiscardHandler)
	rules := inforce.NewRules(log, accepted)
	rules.Replace(&inforce.State{Config: cfg,
		Servers: map[string]inforce.Server{"s": {Identity: catalog.ServerIdentity("s", json.RawMessage(r.entry))}}})
	r.Registry = New(Options{Log: log, Rules: rules, Changed: func() {}})
}

// list is a list of the server: each tool is its raw name and a version of its definition.
func (r *renamed) list(tools ...[2]string) {
	var list []upstream.Tool
	for _, t := range tools {
		list = append(list, upstream.Tool{Name: t[0], Description: t[1], Input: json.RawMessage(`{"type":"object"}`)})
	}
	r.toolsChanged("s", list, "")
}

// verdict decides a call of the name that a program writes.
func (r *renamed) verdict(name string) (*call.Tool, call.Verdict) {
	r.t.Helper()
	t, err := r.Find(r.t.Context(), name)
	if err != nil {
		return nil, call.Deny
	}
	policy, err := r.rules.Bind("p", config.Subject{})
	checktest.OK(r.t, err)
	return t, policy.Decide(t, call.Unread([]byte("{}")), hostfns.Counters{}).Verdict
}

func (r *renamed) want(name string, want call.Verdict) {
	r.t.Helper()
	if t, got := r.verdict(name); got != want {
		r.t.Errorf("%s: got %s, want %s: %+v", name, got, want, t)
	}
}

func (r *renamed) review() {
	for _, c := range r.rules.Pins.Changes() {
		checktest.OK(r.t, r.rules.Pins.Accept(c.Name, c.Digest))
	}
}

// TestARugPullBySpelling: a server drops a tool and offers another one under a name that a rule takes for the same.
func TestARugPullBySpelling(t *testing.T) {
	for _, other := range []string{"send-mail", "send.mail", "send mail", "send\u200bmail", "send/mail"} {
		r := newRenamed(t, `{"allowlist": ["s__send_mail"]}`)
		r.list([2]string{"send_mail", "good"})
		r.want("s__send_mail", call.Allow)
		r.list([2]string{other, "evil"})
		r.want("s__send_mail", call.Ask)
		r.want("s__"+other, call.Ask)
		r.start()
		r.list([2]string{other, "evil"})
		r.want("s__send_mail", call.Ask)
		r.review()
		r.want("s__send_mail", call.Allow)
		r.list([2]string{"send_mail", "good"}) // a person has accepted the other one
		r.want("s__send_mail", call.Ask)
	}
}

// TestSuffixesSwapNoTools: what gets another name because of another tool keeps its accepted definition, and no other
// gets it.
func TestSuffixesSwapNoTools(t *testing.T) {
	r := newRenamed(t, `{"allowlist": ["s__send-mail", "s__send_mail"], "denylist": ["s__drop_all"]}`)
	r.list([2]string{"send-mail", "good"}, [2]string{"drop-all", "bad"})
	r.want("s__send-mail", call.Allow)
	r.want("s__send_mail", call.Allow)
	r.want("s__drop-all", call.Deny)

	both := [][2]string{{"send-mail", "good"}, {"send_mail", "evil"}, {"drop-all", "bad"}, {"drop_all", "a decoy"}}
	for range 2 {
		r.list(both...)
		r.want("s__send-mail", call.Allow) // nothing of it has changed
		r.want("s__send_mail", call.Ask)   // now another tool
		r.want("s__drop-all", call.Deny)   // a decoy takes no tool from its rule
		slices.Reverse(both)
		r.start()
	}
	both[slices.Index(both, [2]string{"send-mail", "good"})][1] = "evil"
	r.list(both...)
	r.want("s__send-mail", call.Ask)
	r.review()
	r.want("s__send-mail", call.Allow)
	r.list([2]string{"send-mail", "good"}, [2]string{"drop-all", "bad"}) // not what was accepted last
	r.want("s__send-mail", call.Ask)

	r = newRenamed(t, `{"allowlist": ["s__send_mail", "s__send-mail"]}`) // rules for one are not about the other
	r.list([2]string{"send-mail", "1"}, [2]string{"send_mail", "2"}, [2]string{"send.mail", "3"})
	r.want("s__send-mail", call.Allow)
	r.want("s__send_mail", call.Allow)
	r.want("s__send.mail", call.Deny)
}

// TestAnEditOfAnEntryAcceptsNothing: what was accepted stays so, whatever the entry says now.
func TestAnEditOfAnEntryAcceptsNothing(t *testing.T) {
	for _, entry := range []string{
		`{"command": "node", "args": ["s.js"], "timeout": 5000}`,
		`{"command": "node", "args": ["s.js"], "env": {"TOKEN": "new"}}`,
		`{"command": ["node", "s.js"], "cwd": "/srv"}`,
		`{"command": "npx", "args": ["-y", "s@2"]}`,
		`{"url": "https://s.example.com/mcp", "headers": {"X-A": "b"}}`,
	} {
		r := newRenamed(t, `{"allowlist": ["s__*"]}`)
		r.list([2]string{"a", "1"}, [2]string{"b", "1"})
		r.entry = entry
		r.start()
		r.list([2]string{"a", "1"}, [2]string{"b", "2"}, [2]string{"c", "1"})
		r.want("s__a", call.Allow)
		r.want("s__b", call.Ask)
		r.want("s__c", call.Allow)
		r.review()
		r.want("s__b", call.Allow)
	}
}

func TestIdentityIsWhatIsStartedOrReached(t *testing.T) {
	id := func(entry string) string { return catalog.ServerIdentity("s", json.RawMessage(entry)) }
	base := id(`{"command": "node", "args": ["s.js"]}`)
	for entry, same := range map[string]bool{
		`{"args": ["s.js"], "command": "node", "timeout": 3, "env": {"A": "b"}, "disabled": false}`: true,
		`{"command": ["node", "s.js"], "excludeTools": ["x"], "type": "stdio"}`:                     true,
		`{"command": "node", "args": ["t.js"]}`:                                                     false,
		`{"command": "deno", "args": ["s.js"]}`:                                                     false,
		`{"command": "node", "args": ["s.js"], "cwd": "/x"}`:                                        false,
		`{"url": "https://x.example/mcp"}`:                                                          false,
	} {
		if (id(entry) == base) != same {
			t.Errorf("%s: another identity is %v", entry, same)
		}
	}
	if id(`{"url": "https://x/a", "headers": {"A": "1"}}`) != id(`{"httpUrl": "https://x/a", "timeout": 1}`) {
		t.Error("the same address is another server")
	}
	line := id(`{"cli": {"command": "git", "tools": {"a": {"args": ["log"]}}}}`)
	for entry, same := range map[string]bool{
		`{"cli": {"command": "git", "tools": {"a": {"args": ["log"], "description": "x", "timeout": 1}}}, "timeout": 1}`: true,
		`{"cli": {"command": "git", "tools": {"a": {"args": ["log", "-p"]}}}}`:                                           false,
		`{"cli": {"command": "hg", "tools": {"a": {"args": ["log"]}}}}`:                                                  false,
		`{"cli": {"command": "git", "tools": {"a": {"args": ["log"], "stdin": "{x}"}}}}`:                                 false,
		`{"cli": {"command": "git", "tools": {"a": {"args": ["log"]}}}, "cwd": "/x"}`:                                    false,
	} {
		if (id(entry) == line) != same {
			t.Errorf("%s: another identity is %v", entry, same)
		}
	}
}

// An oracle knows which definitions a person has accepted, or met first.
type oracle struct {
	now   int
	named map[string]definition // by identity and canonical name, and by canonical name
	raws  map[string]definition // likewise by raw name
}

type definition struct {
	tool [2]string
	at   int // when it was accepted
}

// accept notes a definition that a person accepts.
func (o *oracle) accept(identity, name string, tool [2]string) {
	o.now++
	o.note(identity, name, definition{tool, o.now})
}

func (o *oracle) note(identity, name string, d definition) {
	o.named[identity+" "+name] = d
	if o.named[name].at <= d.at {
		o.named[name] = d
	}
	for _, k := range []string{identity + " " + d.tool[0], d.tool[0]} {
		if o.raws[k].at <= d.at {
			o.raws[k] = d
		}
	}
}

// lists notes a list, and returns which of its tools need no review.
func (o *oracle) lists(identity string, tools map[string][2]string) map[string]bool {
	fine := map[string]bool{}
	noted := map[string]definition{}
	for name, tool := range tools {
		own, known := o.named[identity+" "+name]
		before, met := o.named[name]
		elsewhere, moved := o.raws[tool[0]]
		switch {
		case known:
			same := o.raws[identity+" "+tool[0]]
			fine[name] = own.tool == tool && (same.at <= own.at || same.tool == tool)
		case met:
			fine[name], noted[name] = before.tool == tool, before
		case moved:
			fine[name], noted[name] = elsewhere.tool == tool, elsewhere
		default:
			o.now++
			fine[name], noted[name] = true, definition{tool, o.now}
		}
	}
	for name, d := range noted {
		o.note(identity, name, d)
	}
	return fine
}

// TestNoChangedDefinitionIsCalledWithoutReview: a server renames, re-spells, re-orders and edits its tools at random,
// people review some of it, codemode starts again, and its entry is edited.
func TestNoChangedDefinitionIsCalledWithoutReview(t *testing.T) {
	const seed, edits = 20, 1000
	m := rand.New(rand.NewPCG(seed, seed))
	r := newRenamed(t, `{"allowlist": ["s__*"]}`)
	o := &oracle{named: map[string]definition{}, raws: map[string]definition{}}
	raws := []string{"send_mail", "send-mail", "send.mail", "send\u200bmail", "s\u0435nd_mail", "读", "读\ufe0f", "re ad", "re_ad"}
	for _, raw := range raws[1:4] { // what takes the name of one with a suffix
		names, _ := call.Names("s", []string{"send_mail", raw})
		raws = append(raws, names[1][len("s__"):])
	}
	version := map[string]int{}
	allowed, asked := 0, 0
	for edit := range edits {
		if m.IntN(20) == 0 {
			r.entry = fmt.Sprintf(`{"command": "node", "args": ["s%d.js"], "timeout": %d}`, m.IntN(3), m.IntN(9))
			r.start()
		} else if m.IntN(20) == 0 {
			r.start()
		}
		if m.IntN(3) == 0 {
			version[raws[m.IntN(len(raws))]] = m.IntN(3)
		}
		identity := r.rules.Server("s").Identity
		var list [][2]string
		for _, i := range m.Perm(len(raws))[:m.IntN(len(raws))] {
			list = append(list, [2]string{raws[i], fmt.Sprint(version[raws[i]])})
		}
		r.list(list...)
		offered := map[string][2]string{}
		for _, tool := range r.Catalog.Tools() {
			offered[tool.Name] = [2]string{tool.Raw, tool.Description}
		}
		if len(offered) != len(list) {
			t.Fatalf("edit %d: of %v there are %v", edit, list, offered)
		}
		fine := o.lists(identity, offered)
		for _, one := range list {
			tool, verdict := r.verdict("s__" + one[0])
			switch {
			case tool == nil || tool.Raw != one[0] || tool.Description != one[1]:
				t.Fatalf("edit %d: %q is %+v", edit, one, tool)
			case verdict == call.Allow && !fine[tool.Name]:
				t.Fatalf("edit %d: %s, which is %q, is called without review\n%v", edit, tool.Name, one, list)
			case verdict == call.Allow:
				allowed++
			default:
				asked++
			}
		}
		for _, c := range r.rules.Pins.Changes() {
			if m.IntN(4) > 0 {
				continue
			}
			checktest.OK(t, r.rules.Pins.Accept(c.Name, c.Digest))
			o.accept(identity, c.Name, offered[c.Name])
			if _, verdict := r.verdict(c.Name); verdict != call.Allow {
				t.Fatalf("edit %d: %s was accepted, and is %s", edit, c.Name, verdict)
			}
		}
	}
	if allowed < edits || asked < edits {
		t.Errorf("%d calls were allowed and %d asked about: too few for a test", allowed, asked)
	}
}

package console

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/console/passkeys"
	"github.com/codemode-project/codemode/console/signin"
	"github.com/codemode-project/codemode/internal/authenticator"
	"github.com/codemode-project/codemode/store"
)

// withPasskeys is a page at http://localhost with passkeys, which a database keeps.
func withPasskeys(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := newWorld(t, append([]func(*Options){passkeyed(t)}, change...)...)
	w.origin = w.c.options.Origins[0]
	return w
}

// passkeyed gives a page passkeys.
func passkeyed(t *testing.T) func(*Options) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "codemode.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return func(o *Options) {
		o.Origins = append([]string{strings.Replace(o.Origins[0], "127.0.0.1", "localhost", 1)}, o.Origins...)
		o.Passkeys, err = passkeys.New(o.Origins, func(context.Context) (*store.DB, error) { return db, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
}

func critical(change ...func(*prompt.Request)) *prompt.Request {
	return aCall(append([]func(*prompt.Request){func(r *prompt.Request) { r.Risk = "critical" }}, change...)...)
}

// options are those that a page has for its script.
func (r *response) options() []byte {
	r.t.Helper()
	_, rest, ok := strings.Cut(r.body, `data-passkey="`)
	text, _, _ := strings.Cut(rest, `"`)
	if !ok {
		r.t.Fatalf("the page has no options of a passkey: %d\n%s", r.code, r.body)
	}
	return []byte(html.UnescapeString(text))
}

// addPasskey adds a passkey with a code, as a person does.
func (v *visitor) addPasskey(name string) *authenticator.Key {
	v.w.t.Helper()
	k := authenticator.New(v.w.t, "localhost", v.w.origin)
	if got := v.form("/passkeys/new", "name="+name); got.code != http.StatusForbidden {
		v.w.t.Fatalf("without a proof: %d", got.code)
	}
	var code string
	for _, c := range v.w.c.Confirm(v.person()) {
		code = c.Code
	}
	page := v.form("/passkeys/new", "name="+name, "proof="+code)
	if got := v.form("/passkeys/add", "credential="+k.Create(page.options())); got.code != http.StatusSeeOther {
		v.w.t.Fatalf("%d %s", got.code, got.body)
	}
	return k
}

func (v *visitor) person() string {
	v.w.t.Helper()
	var s Session
	v.get("/api/session").json(&s)
	return s.Person
}

// say sends an answer with a proof.
func (v *visitor) say(a Answered, proof string) (Result, int) {
	v.w.t.Helper()
	js, err := json.Marshal(a)
	if err != nil {
		v.w.t.Fatal(err)
	}
	got := v.send("POST", "/api/answer", string(js), "Content-Type: application/json", "X-CSRF-Token: "+v.csrf,
		proofHeader+": "+proof)
	var result Result
	got.json(&result)
	return result, got.code
}

// yes is a whole yes to a question.
func yes(a Asked) Answered {
	return Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: a.Code}
}

// proofs lists the entries about passkeys as "state principal detail".
func (f *fakeRecord) proofs() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.entries {
		if e.Kind == audit.Access && strings.HasPrefix(e.State, "passkey_") {
			all = append(all, fmt.Sprintf("%s %s %s", strings.TrimPrefix(e.State, "passkey_"), e.Principal, e.Detail))
		}
	}
	return all
}

func TestAYesToACriticalCallNeedsAPasskey(t *testing.T) {
	w := withPasskeys(t)
	v := w.login(anna)
	answers := w.ask(critical())
	a := v.pending()[0]
	if !a.NeedsPasskey || !a.NeedsCode {
		t.Errorf("the question is %+v", a)
	}
	if got, code := v.say(yes(a), ""); code != http.StatusForbidden || got.OK || got.Passkey != nil ||
		!strings.Contains(got.Error, "add one on the page Passkeys") {
		t.Errorf("without a passkey: %d %+v", code, got)
	}
	k := v.addPasskey("laptop")
	asked, code := v.say(yes(a), "")
	if code != http.StatusForbidden || asked.OK || asked.Passkey == nil {
		t.Fatalf("with a passkey that was not used: %d %+v", code, asked)
	}
	if w.waiting() != 1 {
		t.Fatal("the question is answered")
	}
	if got, code := v.say(yes(a), k.Get(asked.Passkey)); code != http.StatusOK || !got.OK {
		t.Fatalf("with the passkey: %d %+v", code, got)
	}
	if got := answerOf(t, answers)[0]; !got.Allowed || got.By != anna || got.Proof != call.ProofPasskey {
		t.Errorf("the answer is %+v", got.Answer)
	}
	want := []string{`added ` + anna + ` the passkey "laptop"`,
		`used ` + anna + ` the passkey "laptop", for a yes to a call of critical risk`}
	if got := w.record.proofs(); !slices.Equal(got, want) {
		t.Errorf("the record has %q, want %q", got, want)
	}
	page := v.get("/passkeys").body
	for _, part := range []string{"laptop", "last used", "on one device"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q:\n%s", part, page)
		}
	}
}

// A no needs no passkey, and neither does a yes to a call that is not critical, nor an answer to a program's question.
func TestWhatNeedsNoPasskey(t *testing.T) {
	w := withPasskeys(t)
	v := w.login(anna)
	for _, x := range []struct {
		decision string
		r        *prompt.Request
	}{
		{"deny", critical()},
		{"allow", aCall()},
		{"allow", aCall(func(r *prompt.Request) { r.Risk = "high" })},
		{"allow", &prompt.Request{Name: prompt.InquiryTool, Risk: "critical", Principal: anna, Run: "r_z", Call: 9,
			Args: json.RawMessage(`{}`), Inquiry: &prompt.Inquiry{Header: "h", Question: "Which?",
				Options: []prompt.Option{{Label: "a"}, {Label: "b"}}}}},
	} {
		answers := w.ask(x.r)
		a := v.pending()[0]
		said := yes(a)
		if said.Decision = x.decision; a.Inquiry != nil {
			said.Selected = []int{0}
		}
		if got, code := v.say(said, ""); code != http.StatusOK {
			t.Errorf("%s of risk %s: %d %+v", x.decision, a.Risk, code, got)
			continue
		}
		if got := answerOf(t, answers)[0]; got.Allowed != (x.decision == "allow") || got.Proof != "" {
			t.Errorf("%s: %+v", x.decision, got.Answer)
		}
	}
}

// Attacks on the passkey of anna: none of them allows her critical call, each is in the record, and her own answer
// counts afterwards.
func TestAttacksOnPasskeys(t *testing.T) {
	w := withPasskeys(t, func(o *Options) {
		o.May = func(person, principal string) bool { return person == "ben" }
		o.Bearer = func(_ *http.Request, token string) (string, int, string) { return "ben", 0, "" }
		o.Vouched = func(person, principal string) bool { return true }
	})
	var minutes atomic.Int64 // so that each refusal is recorded
	w.c.logins.now = func() time.Time { return time.Now().Add(time.Duration(minutes.Load()) * time.Minute) }
	v, other, ben := w.login(anna), w.login(anna), w.login("ben")
	k, bens := v.addPasskey("laptop"), ben.addPasskey("bens")
	edits := func(r *prompt.Request) { r.Edit = func(json.RawMessage) error { return nil } }
	answers := w.ask(critical(edits))
	second := w.ask(critical(edits, func(r *prompt.Request) { r.Call = 2; r.Args = json.RawMessage(`{"owner":"evil"}`) }))
	list := v.pending()
	a, b := list[0], list[1]
	begin := func(v *visitor, said Answered) []byte {
		t.Helper()
		got, _ := v.say(said, "")
		if got.Passkey == nil {
			t.Fatalf("no passkey is asked for: %+v", got)
		}
		return got.Passkey
	}
	edited := yes(a)
	edited.Args = json.RawMessage(`{"owner":"evil"}`)
	with := func(change func(*authenticator.Key)) string {
		changed := *k
		change(&changed)
		return changed.Get(begin(v, yes(a)))
	}
	for _, x := range []struct {
		name, kind string // "" is not recorded
		by         *visitor
		said       Answered
		proof      func() string
	}{
		{"no proof", "", v, yes(a), func() string { return "" }},
		{"the code of the question as a proof", "", v, yes(a), func() string { return a.Code }},
		{"the token of the page as a proof", "", v, yes(a), func() string { return v.csrf }},
		{"an empty object", "malformed", v, yes(a), func() string { return "{}" }},
		{"the proof of another question", "other_answer", v, yes(b), func() string { return k.Get(begin(v, yes(a))) }},
		{"the proof of the call, with other arguments", "other_answer", v, edited, func() string { return k.Get(begin(v, yes(a))) }},
		{"the proof of other arguments, for the call", "other_answer", v, yes(a), func() string { return k.Get(begin(v, edited)) }},
		{"the proof of the call, for a longer permission", "other_answer", v,
			Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: a.Code, Scope: call.ForRun},
			func() string { return k.Get(begin(v, yes(a))) }},
		{"the proof in another session of hers", "other_session", other, yes(a), func() string { return k.Get(begin(v, yes(a))) }},
		{"the proof in the session of somebody else", "other_session", ben, yes(a), func() string { return k.Get(begin(v, yes(a))) }},
		{"the passkey of somebody else", "unknown_passkey", v, yes(a), func() string { return bens.Get(begin(v, yes(a))) }},
		{"another origin", "wrong_origin", v, yes(a), func() string {
			return with(func(k *authenticator.Key) { k.Origin = "http://localhost:1" })
		}},
		{"the address without a name", "wrong_origin", v, yes(a), func() string {
			return with(func(k *authenticator.Key) { k.Origin = w.c.options.Origins[1] })
		}},
		{"no user verification", "not_verified", v, yes(a), func() string {
			return with(func(k *authenticator.Key) { k.Verified = false })
		}},
		{"a counter that goes back", "counter_regression", v, yes(a), func() string {
			return with(func(k *authenticator.Key) { k.Counter = 1 })
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			before := len(w.record.proofs())
			minutes.Add(1)
			got, code := x.by.say(x.said, x.proof())
			if code != http.StatusForbidden || got.OK || w.waiting() != 2 {
				t.Fatalf("%d %+v, %d wait", code, got, w.waiting())
			}
			recorded := w.record.proofs()[before:]
			if x.kind == "" && len(recorded) > 0 || x.kind != "" &&
				(len(recorded) != 1 || !strings.HasPrefix(recorded[0], x.kind+" ")) {
				t.Errorf("the record has %q, want %q", recorded, x.kind)
			}
		})
	}
	t.Run("a token alone", func(t *testing.T) {
		js, _ := json.Marshal(yes(a))
		for _, proof := range []string{"", k.Get(begin(v, yes(a)))} {
			got := w.byTokenOf("x", "POST", "/api/answer", string(js), proofHeader+": "+proof)
			if got.code != http.StatusForbidden || !strings.Contains(got.body, "a token allows no call") || w.waiting() != 2 {
				t.Errorf("%d %s", got.code, got.body)
			}
		}
	})
	t.Run("one proof for two answers in a form", func(t *testing.T) {
		once := yes(a)
		once.Scope = call.Once // as forms have it
		proof := k.Get(begin(v, once))
		v.form("/answer", "q="+a.ID+" "+a.Digest, "q="+b.ID+" "+b.Digest, "decision=allow once", "code="+a.Code, "proof="+proof)
		if n := w.waiting(); n != 1 {
			t.Fatalf("%d questions wait, want 1", n)
		}
	})
	if got := answerOf(t, answers)[0]; !got.Allowed || got.Proof != call.ProofPasskey {
		t.Errorf("the answer that the proof was for: %+v", got.Answer)
	}
	t.Run("a removed passkey", func(t *testing.T) {
		options := begin(v, yes(b))
		_, rest, _ := strings.Cut(v.get("/passkeys").body, `name="id" value="`)
		id, _, _ := strings.Cut(rest, `"`)
		if got := ben.form("/passkeys/remove", "id="+id); got.code != http.StatusNotFound {
			t.Errorf("ben removes it: %d", got.code)
		}
		if got := v.form("/passkeys/remove", "id="+id); got.code != http.StatusSeeOther {
			t.Fatalf("removing it: %d %s", got.code, got.body)
		}
		if got, code := v.say(yes(b), k.Get(options)); code != http.StatusForbidden || w.waiting() != 1 {
			t.Errorf("%d %+v", code, got)
		}
	})
	said := yes(b)
	said.Decision, said.Code = "deny", ""
	if got, code := v.say(said, ""); code != http.StatusOK {
		t.Errorf("a no without a passkey: %d %+v", code, got)
	}
	if got := answerOf(t, second)[0]; got.Allowed {
		t.Errorf("the other answer: %+v", got.Answer)
	}
}

// Somebody at an open page cannot add their own passkey: that needs a code, a passkey, or a fresh sign-in, each for
// this one request of this session.
func TestAddingAPasskeyNeedsAProof(t *testing.T) {
	w := withPasskeys(t)
	v, other := w.login(anna), w.login(anna)
	add := func(v *visitor, name, proof string) *response {
		return v.form("/passkeys/new", "name="+name, "proof="+proof)
	}
	refused := func(why string, got *response) {
		t.Helper()
		if got.code < 400 || strings.Contains(got.body, "/passkeys/add") {
			t.Fatalf("%s: %d %s", why, got.code, got.body)
		}
	}
	refused("without a proof", add(v, "laptop", ""))
	all := w.c.Confirm(anna)
	if len(all) != 1 || !strings.Contains(all[0].What, `add the passkey "laptop" of `+anna) {
		t.Fatalf("the terminal says %+v", all)
	}
	code := all[0].Code
	refused("with another code", add(v, "laptop", strings.Repeat("A", 26)))
	refused("the code for another name", add(v, "phone", code))
	refused("the code in another session", add(other, "laptop", code))
	refused("a passkey that was not asked for", v.form("/passkeys/add", "credential={}"))
	k := authenticator.New(t, "localhost", w.origin)
	options := add(v, "laptop", code).options()
	refused("the passkey in another session", other.form("/passkeys/add", "credential="+k.Create(options)))
	if got := v.form("/passkeys/add", "credential="+k.Create(options)); got.code != http.StatusSeeOther {
		t.Fatalf("with the code: %d %s", got.code, got.body)
	}
	refused("the same passkey again", v.form("/passkeys/add", "credential="+k.Create(options)))
	refused("the same code again", add(v, "laptop", code))

	page := add(v, "phone", "") // a passkey proves it too
	proof := k.Get(page.options())
	refused("the passkey for another name", add(v, "tablet", proof))
	page = add(v, "phone", "")
	proof = k.Get(page.options())
	second := authenticator.New(t, "localhost", w.origin)
	if got := v.form("/passkeys/add", "credential="+second.Create(add(v, "phone", proof).options())); got.code != http.StatusSeeOther {
		t.Errorf("with a passkey: %d %s", got.code, got.body)
	}
	for _, name := range []string{"", strings.Repeat("a", 61), "a\u202eb"} {
		if got := add(v, name, ""); got.code != http.StatusUnprocessableEntity {
			t.Errorf("the name %q: %d", name, got.code)
		}
	}
}

// signedIn is somebody who has signed in at an identity provider.
func (w *world) signedIn(who signin.Identity) *visitor {
	w.t.Helper()
	key, id, s := w.c.logins.openAs(&who)
	return &visitor{w: w, path: w.c.sessionPath(key), cookie: securePrefix + w.c.cookie + "=" + id, csrf: s.csrf}
}

// A fresh sign-in proves one passkey, for five minutes; a sign-in that was not wanted to be fresh proves none.
func TestAFreshSignInAddsAPasskey(t *testing.T) {
	w := withPasskeys(t)
	var later atomic.Int64
	w.c.logins.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	who := signin.Identity{Principal: "acme:anna", Roles: signin.Approver}
	add := func(v *visitor) *response { return v.form("/passkeys/new", "name=laptop") }
	if got := add(w.signedIn(who)); got.code != http.StatusForbidden {
		t.Errorf("after a sign-in: %d", got.code)
	}
	who.Fresh = true
	v := w.signedIn(who)
	k := authenticator.New(t, "localhost", w.origin)
	if got := v.form("/passkeys/add", "credential="+k.Create(add(v).options())); got.code != http.StatusSeeOther {
		t.Errorf("after a fresh sign-in: %d %s", got.code, got.body)
	}
	if got := add(v); got.code != http.StatusForbidden {
		t.Errorf("a second passkey after one fresh sign-in: %d", got.code)
	}
	v = w.signedIn(who)
	later.Store(int64(freshLife))
	if got := add(v); got.code != http.StatusForbidden {
		t.Errorf("five minutes later: %d", got.code)
	}
	admin := w.signedIn(signin.Identity{Principal: "acme:root", Roles: signin.All, Fresh: true})
	if got := admin.form("/rules/propose", "profile=p", "tool=x__y", "list=allowlist", "why=because"); got.code !=
		http.StatusForbidden || w.rules.changes() != 0 {
		t.Errorf("a fresh sign-in changes the rules: %d", got.code)
	}
}

// Who signs in has no terminal, so a passkey proves a change of the rules; who has a link has one.
func TestAPasskeyProvesAChangeOfTheRules(t *testing.T) {
	w := withPasskeys(t)
	fields := []string{"profile=p", "tool=x__y", "list=allowlist", "why=because"}
	propose := func(v *visitor, fields []string, proof string) *response {
		return v.form("/rules/propose", append(slices.Clone(fields), "proof="+proof)...)
	}
	admin := w.signedIn(signin.Identity{Principal: "acme:root", Roles: signin.All, Fresh: true})
	k := authenticator.New(t, "localhost", w.origin)
	admin.form("/passkeys/add", "credential="+k.Create(admin.form("/passkeys/new", "name=laptop").options()))
	proof := k.Get(propose(admin, fields, "").options())
	other := slices.Clone(fields)
	other[1] = "tool=x__*"
	if got := propose(admin, other, proof); got.code != http.StatusForbidden || w.rules.changes() != 0 {
		t.Fatalf("the passkey for another change: %d", got.code)
	}
	proof = k.Get(propose(admin, fields, "").options())
	if got := propose(admin, fields, proof); got.code >= 400 || w.rules.changes() != 1 {
		t.Errorf("with the passkey: %d %s", got.code, got.body)
	}
	if got := propose(admin, fields, proof); got.code != http.StatusForbidden || w.rules.changes() != 1 {
		t.Errorf("a second time: %d", got.code)
	}
	v := w.login(anna)
	own := v.addPasskey("laptop")
	page := propose(v, other, "")
	if strings.Contains(page.body, "data-passkey") {
		t.Error("a person with a terminal is offered the passkey for a change of the rules")
	}
	adding := v.form("/passkeys/new", "name=phone")
	if got := propose(v, other, own.Get(adding.options())); got.code != http.StatusForbidden || w.rules.changes() != 1 {
		t.Errorf("the passkey of a person with a terminal: %d", got.code)
	}
}

// Without the script of the page, and at an address without a name, the page says what is missing.
func TestThePageSaysWhatAPasskeyNeeds(t *testing.T) {
	w := withPasskeys(t)
	v := w.login(anna)
	w.ask(critical())
	a := v.pending()[0]
	v.addPasskey("laptop")
	list := v.get("/").body
	if !strings.Contains(list, "you confirm it with your passkey.<noscript> That needs JavaScript") ||
		!strings.Contains(list, "/static/passkeys.js") {
		t.Errorf("the list says nothing of passkeys:\n%s", list)
	}
	got := v.form("/answer", "q="+a.ID+" "+a.Digest, "decision=allow once", "code="+a.Code)
	if got.code != http.StatusForbidden || !strings.Contains(got.body, "needs your passkey, and the script of this page") {
		t.Errorf("a form without the script: %d %s", got.code, got.body)
	}
	if v.get("/static/passkeys.js").header.Get("Content-Type") == "" {
		t.Error("there is no script")
	}
	w.origin = w.c.options.Origins[1] // http://127.0.0.1
	v = w.login(anna)
	if got, _ := v.say(yes(a), ""); got.OK || !strings.Contains(got.Error, "Browsers use passkeys at http://localhost:") {
		t.Errorf("at an IP address: %+v", got)
	}
	if page := v.get("/passkeys").body; !strings.Contains(page, "not at this address") || strings.Contains(page, "/passkeys/new") {
		t.Errorf("the page at an IP address:\n%s", page)
	}
	if got := v.form("/passkeys/new", "name=laptop"); got.code != http.StatusConflict {
		t.Errorf("adding one at an IP address: %d", got.code)
	}
	plain := newWorld(t)
	v = plain.login(anna)
	if got := v.get("/passkeys"); got.code != http.StatusNotFound || strings.Contains(v.get("/").body, "asskey") {
		t.Errorf("without passkeys there is a page of them: %d", got.code)
	}
}

// What cannot be recorded does not happen.
func TestAUseThatCannotBeRecordedAllowsNothing(t *testing.T) {
	w := withPasskeys(t)
	v := w.login(anna)
	k := v.addPasskey("laptop")
	w.ask(critical())
	a := v.pending()[0]
	asked, _ := v.say(yes(a), "")
	w.record.mu.Lock()
	w.record.broken = true
	w.record.mu.Unlock()
	if got, code := v.say(yes(a), k.Get(asked.Passkey)); code != http.StatusInternalServerError || got.OK || w.waiting() != 1 {
		t.Errorf("%d %+v", code, got)
	}
}

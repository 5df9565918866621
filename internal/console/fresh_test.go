package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/console/signin"
)

// signsIn gives a page an identity provider, which no test of this package asks. Everybody answers for all.
func signsIn(o *Options) {
	o.SignIn = signin.New(&process.SignIn{Name: "acme", Issuer: "http://127.0.0.1:1", Client: "page"}, "", nil)
	o.May = func(string, string) bool { return true }
	present(o)
}

// present lets somebody be there who may allow critical calls.
func present(o *Options) { o.Queue.Sit("somebody else") }

func critical(change ...func(*prompt.Request)) *prompt.Request {
	return aCall(append([]func(*prompt.Request){risky("critical")}, change...)...)
}

// yes is a whole yes to a question.
func yes(a Asked) Answered {
	return Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: a.Code}
}

// purpose is what a new sign-in for a question is for, in the session of a visitor.
func (v *visitor) purpose(a Asked) string {
	v.w.t.Helper()
	for _, s := range v.w.c.logins.all {
		if s.csrf == v.csrf {
			return purpose{s.mark(), a.ID, a.Digest}.String()
		}
	}
	v.w.t.Fatal("the session has ended")
	return ""
}

// comesBack is a visitor after the identity provider vouched for somebody.
func (w *world) comesBack(who *signin.Identity) (*visitor, error) {
	w.t.Helper()
	old, proof, _, err := door{w.c}.freshFor(who)
	if err != nil {
		return nil, err
	}
	key, id, s := w.c.logins.openAs(who, proof)
	w.c.logins.replace(old, s)
	return &visitor{w: w, path: w.c.sessionPath(key), cookie: securePrefix + w.c.cookie + "=" + id, csrf: s.csrf}, nil
}

// anew is the visitor after a new sign-in for a question.
func (v *visitor) anew(a Asked) *visitor {
	v.w.t.Helper()
	var said Session
	v.get("/api/session").json(&said)
	back, err := v.w.comesBack(&signin.Identity{Principal: said.Person, Subject: said.Person, Roles: signin.Approver,
		Proves: v.purpose(a)})
	check(v.w.t, err)
	return back
}

// A new sign-in allows the question that it was for, once. It replaces the session that asked for it.
func TestANewSignInAllowsOneQuestion(t *testing.T) {
	w := newWorld(t, signsIn)
	v := w.enterAs("acme:anna", signin.Approver)
	edits := func(r *prompt.Request) { r.Edit = func(json.RawMessage) error { return nil } }
	answers := w.ask(critical(edits))
	other := w.ask(critical(edits, func(r *prompt.Request) { r.Call, r.Run = 2, "r_other" }))
	list := v.pending()
	a, b := list[0], list[1]
	if !a.NeedsSignIn || !a.NeedsCode {
		t.Errorf("the question is %+v", a)
	}
	if got, code := v.answer(yes(a)); code != 403 || got.OK || got.SignIn != v.path+"/prove/"+a.ID ||
		!strings.Contains(got.Error, "new sign-in with acme") {
		t.Errorf("without one: %d %+v", code, got)
	}
	for _, path := range []string{"/", "/ask/" + a.ID} {
		page := v.get(path).body
		if !strings.Contains(page, v.path+"/prove/"+a.ID) || strings.Contains(page, `form class="allow"`) {
			t.Errorf("%s without one:\n%s", path, page)
		}
	}
	again := v.anew(a)
	if got := v.get("/api/pending"); got.code != 401 {
		t.Errorf("the session that asked for it goes on: %d", got.code)
	}
	for _, x := range again.pending() {
		if x.NeedsSignIn != (x.ID == b.ID) {
			t.Errorf("after it: %+v", x)
		}
	}
	if page := again.get("/ask/" + a.ID).body; !strings.Contains(page, `value="allow once"`) ||
		!strings.Contains(page, `value="allow edited:1"`) {
		t.Errorf("after it:\n%s", page)
	}
	if got, code := again.answer(yes(b)); code != 403 || got.OK {
		t.Errorf("another question: %d %+v", code, got)
	}
	wrong := yes(a)
	wrong.Code = "0000"
	if got, code := again.answer(wrong); code != 422 || got.OK {
		t.Errorf("with a wrong code: %d %+v", code, got)
	}
	wrong.Propose = ProposeAny
	if got, code := w.enterAs("acme:root", signin.All).answer(wrong); code != 422 || got.OK || w.rules.changes() != 0 {
		t.Errorf("with a rule: %d %+v", code, got)
	}
	// Ten answers at once are one.
	var done atomic.Int32
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got, _ := again.answer(yes(a)); got.OK {
				done.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 {
		t.Errorf("%d answers count", done.Load())
	}
	if got := answerOf(t, answers)[0]; !got.Allowed || got.By != "acme:anna" || got.Proof != call.ProofSignIn {
		t.Errorf("the answer is %+v", got.Answer)
	}
	if got, code := again.answer(yes(b)); code != 403 || got.OK || w.waiting() != 1 {
		t.Errorf("used for another question: %d %+v", code, got)
	}
	deny := yes(b)
	deny.Decision = "deny"
	if got, code := again.answer(deny); code != 200 || !got.OK {
		t.Errorf("a no: %d %+v", code, got)
	}
	if got := answerOf(t, other)[0]; got.Allowed || got.Proof != "" {
		t.Errorf("the no is %+v", got.Answer)
	}
}

// What a new sign-in is not: of somebody else, of another session, for a question that has changed, or long ago.
func TestNewSignInsThatProveNothing(t *testing.T) {
	w := newWorld(t, signsIn)
	var later atomic.Int64
	w.c.logins.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	v, link := w.enterAs("acme:anna", signin.Approver), w.login(anna)
	w.ask(critical())
	a := v.pending()[0]
	who := func(principal, subject, proves string) *signin.Identity {
		return &signin.Identity{Principal: principal, Subject: subject, Roles: signin.Approver, Proves: proves}
	}
	changed, less := a, a
	changed.Digest = "sha256:another"
	less.ID = "q_none"
	for _, x := range []struct {
		name, state string // "" lets the person in, without a proof
		who         *signin.Identity
	}{
		{"another person", "other_person", who("acme:ben", "acme:ben", v.purpose(a))},
		{"another subject of the same name", "other_person", who("acme:anna", "another", v.purpose(a))},
		{"no subject", "other_person", who("acme:anna", "", v.purpose(a))},
		{"the session of a link", "other_person", who(anna, anna, link.purpose(a))},
		{"no session", "session_over", who("acme:anna", "acme:anna", purpose{"x", a.ID, a.Digest}.String())},
		{"no purpose", "session_over", who("acme:anna", "acme:anna", "anything")},
		{"too many words", "session_over", who("acme:anna", "acme:anna", v.purpose(a)+" more")},
		{"a question that looks different", "", who("acme:anna", "acme:anna", v.purpose(changed))},
		{"no question", "", who("acme:anna", "acme:anna", w.enterAs("acme:anna", signin.Approver).purpose(less))},
	} {
		back, err := w.comesBack(x.who)
		no, refused := errors.AsType[*signin.Refusal](err)
		if refused != (x.state != "") || refused && no.State != x.state {
			t.Errorf("%s: %v, want %q", x.name, err, x.state)
		}
		if err == nil {
			if got, code := back.answer(yes(a)); code != 403 || got.OK {
				t.Errorf("%s: %d %+v", x.name, code, got)
			}
			v = back
		}
	}
	v = v.anew(a)
	later.Store(int64(freshLife))
	if got, code := v.answer(yes(a)); code != 403 || got.OK {
		t.Errorf("too late: %d %+v", code, got)
	}
	if page := v.get("/ask/" + a.ID).body; strings.Contains(page, `form class="allow"`) {
		t.Errorf("too late:\n%s", page)
	}
	later.Add(-int64(time.Second))
	if got, code := v.answer(yes(a)); code != 200 || !got.OK {
		t.Errorf("just in time: %d %+v", code, got)
	}
}

// Who has a login link started the process: it allows a critical call, also where other people sign in.
func TestALinkAllowsACriticalCall(t *testing.T) {
	for name, option := range map[string]func(*Options){"without a provider": present, "beside one": signsIn} {
		w := newWorld(t, option)
		v := w.login(anna)
		answers := w.ask(critical())
		a := v.pending()[0]
		if got := v.get("/prove/" + a.ID); got.code != 403 || a.NeedsSignIn {
			t.Errorf("%s, beginning a new sign-in: %d", name, got.code)
		}
		if got, code := v.answer(yes(a)); code != 200 || !got.OK {
			t.Errorf("%s: %d %+v", name, code, got)
		}
		if got := answerOf(t, answers)[0]; !got.Allowed || got.Proof != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A yes to a call that is not critical, and an answer to a program's question, need no new sign-in.
func TestWhatNeedsNoSignIn(t *testing.T) {
	w := newWorld(t, signsIn)
	v := w.enterAs("acme:anna", signin.Approver)
	for _, r := range []*prompt.Request{
		aCall(), aCall(risky("high")),
		{Name: prompt.InquiryTool, Risk: "critical", Principal: anna, Run: "r_z", Call: 9, Args: json.RawMessage(`{}`),
			Inquiry: &prompt.Inquiry{Header: "h", Question: "Which?", Options: []prompt.Option{{Label: "a"}, {Label: "b"}}}},
	} {
		answers := w.ask(r)
		a := v.pending()[0]
		said := yes(a)
		if a.Inquiry != nil {
			said.Selected = []int{0}
		}
		if got, code := v.answer(said); code != http.StatusOK || a.NeedsSignIn {
			t.Errorf("risk %s: %d %+v", a.Risk, code, got)
			continue
		}
		if got := answerOf(t, answers)[0]; !got.Allowed || got.Proof != "" {
			t.Errorf("risk %s: %+v", a.Risk, got.Answer)
		}
	}
	w.ask(aCall())
	a := v.pending()[0]
	if got := v.get("/prove/" + a.ID); got.code != 303 || !strings.HasSuffix(got.header.Get("Location"), "/ask/"+a.ID) {
		t.Errorf("a new sign-in for it: %d %s", got.code, got.header.Get("Location"))
	}
}

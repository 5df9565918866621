package codemode_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// accountsPage is where the principals of these tests connect their accounts.
const accountsPage = "https://codemode.example/accounts"

// An accountFleet is replicas with a server that each principal reaches with an account of its own.
type accountFleet struct {
	t     *testing.T
	h     *hostedtest.Server
	dir   string
	calls atomic.Int32 // of whoami
}

func newAccountFleet(t *testing.T, where, ask string, change ...func(*hostedtest.Options)) *accountFleet {
	t.Helper()
	f := &accountFleet{t: t, dir: t.TempDir()}
	o := hostedtest.Options{Serve: func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "hosted", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "whoami"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (
			*mcp.CallToolResult, any, error) {
			f.calls.Add(1)
			user := f.h.User(&http.Request{Header: r.Extra.Header})
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: user}}}, nil, nil
		})
		return s
	}}
	for _, c := range change {
		c(&o)
	}
	f.h = mcptest.Host(t, o)
	config := fmt.Sprintf(`{"mcpServers": {"linear": {"url": %q, "oauth": {"per": "principal"}}}, "store": %s,
		"evaluation": {"defaultProfile": "p", "profiles": {
			"p": {"allowlist": ["linear__*"], "ask": {%s}},
			"asks": {"asklist": ["linear__*"], "ask": {%s}},
			"denies": {"denylist": ["linear__*"]}}}}`, f.h.URL, where, ask, ask)
	must(t, os.WriteFile(filepath.Join(f.dir, "codemode.json"), []byte(config), 0o600))
	return f
}

// replica starts one. The first one logs the operator in, so that the tools are listed.
func (f *accountFleet) replica() (*codemode.Evaluator, *approvals.Queue) {
	f.t.Helper()
	e, q := newReplica(f.t, f.dir, func(o *codemode.Options) { o.StateDir = f.dir })
	e.Tools().Manager.SetPage(accountsPage)
	f.logIn(e, "", "operator")
	e.Tools().Ready(f.t.Context(), longWait)
	if _, err := e.Tools().Catalog.Find("linear__whoami"); err != nil {
		f.t.Fatalf("its tools are not listed: %v", err)
	}
	f.t.Cleanup(func() { e.Close(context.WithoutCancel(f.t.Context())) })
	return e, q
}

// logIn logs a principal in as a user of the server.
func (f *accountFleet) logIn(e *codemode.Evaluator, principal, user string) {
	f.t.Helper()
	err := e.Tools().Manager.Login(f.t.Context(), "linear", principal, login.Browser{Open: func(address string) {
		go func() {
			if resp, err := http.Get(address + "&user=" + user); err == nil {
				resp.Body.Close()
			}
		}()
	}})
	if err != nil {
		f.t.Fatalf("the login of %q: %v", principal, err)
	}
}

// connect is logIn as the page and the command do it.
func (f *accountFleet) connect(e *codemode.Evaluator, principal, user string) {
	f.t.Helper()
	f.logIn(e, principal, user)
	must(f.t, e.People().Desk.Connected(f.t.Context(), principal, "linear"))
}

type ran struct {
	*codemode.Response
	err error
}

// start runs a program for a principal.
func (f *accountFleet) start(ctx context.Context, e *codemode.Evaluator, principal, profile, code string) <-chan ran {
	over := make(chan ran, 1)
	go func() {
		r, err := e.Eval(ctx, codemode.Request{Principal: principal, Profile: profile, Code: code})
		over <- ran{r, err}
	}()
	return over
}

// question waits for a question to a person in a seat.
func (f *accountFleet) question(seat *approvals.Seat) approvals.Open {
	f.t.Helper()
	for range testwait.Polls(longWait) {
		if all := seat.Pending(); len(all) > 0 {
			return all[0]
		}
	}
	f.t.Fatal("nobody is asked")
	return approvals.Open{}
}

// steps lists the entries of a run's calls, without the tool.
func (f *accountFleet) steps(e *codemode.Evaluator, run string) (all []string) {
	f.t.Helper()
	db, err := e.Record().DB(f.t.Context())
	must(f.t, err)
	err = audit.Entries(f.t.Context(), db, store.Query{Run: run, Kinds: []string{audit.Call, audit.Approval}},
		func(e *audit.Entry) error {
			s := e.Kind + " " + e.State + " " + e.Verdict
			if by := e.DecidedBy; by != nil && e.Kind == audit.Approval {
				s += " by " + by.How + " " + by.Channel + " " + by.Principal
			}
			if e.State == audit.Refused {
				s += " " + e.Reason
			}
			all = append(all, strings.TrimSpace(s))
			return nil
		})
	must(f.t, err)
	return all
}

const whoami = `try { return await codemode.linear__whoami({}) } catch (e) { return [e.name, e.reason, e.message] }`

// A call of a principal without an account waits until the principal connects it, in any process, and is made once.
func TestACallWaitsForAnAccount(t *testing.T) {
	for _, row := range sharedStores {
		t.Run(row.name, func(t *testing.T) {
			f := newAccountFleet(t, row.store(t), "")
			one, q := f.replica()
			other, _ := f.replica()
			seat := q.Sit("acme:anna")
			defer seat.Leave()
			over := f.start(t.Context(), one, "acme:anna", "p", whoami)
			asked := f.question(seat).Request
			if asked.Kind() != "account" || asked.Inquiry.Connect != accountsPage || asked.Principal != "acme:anna" ||
				asked.Server != "linear" {
				t.Errorf("she is asked %+v", asked)
			}
			if v, err := seat.Show(prompt.RenderOptions{}, asked.ID); err != nil || !strings.Contains(v.Text(), accountsPage) {
				t.Errorf("she sees %s (%v)", v.Text(), err)
			}
			for what, answer := range map[string]call.Answer{"yes": yes, "words": {Allowed: true, Text: "done", Typed: true},
				"an option": {Allowed: true, Selected: []int{0}, Typed: true}} {
				if err := seat.Answer(asked.ID, asked.Digest, asked.Code, answer); err == nil {
					t.Errorf("%s is taken for an answer", what)
				}
			}
			f.connect(other, "acme:ben", "ben") // somebody else's
			if err := other.People().Desk.Connected(t.Context(), "acme:anna", "github"); err != nil {
				t.Fatal(err) // at another server
			}
			parked(t, one, 1) // it takes no memory while it waits
			select {
			case r := <-over:
				t.Fatalf("it ended without an account: %s, %v", r.Value, r.err)
			case <-time.After(500 * time.Millisecond):
			}
			f.connect(other, "acme:anna", "anna")
			r := <-over
			if r.err != nil || string(r.Value) != `"anna"` || f.calls.Load() != 1 {
				t.Errorf("got %s, %v, after %d calls", r.Value, r.err, f.calls.Load())
			}
			want := []string{"call pending connect", "approval connected connect by person login acme:anna",
				"call running allow", "call ok allow"}
			if got := f.steps(one, r.Run); !slices.Equal(got, want) {
				t.Errorf("the record has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if all := seat.Pending(); len(all) > 0 {
				t.Errorf("it is still asked: %v", all)
			}
			if r := <-f.start(t.Context(), other, "acme:anna", "p", whoami); string(r.Value) != `"anna"` {
				t.Errorf("afterwards: %s, %v", r.Value, r.err)
			}
		})
	}
}

// What a profile decides about a call is decided after the login, and in addition to it.
func TestAnAccountIsNoYes(t *testing.T) {
	f := newAccountFleet(t, `"codemode.db"`, "")
	e, q := f.replica()
	seat := q.Sit("acme:anna")
	defer seat.Leave()
	if r := <-f.start(t.Context(), e, "acme:anna", "denies", whoami); !strings.Contains(string(r.Value), "denied") {
		t.Errorf("a denied call: %s, %v", r.Value, r.err)
	}
	const three = `return (await Promise.all([1, 2, 3].map(() => codemode.linear__whoami({})))).join()`
	over := f.start(t.Context(), e, "acme:anna", "asks", three)
	if asked := f.question(seat); asked.Request.Kind() != "account" || len(seat.Pending()) != 1 {
		t.Fatalf("three calls ask for %d accounts", len(seat.Pending()))
	}
	f.connect(e, "acme:anna", "anna")
	for range testwait.Polls(longWait) {
		if all := seat.Pending(); len(all) == 3 && all[0].Request.Kind() != "account" {
			break
		}
	}
	if f.calls.Load() > 0 {
		t.Error("a call was made before a person allowed it")
	}
	for _, o := range seat.Pending() {
		if err := seat.Answer(o.Request.ID, o.Request.Digest, "", yes); err != nil {
			t.Error(err)
		}
	}
	r := <-over
	if r.err != nil || string(r.Value) != `"anna,anna,anna"` || f.calls.Load() != 3 {
		t.Errorf("got %s, %v, after %d calls", r.Value, r.err, f.calls.Load())
	}
}

// Without a login the wait ends in time, by a refusal or with the run; the call is not made, and is told what to do.
func TestACallWithoutAnAccountEnds(t *testing.T) {
	const twice = `const all = []
		for (const n of [1, 2]) try { await codemode.linear__whoami({}) } catch (e) { all.push(e.name, e.reason, e.message) }
		return all`
	for _, row := range []struct {
		name, ask string
		do        func(seat *approvals.Seat, asked approvals.Open, cancel func())
		want      []string // in the result
		steps     []string
	}{
		{name: "refused", do: func(seat *approvals.Seat, o approvals.Open, _ func()) {
			_ = seat.Answer(o.Request.ID, o.Request.Digest, "", no)
		}, want: []string{"ToolCallDeniedError", `"elicitation_declined"`,
			"refused to connect the account of acme:anna at linear", "not now"},
			steps: []string{"call pending connect", "approval elicitation_declined connect by person people acme:anna",
				"call refused allow elicitation_declined", "call refused allow elicitation_declined"}},
		{name: "in time", ask: `"timeout": "300ms"`, do: func(*approvals.Seat, approvals.Open, func()) {},
			want: []string{"UpstreamError", "login_required", "acme:anna has no login there: connect the account at " +
				accountsPage},
			steps: []string{"call pending connect", "approval timeout connect by none",
				"call refused allow login_required", "call refused allow login_required"}},
		{name: "with the run", do: func(_ *approvals.Seat, _ approvals.Open, cancel func()) { cancel() },
			steps: []string{"call pending connect", "approval canceled connect by none", "call refused allow canceled"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newAccountFleet(t, `"codemode.db"`, row.ask)
			e, q := f.replica()
			seat := q.Sit("acme:anna")
			defer seat.Leave()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			over := f.start(ctx, e, "acme:anna", "p", twice)
			row.do(seat, f.question(seat), cancel)
			r := <-over
			for _, part := range row.want {
				if strings.Count(string(r.Value), part) != 2 {
					t.Errorf("got %s, %v, want %q twice", r.Value, r.err, part)
				}
			}
			if row.want == nil && r.err == nil {
				t.Errorf("a canceled run returned %s", r.Value)
			}
			var got []string
			testwait.Holds(func() bool { // calls may outlive a run that was canceled
				got = f.steps(e, r.Run)
				return len(got) >= len(row.steps)
			})
			if !slices.Equal(got, row.steps) {
				t.Errorf("the record has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.steps, "\n"))
			}
			f.connect(e, "acme:anna", "anna") // too late
			if n := f.calls.Load(); n != 0 || len(seat.Pending()) > 0 {
				t.Errorf("%d calls were made, and it is still asked: %v", n, seat.Pending())
			}
		})
	}
}

// A login that cannot be renewed is like none.
func TestACallWaitsForAnAccountThatExpired(t *testing.T) {
	f := newAccountFleet(t, `"codemode.db"`, "", func(o *hostedtest.Options) { o.ExpiresIn = 20 }) // soon enough to be renewed
	e, q := f.replica()
	seat := q.Sit("acme:anna")
	defer seat.Leave()
	f.connect(e, "acme:anna", "anna")
	if r := <-f.start(t.Context(), e, "acme:anna", "p", whoami); string(r.Value) != `"anna"` || f.h.Renewed() == 0 {
		t.Fatalf("got %s, %v, after %d renewals", r.Value, r.err, f.h.Renewed())
	}
	f.h.Revoke(true)
	f.logIn(e, "", "operator")
	over := f.start(t.Context(), e, "acme:anna", "p", whoami)
	if o := f.question(seat); o.Request.Kind() != "account" {
		t.Fatalf("she is asked %+v", o.Request)
	}
	f.connect(e, "acme:anna", "anna")
	if r := <-over; string(r.Value) != `"anna"` || f.calls.Load() != 2 {
		t.Errorf("got %s, %v, after %d calls", r.Value, r.err, f.calls.Load())
	}
}

// Where nobody who could connect the account is there or expected, the call fails at once, as without a page.
func TestNobodyIsThereToConnect(t *testing.T) {
	f := newAccountFleet(t, `"codemode.db"`, `"absent": "refuse"`)
	e, q := f.replica()
	defer q.Sit("acme:ben").Leave() // he sees the questions of all, and has no account of hers
	r := <-f.start(t.Context(), e, "acme:anna", "p", whoami)
	if !strings.Contains(string(r.Value), "login_required") {
		t.Errorf("got %s, %v", r.Value, r.err)
	}
	e.Tools().Manager.SetPage("")
	r = <-f.start(t.Context(), e, "acme:anna", "p", whoami)
	if !strings.Contains(string(r.Value), "codemode login linear --principal acme:anna") {
		t.Errorf("without a page: %s, %v", r.Value, r.err)
	}
	if got := f.steps(e, r.Run); !slices.Equal(got, []string{"call refused allow login_required"}) {
		t.Errorf("the record has %q", got)
	}
}

// A run waits for an account while its process stops. The principal connects it meanwhile, and another process makes
// the call, after a person has allowed it there.
func TestAWaitForAnAccountOutlivesItsProcess(t *testing.T) {
	for _, row := range sharedStores {
		t.Run(row.name, func(t *testing.T) {
			f := newAccountFleet(t, row.store(t), "")
			one, q := f.replica()
			seat := q.Sit("acme:anna")
			over := f.start(t.Context(), one, "acme:anna", "asks",
				`return (await Promise.all([1, 2].map(() => codemode.linear__whoami({})))).join()`)
			f.question(seat)
			run := parked(t, one, 1)["acme:anna"]
			one.Runs().Drain(t.Context())
			if r := <-over; !errors.Is(r.err, approvals.ErrLeaving) {
				t.Fatalf("its client is told %v", r.err)
			}
			seat.Leave()
			must(t, one.Close(t.Context()))

			two, q := f.replica()
			seat = q.Sit("acme:anna")
			defer seat.Leave()
			if o := f.question(seat); o.Request.Kind() != "account" {
				t.Fatalf("it asks %+v", o.Request)
			}
			f.connect(two, "acme:anna", "anna")
			for answered := 0; answered < 2; {
				o := f.question(seat)
				if o.Request.Kind() != "account" && seat.Answer(o.Request.ID, o.Request.Digest, "", yes) == nil {
					answered++
				}
			}
			if got := ended(t, two, run); !strings.Contains(got.Text, "anna,anna") || f.calls.Load() != 2 {
				t.Errorf("it ended so, after %d calls:\n%s", f.calls.Load(), got.Text)
			}
			steps := f.steps(two, run)
			for step, want := range map[string]int{"call pending connect": 1, "call pending ask": 2, "call ok ask": 2,
				"approval connected connect by person login acme:anna": 1} {
				if n := strings.Count(strings.Join(steps, "\n")+"\n", step+"\n"); n != want {
					t.Errorf("the record has %q %d times, want %d:\n%s", step, n, want, strings.Join(steps, "\n"))
				}
			}
		})
	}
}

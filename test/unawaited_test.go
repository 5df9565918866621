package codemode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A crm is a server that takes a random time for each call. Nobody has the customers from 90 on.
type crm struct {
	mu   sync.Mutex
	done []string
}

type mailArgs struct {
	ID int `json:"id"`
}

func (s *crm) does(what string) func(context.Context, mailArgs) (mailArgs, error) {
	return func(ctx context.Context, in mailArgs) (mailArgs, error) {
		select {
		case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
		case <-ctx.Done():
			return in, ctx.Err()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done = append(s.done, fmt.Sprint(what, in.ID))
		if in.ID >= 90 {
			return in, fmt.Errorf("no customer %d", in.ID)
		}
		return in, nil
	}
}

func (s *crm) server() codemode.Server {
	return codemode.Server{Name: "crm", Functions: []codemode.Function{
		codemode.Func("get", "Gets a customer.", s.does("get"), codemode.ReadOnly),
		codemode.Func("mail", "Sends a mail.", s.does("mail"), codemode.Additive),
		codemode.Func("remove", "Removes a customer.", s.does("remove"), codemode.Destructive),
	}}
}

// Each program does the same in each of 25 runs, however long the server takes, and says the same.
func TestTheSameCallsAreMadeInEveryRun(t *testing.T) {
	t.Parallel()
	const rules = `{"budgets": [{"id": "few", "tool": "crm__get", "calls": 3, "every": "day"}], "evaluation": {"profiles": {
		"p": {"allowlist": ["crm__get", "crm__mail"], "denylist": ["crm__remove"]},
		"few": {"allowlist": ["crm__mail"], "limits": {"calls": 4}},
		"ask": {"allowlist": ["crm__get"], "asklist": ["crm__mail"]}}}}`
	awaitRoom(24*time.Hour, 5*time.Minute)
	var s crm
	e := open(t, rules, embeds(s.server()))
	for _, test := range []struct{ name, profile, code, done, says string }{
		{"one mail", "p", "codemode.crm__mail({id: 1});\nreturn 'sent'", "mail1", `"sent"`},
		{"forEach", "p", "[1,2,3].forEach(async id => { await codemode.crm__mail({id}) });\nreturn 'sent'", "mail1 mail2 mail3", `"sent"`},
		{"main()", "p", "async function main() { await codemode.crm__mail({id: 1}); return codemode.crm__mail({id: 2}) }\nmain()",
			"mail1 mail2", "{\n  \"id\": 2\n}"},
		{"main().catch", "p", "async function main() { await codemode.crm__mail({id: 99}) }\nmain().catch(e => e.message)", "mail99",
			`"crm__mail: no customer 99"`},
		{"mail without await, then a call", "p", "codemode.crm__mail({id: 1});\nawait codemode.crm__mail({id: 2});\nreturn 1", "mail1 mail2", "1"},
		{"a trailing call", "p", "const id = 1;\ncodemode.crm__mail({id})", "mail1", "{\n  \"id\": 1\n}"},
		{"a failing third", "p", "return await Promise.all([1,2,99].map(id => codemode.crm__mail({id})))", "mail1 mail2 mail99",
			"error (threw): ToolError: crm__mail: no customer 99\n    at program.ts:1:54"},
		{"bad arguments third", "p", "return await Promise.all([1,2,3].map(id => codemode.crm__mail(id < 3 ? {id} : {i: id})))", "mail1 mail2",
			"error (threw): InvalidArgumentsError: crm__mail: "},
		{"bad arguments first, awaited by nobody", "p", "codemode.crm__mail({});\ncodemode.crm__mail({id: 1});\nreturn 'sent'", "mail1",
			"error (threw): InvalidArgumentsError: crm__mail: "},
		{"bad arguments in the reply", "p", "codemode.crm__mail({id: 1});\n  codemode.crm__mail({});\nreturn 'sent'", "mail1",
			"(nobody awaited this call)\n    at program.ts:2:"},
		{"refused by the profile", "p", "codemode.crm__mail({id: 1});\ncodemode.crm__remove({id: 2});\nreturn 'sent'", "mail1",
			"error (threw): ToolCallDeniedError: the call of crm__remove was refused"},
		{"no such tool", "p", "codemode.crm__mial({id: 1});\nreturn 'sent'", "", "error (threw): ToolNotFoundError: "},
		{"a budget for three of eight", "p", "return (await Promise.allSettled([1,2,3,4,5,6,7,8].map(id => codemode.crm__get({id})))).map(r => r.status[0]).join('')",
			"get1 get2 get3", `"fffrrrrr"`},
		{"a budget for three of eight that nobody awaits", "p", "for (let id = 1; id <= 8; id++) codemode.crm__get({id});\nreturn 'read'",
			"get1 get2 get3", "error (threw): LimitError: "},
		{"a limit of calls", "few", "[1,2,3,4,5,6].forEach(async id => { await codemode.crm__mail({id}) });\nreturn 'sent'",
			"mail1 mail2 mail3 mail4", "error (too many calls): the program made more than 4 calls"},
		{"asks, and nobody is there", "ask", "codemode.crm__mail({id: 1});\nreturn 'sent'", "",
			"error (threw): ToolCallDeniedError: the call of crm__mail was refused"},
		{"a promise in arguments", "p", "await codemode.crm__mail({id: codemode.crm__mail({id: 1})})", "mail1",
			"error (threw): InvalidArgumentsError: argument.id of crm__mail is a promise: await it before the call"},
		{"background", "p", "codemode.background(codemode.crm__mail({id: 99}));\nreturn 'sent'", "mail99", "calls: 1 (1 failed)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			said := map[string]int{}
			for i := range 25 {
				s.done = nil
				r, err := e.Eval(t.Context(), codemode.Request{Principal: fmt.Sprint(test.name, i), Profile: test.profile, Code: test.code})
				slices.Sort(s.done)
				text := r.Text(err)
				if done := strings.Join(s.done, " "); done != test.done || !strings.Contains(text, test.says) {
					t.Fatalf("did %q, want %q; said\n%s", done, test.done, text)
				}
				said[strings.ReplaceAll(text, fmt.Sprint(test.name, i), "")]++
			}
			if len(said) != 1 {
				t.Errorf("it said %d different things: %v", len(said), said)
			}
		})
	}
}

// In a session the same, and what is done in the end is there for the next program.
func TestASessionWaitsForWhatItsProgramsStart(t *testing.T) {
	t.Parallel()
	var s crm
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["crm__*"]}}}}`, embeds(s.server()),
		withRecord(t))
	for _, step := range []struct{ code, want string }{
		{"const out = [];\n[1,2].forEach(async id => { out.push((await codemode.crm__mail({id})).id) })", "undefined"},
		{"out.sort()", "[1,2]"},
		{"codemode.crm__mail({id: 99});\nout.push(3)", "error"},
		{"out", "[1,2,3]"},
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Principal: "anna", Profile: "p", Session: "s", Code: step.code})
		got := string(r.Value)
		switch {
		case err != nil:
			got = "error"
		case got == "":
			got = "undefined"
		}
		if got != step.want {
			t.Errorf("%s: got %s, want %s\n%s", step.code, got, step.want, r.Text(err))
		}
	}
	if len(s.done) != 3 {
		t.Errorf("done: %q", s.done)
	}
}

// Calls that nobody awaits wait for people like others; a run whose program has returned is parked meanwhile.
func TestPeopleAreAskedAboutCallsThatNobodyAwaits(t *testing.T) {
	t.Parallel()
	var s crm
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["crm__get"], "asklist": ["crm__mail"]}}}}`, embeds(s.server()),
		withRecord(t))
	for _, test := range []struct {
		name    string
		allowed bool
		wait    time.Duration
		code    string
		done    string
		says    string
	}{
		{"yes at once", true, 0, "codemode.crm__mail({id: 1});\nreturn 'sent'", "mail1", `"sent"`},
		{"no at once", false, 0, "codemode.crm__mail({id: 1});\nreturn 'sent'", "", "error (threw): ToolCallDeniedError"},
		{"yes after parking", true, time.Second, "const out = [];\nsetTimeout(() => codemode.crm__get({id: 2}), 600);\n" +
			"codemode.crm__mail({id: 1}).then(r => out.push(r.id));\nreturn out", "get2 mail1", "[\n  1\n]"},
		{"yes after a throw", true, time.Second, "codemode.crm__mail({id: 1});\nthrow new Error('stop')", "mail1",
			"error (threw): Error: stop"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.done = nil
			person := approvals.Approver("chat", func(context.Context, *prompt.Request) (call.Answer, error) {
				time.Sleep(test.wait) // the person thinks
				return call.Answer{Allowed: test.allowed}, nil
			})
			r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{person}, Code: test.code})
			slices.Sort(s.done)
			if done := strings.Join(s.done, " "); done != test.done || !strings.Contains(r.Text(err), test.says) {
				t.Errorf("did %q, want %q; said\n%s", done, test.done, r.Text(err))
			}
		})
	}
}

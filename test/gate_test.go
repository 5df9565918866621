package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/owntools"
	"github.com/codemode-project/codemode/internal/testwait"
)

const gateRules = `{"evaluation": {"profiles": {"p": {
	"allowlist": ["bank__balance"], "asklist": [{"id": "pay", "tool": "bank__pay"}], "denylist": [{"id": "no-etc", "tool": "*", "when": {"/path": {"under": ["/etc"], "ifMissing": "noMatch"}}}],
	"unmatched": "deny", "ask": {"edit": true}, "remember": {"scopes": ["run"]}%s}}}}`

// decides is an approver that always says the same.
func decides(reply call.Answer, err error) approvals.Channel {
	return approvals.Approver("chat", func(context.Context, *prompt.Request) (call.Answer, error) { return reply, err })
}

// executor notes what it was told to do.
type executor struct {
	mu   sync.Mutex
	args []string
}

func (x *executor) do(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.args = append(x.args, string(args))
	return json.RawMessage(`"paid"`), nil
}

// S3.1, S3.4: a call of a Go program's own tool is executed only with a clear yes, and with what was allowed.
func TestGateOfOnesOwnTools(t *testing.T) {
	const pay = `{"to":"anna","amount":5}`
	tests := []struct {
		why    string
		tool   string
		args   string
		people []approvals.Channel
		ran    string // with these arguments; "" is not at all
		reason string
		is     error
	}{
		{"allowed by a rule", "balance", ``, nil, `{}`, "", nil},
		{"denied by the lack of one", "close", `{}`, []approvals.Channel{decides(call.Answer{Allowed: true}, nil)}, "",
			"denied", nil},
		{"denied by a condition", "balance", `{"path":"/etc/x"}`, nil, "", "denied", nil},
		{"approved", "pay", pay, []approvals.Channel{decides(call.Answer{Allowed: true}, nil)}, pay, "", nil},
		{"approved with other arguments", "pay", pay,
			[]approvals.Channel{decides(call.Answer{Allowed: true, Args: json.RawMessage(`{"to": "anna", "amount": 1}`)}, nil)},
			`{"to":"anna","amount":1}`, "", nil},
		{"other arguments that a rule denies", "pay", pay,
			[]approvals.Channel{decides(call.Answer{Allowed: true, Args: json.RawMessage(`{"path":"/etc/x"}`)}, nil)}, "",
			"no_approver", nil},
		{"refused", "pay", pay, []approvals.Channel{decides(call.Answer{}, nil)}, "", "elicitation_declined", nil},
		{"refused with a reason", "pay", pay, []approvals.Channel{decides(call.Answer{Reason: "too much"}, nil)}, "",
			"elicitation_declined", nil},
		{"an invalid decision", "pay", pay, []approvals.Channel{decides(call.Answer{Args: json.RawMessage(`{}`)}, nil)}, "",
			"invalid_decision", owntools.ErrInvalidDecision},
		{"an approver that fails", "pay", pay, []approvals.Channel{decides(call.Answer{Allowed: true},
			errors.New("the chat is down"))}, "", "no_approver", nil},
		{"nobody to ask", "pay", pay, nil, "", "no_approver", nil},
		{"arguments that are read in two ways", "balance", `{"a":1,"a":2}`, nil, "", "bad_arguments", nil},
		{"arguments that are no JSON", "balance", `{"a":`, nil, "", "bad_arguments", nil},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			e := open(t, fmt.Sprintf(gateRules, ""))
			g, err := e.Gate(owntools.Options{Profile: "p", Channels: tt.people, Principal: "local:anna"})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			x := &executor{}
			out, err := g.Execute(t.Context(), owntools.Call{Server: "bank", Tool: tt.tool, Args: json.RawMessage(tt.args)},
				x.do)
			if got := strings.Join(x.args, " "); got != tt.ran {
				t.Errorf("executed with %q, want %q", got, tt.ran)
			}
			var denied *owntools.DeniedError
			switch {
			case tt.reason == "":
				if err != nil || string(out) != `"paid"` {
					t.Errorf("got %s, %v", out, err)
				}
			case !errors.As(err, &denied) || denied.Reason != tt.reason || denied.Tool != "bank__"+tt.tool:
				t.Errorf("got %v, want %s", err, tt.reason)
			case errors.Is(err, owntools.ErrInvalidDecision) != (tt.is != nil):
				t.Errorf("invalid decision: %v", err)
			}
			for _, entry := range e.Record().Journal().Entries() {
				if entry.Run != g.Run() || entry.Principal != "local:anna" {
					t.Errorf("recorded as %s of %q", entry.Run, entry.Principal)
				}
			}
			if n := len(e.Record().Journal().Entries()); n == 0 {
				t.Error("nothing was recorded")
			}
		})
	}
}

// S3.1: it is the same way that calls of programs take: what is refused is remembered, the third refusal ends the run,
// grants end with it, and what cannot be recorded does not happen.
func TestGateIsTheOneOfPrograms(t *testing.T) {
	payment := func(n int) owntools.Call {
		return owntools.Call{Server: "bank", Tool: "pay", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
	}
	reason := func(err error) string {
		var denied *owntools.DeniedError
		if errors.As(err, &denied) {
			return denied.Reason
		}
		return fmt.Sprint(err)
	}
	e := open(t, fmt.Sprintf(gateRules, ""))
	asked := 0
	person := approvals.Approver("chat", func(context.Context, *prompt.Request) (call.Answer, error) {
		asked++
		return call.Answer{}, nil
	})
	g, err := e.Gate(owntools.Options{Profile: "p", Channels: []approvals.Channel{person}})
	if err != nil {
		t.Fatal(err)
	}
	x := &executor{}
	var got []string
	for _, n := range []int{1, 1, 2, 3, 4} {
		_, err := g.Execute(t.Context(), payment(n), x.do)
		got = append(got, reason(err))
	}
	want := []string{"elicitation_declined", "elicitation_declined", "elicitation_declined", "elicitation_declined",
		"too_many_refusals"}
	if diff := cmp.Diff(want, got); diff != "" || asked != 3 || len(x.args) > 0 {
		t.Errorf("asked %d times, executed %v (-want +got):\n%s", asked, x.args, diff)
	}
	if reports := g.Close(); len(reports) != 4 {
		t.Errorf("reports: %+v", reports)
	}

	remembers := decides(call.Answer{Allowed: true, Scope: call.ForRun}, nil)
	g, err = e.Gate(owntools.Options{Profile: "p", Principal: "local:anna", Channels: []approvals.Channel{remembers}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if _, err := g.Execute(t.Context(), payment(n), x.do); err != nil {
			t.Error(err)
		}
	}
	if grants, err := e.People().Grants.All(t.Context(), ""); err != nil || len(grants) != 1 {
		t.Errorf("grants: %v, %v", grants, err)
	}
	g.Close()
	g.Close()
	if grants, err := e.People().Grants.All(t.Context(), ""); err != nil || len(grants) != 0 {
		t.Errorf("grants after the run: %v, %v", grants, err)
	}
	if _, err := g.Execute(t.Context(), payment(1), x.do); reason(err) != "canceled" {
		t.Errorf("after Close: %v", err)
	}

	x = &executor{}
	unrecorded := open(t, fmt.Sprintf(gateRules, ""), func(o *codemode.Options) { o.Recorder = full{} })
	g, err = unrecorded.Gate(owntools.Options{Profile: "p"})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Execute(t.Context(), owntools.Call{Server: "bank", Tool: "balance"}, x.do); reason(err) != "denied" ||
		len(x.args) > 0 {
		t.Errorf("without a record: %v, %v", err, x.args)
	}
}

// S3.1: what the executor says comes back as it is, and is on record.
func TestGateErrorsOfTheExecutor(t *testing.T) {
	e := open(t, fmt.Sprintf(gateRules, ""))
	g, err := e.Gate(owntools.Options{Profile: "p", Tools: []owntools.Tool{{
		Server: "bank", Tool: "balance",
		Input: json.RawMessage(`{"type":"object","properties":{"account":{"type":"string"}},"required":["account"]}`),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	broken := errors.New("the bank is closed")
	fails := func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, fmt.Errorf("asking: %w", broken)
	}
	call := owntools.Call{Server: "bank", Tool: "balance", Args: json.RawMessage(`{"account":"1"}`)}
	if _, err := g.Execute(t.Context(), call, fails); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	var outcome string
	for _, entry := range e.Record().Journal().Entries() {
		if entry.Kind == hostfns.KindOutcome {
			outcome = entry.Outcome + " " + entry.Detail
		}
	}
	if !strings.Contains(outcome, "error") || !strings.Contains(outcome, "the bank is closed") {
		t.Errorf("recorded: %q", outcome)
	}
	call.Args = json.RawMessage(`{"account":1}`)
	var wrong *hostfns.ArgumentError
	if _, err := g.Execute(t.Context(), call, fails); !errors.As(err, &wrong) || wrong.Path != "/account" {
		t.Errorf("arguments that do not fit: %v", err)
	}
	panics := func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("oh") }
	call.Args = json.RawMessage(`{"account":"1"}`)
	if _, err := g.Execute(t.Context(), call, panics); err == nil {
		t.Error("a crash is no error")
	}
	if _, err := e.Gate(owntools.Options{Profile: "none"}); err == nil {
		t.Error("a profile that there is not")
	}
}

// S3.5: what a person is shown of arguments is narrowed by tool, and no log has them raw.
func TestGateShowsAndLogsNoSecrets(t *testing.T) {
	var log testwait.Buffer
	e := open(t, fmt.Sprintf(gateRules, ""), func(o *codemode.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var shown string
	person := approvals.Approver("chat", func(_ context.Context, r *prompt.Request) (call.Answer, error) {
		shown = prompt.Text(r, prompt.RenderOptions{}) + prompt.Summary(r)
		if r.Run == "" || r.Time.IsZero() || time.Since(r.Time) > time.Hour {
			t.Errorf("a request of run %q at %v", r.Run, r.Time)
		}
		return call.Answer{}, nil
	})
	g, err := e.Gate(owntools.Options{Profile: "p", Channels: []approvals.Channel{person}, Tools: []owntools.Tool{{
		Server: "bank", Tool: "pay", Title: "Pay", Display: prompt.Display{Keys: []string{"pin"}, String: 40},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	args := `{"to":"anna","pin":"4711-4712","api_key":"0123456789abcdef","note":"` + strings.Repeat("n", 400) + `"}`
	if _, err := g.Execute(t.Context(), owntools.Call{Server: "bank", Tool: "pay", Args: json.RawMessage(args)},
		(&executor{}).do); err == nil {
		t.Error("it was refused")
	}
	for where, text := range map[string]string{"the question": shown, "the log": log.String()} {
		if !strings.Contains(text, "anna") {
			t.Errorf("%s does not say what it is about:\n%s", where, text)
		}
		for _, raw := range []string{"4711-4712", "0123456789abcdef", strings.Repeat("n", 200)} {
			if strings.Contains(text, raw) {
				t.Errorf("%s has %q:\n%s", where, raw, text)
			}
		}
	}
}

// Many goroutines pass one Gate at once, each with its own arguments.
func TestGateFromManyGoroutines(t *testing.T) {
	e := open(t, fmt.Sprintf(gateRules, `, "limits": {"refusals": 1000}`))
	person := approvals.Approver("chat", func(_ context.Context, r *prompt.Request) (call.Answer, error) {
		if strings.Contains(string(r.Args), `7}`) {
			return call.Answer{}, nil
		}
		return call.Answer{Allowed: true}, nil
	})
	g, err := e.Gate(owntools.Options{Profile: "p", Channels: []approvals.Channel{person}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"n":%d}`, n)
			out, err := g.Execute(t.Context(), owntools.Call{Server: "bank", Tool: "pay", Args: json.RawMessage(args)},
				func(_ context.Context, got json.RawMessage) (json.RawMessage, error) { return got, nil })
			if refused := n%10 == 7; refused != (err != nil) || !refused && string(out) != args {
				t.Errorf("call %d: %s, %v", n, out, err)
			}
		})
	}
	wg.Wait()
}

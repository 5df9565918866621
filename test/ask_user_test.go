package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/runs/asking"
)

// A respondent is a person who is asked things by programs.
type respondent struct {
	mu     sync.Mutex
	asked  []string // what was shown
	answer func(r *prompt.Request) (call.Answer, error)
}

func (*respondent) Name() string   { return "elicitation" }
func (*respondent) Inquires() bool { return true }

func (p *respondent) Ask(ctx context.Context, r *approvals.Showing) (call.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, prompt.Text(r.Request, prompt.RenderOptions{}))
	reply, err := p.answer(r.Request)
	reply.Typed = true
	return reply, err
}

func answers(reply call.Answer) func(*prompt.Request) (call.Answer, error) {
	return func(*prompt.Request) (call.Answer, error) { return reply, nil }
}

const asks = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"]%s}}}}`

// S3.6: a program asks a person something and gets the answer, or is told that nobody gave one.
func TestAskUserInAProgram(t *testing.T) {
	accept := func(selected []int, text string) call.Answer {
		return call.Answer{Allowed: true, Selected: selected, Text: text}
	}
	const places = `{header: "Deploy", question: "Where to?", options: ["staging", {label: "production", description: "the real one"}]%s}`
	tests := []struct {
		why, question string
		channel       func(*prompt.Request) (call.Answer, error) // nil: no channel
		want          string
	}{
		{"one of them", fmt.Sprintf(places, ""), answers(accept([]int{1}, "")),
			`{"action":"accept","answer":"production","selected":["production"],"text":""}`},
		{"some of them", fmt.Sprintf(places, ", multiple: true"), answers(accept([]int{1, 0}, "")),
			`{"action":"accept","answer":"production, staging","selected":["production","staging"],"text":""}`},
		{"words", fmt.Sprintf(places, ", freeText: true"), answers(accept(nil, "nowhere")),
			`{"action":"accept","answer":"nowhere","selected":[],"text":"nowhere"}`},
		{"a question alone", `"How many?"`, answers(accept(nil, "3")),
			`{"action":"accept","answer":"3","selected":[],"text":"3"}`},
		{"declined", fmt.Sprintf(places, ""), answers(call.Answer{}),
			`{"action":"decline","answer":"","selected":[],"text":"","detail":"a person declined to answer"}`},
		{"closed", fmt.Sprintf(places, ""), func(*prompt.Request) (call.Answer, error) {
			time.Sleep(400 * time.Millisecond) // what is closed faster was closed by a program
			return call.Answer{}, prompt.ErrDismissed
		}, `{"action":"cancel","answer":"","selected":[],"text":"","reason":"canceled","detail":"the question was closed without an answer"}`},
		{"nobody there", fmt.Sprintf(places, ""), nil,
			`{"action":"cancel","answer":"","selected":[],"text":"","reason":"elicitation_unsupported","detail":"there is no means of asking a person here"}`},
		{"a yes without an answer", fmt.Sprintf(places, ""), answers(call.Answer{Allowed: true}),
			`{"action":"cancel","answer":"","selected":[],"text":"","reason":"no_approver","detail":"nobody could be asked: elicitation gave no clear answer"}`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			e := open(t, fmt.Sprintf(asks, ""))
			var channels []approvals.Channel
			if tt.channel != nil {
				channels = append(channels, &respondent{answer: tt.channel})
			}
			got := value[json.RawMessage](t, e, "p", "return await codemode.ask_user("+tt.question+")", channels...)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// S3.6: what a program asks is on record, with who answered and what, and no call is allowed by it.
func TestAskUserIsRecordedAndAllowsNothing(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, ""))
	p := &respondent{answer: func(r *prompt.Request) (call.Answer, error) {
		if r.Inquiry == nil {
			return call.Answer{Reason: "no"}, nil
		}
		return call.Answer{Allowed: true, Selected: []int{0}, By: "local:anna"}, nil
	}}
	got := value[string](t, e, "p", `
		const { answer } = await codemode.ask_user({ question: "May I write a.md?", options: ["yes, write it"] });
		try { await codemode.filesystem__write_file({ path: "a.md", content: "x" }); return answer + ", written" } catch (e) { return answer + ", " + e.reason }`, p)
	if got != "yes, write it, elicitation_declined" {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(p.asked[0],
		"A program asks you something, in its own words.\nYour answer goes to the program, and allows no call.") ||
		!strings.Contains(p.asked[0], `question: "May I write a.md?"`) {
		t.Errorf("shown:\n%s", p.asked[0])
	}
	var kept []string
	for _, entry := range e.Record().Journal().Entries() {
		if entry.Tool == "ask_user" {
			kept = append(kept, strings.Join([]string{entry.Kind, entry.DecidedBy, entry.Channel, entry.By, entry.Reason,
				entry.Shown.String(), string(entry.Result)}, " "))
		}
	}
	want := []string{
		`asked     {"question":"May I write a.md?","options":[{"label":"yes, write it"}]} `,
		`answer person elicitation local:anna answered  {"action":"accept","answer":"yes, write it","selected":["yes, write it"],"text":""}`,
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// S3.6, F1: the questions of programs are limited like those about calls, and count with them.
func TestF1QuestionsOfProgramsAreLimited(t *testing.T) {
	const three = `const out = [];
		for (let i = 0; i < 3; i++) try { out.push((await codemode.ask_user({question: "again?"})).action) } catch (e) { out.push(e.name + " " + e.reason) }
		try { await codemode.filesystem__write_file({path: "a.md", content: "x"}); out.push("written") } catch (e) { out.push(e.reason) }
		return out.join(", ");`
	for limit, want := range map[string]string{
		`"asks": 2`:          "decline, decline, ToolCallDeniedError limit, limit",
		`"asks": 3`:          "decline, decline, decline, limit",
		`"asksPerMinute": 1`: "decline, ToolCallDeniedError limit, ToolCallDeniedError limit, limit",
	} {
		t.Run(limit, func(t *testing.T) {
			p := &respondent{answer: answers(call.Answer{})}
			e := open(t, fmt.Sprintf(asks, `, "limits": {`+limit+`}`))
			if got := value[string](t, e, "p", three, p); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	p := &respondent{answer: answers(call.Answer{})}
	e := open(t, fmt.Sprintf(asks, ""))
	got := value[int](t, e, "p",
		`let n = 0; for (let i = 0; i < 30; i++) try { await codemode.ask_user({question: "again?"}); n++ } catch {} return n`, p)
	if got != 20 || len(p.asked) != 20 {
		t.Errorf("without limits in the profile %d questions were let through, %d asked", got, len(p.asked))
	}
}

// One question is open at a time, whether a program asks or the rules do.
func TestAskUserTakesTurns(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, ""))
	open := 0
	p := &respondent{}
	var guard sync.Mutex
	p.answer = func(r *prompt.Request) (call.Answer, error) {
		guard.Lock()
		open++
		if open > 1 {
			t.Error("two questions are open")
		}
		guard.Unlock()
		defer func() { guard.Lock(); open--; guard.Unlock() }()
		if r.Inquiry != nil {
			return call.Answer{Allowed: true, Text: "fine"}, nil
		}
		return allow(r), nil
	}
	got := value[string](t, e, "p", `
		const all = await Promise.all([
			codemode.ask_user("one?"), codemode.filesystem__write_file({path: "a.md", content: "x"}).then(() => ({answer: "written"})), codemode.ask_user("two?"),
		]);
		return all.map(a => a.answer).join(" ");`, p)
	if got != "fine written fine" {
		t.Errorf("got %q", got)
	}
}

// C10: the time that a person takes to answer is not the program's.
func TestAskUserStopsTheClock(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, `, "limits": {"wall": "500ms"}`))
	p := &respondent{answer: func(*prompt.Request) (call.Answer, error) {
		time.Sleep(1500 * time.Millisecond) // a person who takes longer than the program may
		return call.Answer{Allowed: true, Text: "later"}, nil
	}}
	if got := value[string](t, e, "p", `return (await codemode.ask_user("when?")).text`, p); got != "later" {
		t.Errorf("got %q", got)
	}
}

// What is no question is an exception that says what is wrong, and nobody is asked.
func TestAskUserArguments(t *testing.T) {
	p := &respondent{answer: answers(call.Answer{})}
	e := open(t, fmt.Sprintf(asks, ""))
	for args, want := range map[string]string{
		``:                                    "expected an object with a question",
		`{}`:                                  "there is no question",
		`{question: 7}`:                       "/question: expected text",
		`{question: "?", option: []}`:         "/option: expected one of the keys header, question, options, multiple and freeText",
		`{question: "?", options: [1]}`:       "/options: expected an array of texts, or of {label, description}",
		`{question: "?", options: ["a","a"]}`: "option 2 has the label of another one",
		`{question: "?", multiple: true}`:     "multiple needs options",
		`{question: "x".repeat(3000)}`:        "the question has 3000 characters, and 2000 is the most",
	} {
		got := value[string](t, e, "p",
			`try { await codemode.ask_user(`+args+`); return "asked" } catch (e) { return e.name + " " + e.message }`, p)
		if !strings.HasPrefix(got, "InvalidArgumentsError ask_user: ") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	if len(p.asked) > 0 {
		t.Errorf("asked %d times", len(p.asked))
	}
}

// G6: where it cannot be recorded that a person is asked, nobody is.
func TestAskUserNeedsARecord(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, ""), func(o *codemode.Options) { o.Recorder = full{} })
	p := &respondent{answer: answers(call.Answer{Allowed: true, Text: "x"})}
	got := value[string](t, e, "p",
		`try { await codemode.ask_user("?"); return "asked" } catch (e) { return e.reason + ": " + e.detail }`, p)
	if !strings.HasPrefix(got, "denied: recording that a person is asked failed") || len(p.asked) > 0 {
		t.Errorf("got %q, asked %d times", got, len(p.asked))
	}
}

// S3.6: a front end asks on behalf of a session, without a program.
func TestAskUserWithoutAProgram(t *testing.T) {
	e := open(t, fmt.Sprintf(asks, `, "limits": {"asksPerMinute": 1}`))
	p := &respondent{answer: answers(call.Answer{Allowed: true, Text: "here"})}
	r := codemode.Request{Profile: "p", Principal: "local:anna", Channels: []approvals.Channel{p}}
	got, err := e.Runs().AskUser(t.Context(), r, json.RawMessage(`{"question":"Where?"}`))
	if err != nil || got.Action != asking.ActionAccept || got.Text != "here" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := e.Runs().AskUser(t.Context(), r, json.RawMessage(`{"question":"Where?"}`)); err == nil ||
		!strings.Contains(err.Error(), "questions within a minute") {
		t.Errorf("over the limit: %+v, %v", got, err)
	}
	r.Principal = "local:bob"
	if _, err := e.Runs().AskUser(t.Context(), r, json.RawMessage(`{"question":"Where?"}`)); err != nil {
		t.Errorf("somebody else's limit: %v", err)
	}
	r.Profile = "none"
	if _, err := e.Runs().AskUser(t.Context(), r, json.RawMessage(`{"question":"Where?"}`)); err == nil {
		t.Error("a profile that there is not")
	}
}

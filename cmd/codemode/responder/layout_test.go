package responder

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/approvals/pending"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// sizes of terminals, the least first.
var sizes = []tea.WindowSizeMsg{{Width: 60, Height: 20}, {Width: 80, Height: 24}, {Width: 120, Height: 36}}

// plainly is the screen without colours.
func (p *typist) plainly() string { return styles.ReplaceAllString(p.screen.content(), "") }

// shows holds that parts are on the screen, and that nothing of it is outside of the terminal.
func (p *typist) shows(parts ...string) {
	p.t.Helper()
	text := p.plainly()
	words := strings.Join(strings.Fields(text), " ") // what is broken over lines
	for _, part := range parts {
		if !strings.Contains(text, part) && !strings.Contains(words, part) {
			p.t.Errorf("%q is missing from\n%s", part, text)
		}
	}
	if n := strings.Count(text, "\n") + 1; n > p.screen.height {
		p.t.Errorf("%d lines on a screen of %d", n, p.screen.height)
	}
}

// pays is a question about a payment, as package approvals describes it for a screen of that width.
func pays(n, width int, change ...func(*prompt.Request)) pending.Asked {
	r := &prompt.Request{
		Server: "pay", Tool: "create", Name: "pay__create", Profile: "supervised", Rule: "payments", Risk: call.Medium,
		Reasons: []string{"money leaves the account, and nobody can take it back from whoever has it then"},
		Args:    json.RawMessage(fmt.Sprintf(`{"to":"supplier %d","amount":{"value":"%d.00","currency":"EUR"}}`, n, n)),
		Run:     "r1", Call: n, Code: fmt.Sprintf("a00%d", n),
		Title: "Create a payment", Description: "Sends money. " + strings.Repeat("Use it with care. ", 10),
	}
	for _, c := range change {
		c(r)
	}
	a := asked(n)
	a.View = prompt.Render(r, prompt.RenderOptions{Width: width - 1})
	a.Summary, a.Tool, a.Risk = prompt.Summary(r), prompt.Heading(r), string(r.Risk)
	if r.Risk == call.High {
		a.Code, a.NeedsCode = r.Code, true
	}
	a.Args = r.Args
	forTime := "Allow pay.create with exactly these arguments for 5 minutes, as often as programs of yours ask for it"
	a.Offers = append(a.Offers, prompt.Offer{Scope: call.ForTime, Text: forTime})
	return a
}

// While a person answers, the arguments are on the screen, and each answer is whole when it is chosen.
func TestAnswersLeaveTheArgumentsInView(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprint(size.Width, "x", size.Height), func(t *testing.T) {
			var five []pending.Asked
			until := time.Date(2026, 11, 21, 12, 4, 0, 0, time.UTC)
			for n := range 5 {
				q := pays(n+1, size.Width)
				q.Expires = until
				five = append(five, q)
			}
			p := newTypist(t, five...)
			p.screen.Update(size)
			p.press("down", "down", "enter")
			all := p.screen.form.options()
			for i, o := range all {
				p.shows("3 of 5", "pay.create", "medium risk", `to: "supplier 3"`, `value: "3.00"`,
					"until "+until.Local().Format(time.TimeOnly))
				p.shows(fmt.Sprintf("answer %d of %d", i+1, len(all)))
				text := strings.Join(strings.Fields(p.plainly()), " ")
				if !strings.Contains(text, "> "+o.text) {
					t.Errorf("the chosen answer %q is cut:\n%s", o.text, p.plainly())
				}
				p.press("down")
			}
		})
	}
}

// A call of high risk, a plan and a batch are allowed only when every line was on the screen for long enough to be
// seen.
func TestWhatIsAllowedWasSeenToItsEnd(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprint(size.Width, "x", size.Height), func(t *testing.T) {
			script := "echo start; " + strings.Repeat("make all; ", 199) + "rm -rf /end"
			grave := pays(1, size.Width, func(r *prompt.Request) {
				r.Risk, r.Args = call.High, json.RawMessage(`{"script":"`+script+`"}`)
			})
			open := func() *typist {
				p := newTypist(t, grave)
				p.screen.Update(size)
				p.press("enter", "down", "down", "enter")
				return p
			}
			p := open()
			if strings.Contains(p.plainly(), "rm -rf /end") { // it fits
				p.shows("Type the code")
				return
			}
			p.shows("You have to see all of a call of this risk", "not shown yet")
			if p.screen.mode != answering {
				t.Fatalf("it may be allowed with its end unseen:\n%s", p.plainly())
			}
			for range 20 {
				p.press("pgdown")
			}
			p.shows("server's own words")
			p.press("enter")
			p.shows("Type the code of this question, a001")
			p.press("a001", "enter")
			if len(p.said) != 1 || !p.said[0].Yes || p.said[0].Code != "a001" {
				t.Errorf("said %+v", p.said)
			}

			if size != sizes[0] {
				return
			}
			p = open()
			for range 50 { // a key that is held down
				p.screen.content()
				p.clock = p.clock.Add(30 * time.Millisecond)
				p.screen.Update(tea.KeyPressMsg{Code: tea.KeyPgDown})
			}
			p.press("enter")
			if p.screen.mode != answering {
				t.Errorf("pages that were turned too fast count as seen:\n%s", p.plainly())
			}
		})
	}
}

// batch makes questions one batch, with a table and a row for each.
func batch(calls ...pending.Asked) terminal.Batch {
	b, text := terminal.Batch{ID: "run r1"}, "arguments that are the same in all: none"
	for _, c := range calls {
		row := "call " + c.ID[1:] + ", code a00" + c.ID[1:] + `: to: "supplier ` + c.ID[1:] + `"`
		b.IDs, b.Rows, text = append(b.IDs, c.ID), append(b.Rows, row), text+"\n"+row
	}
	b.Offers = []prompt.Offer{{Scope: call.Once, Text: fmt.Sprintf("Allow all %d calls, once each", len(calls))}}
	b.View.Blocks = []prompt.Block{{Heading: lines("calls: pay.create"), Arguments: lines(text)}}
	return b
}

func (p *typist) together(calls ...pending.Asked) {
	told := &terminal.Told{Kind: "pending", Calls: calls, Batches: []terminal.Batch{batch(calls...)}}
	p.screen.Update(toldMsg{p.link, told})
}

// The calls of one program are answered together, or some of them, or each by itself; and the answer is to what was
// read.
func TestABatchIsAnsweredTogether(t *testing.T) {
	five := func() (calls []pending.Asked) {
		for n := range 5 {
			calls = append(calls, pays(n+1, 80))
		}
		return calls
	}
	tests := []struct {
		why  string
		keys []string
		want string
	}{
		{"refused first", []string{"enter", "enter"}, "q1 no, q2 no, q3 no, q4 no, q5 no"},
		{"all with a reason", []string{"enter", "down", "enter", "too much", "enter"},
			"q1 no too much, q2 no too much, q3 no too much, q4 no too much, q5 no too much"},
		{"all allowed", []string{"enter", "down", "down", "enter"}, "q1 yes, q2 yes, q3 yes, q4 yes, q5 yes"},
		{"two that are marked", []string{"down", "down", " ", "down", "down", " ", "up", "up", "up", "up", "enter", "down",
			"down", "enter"}, "q2 yes, q4 yes"},
		{"the others then", []string{" ", "down", "down", " ", "up", "up", "enter", "enter"}, "q1 no, q3 no, q4 no, q5 no"},
		{"none is marked any more", []string{" ", " ", "enter", "enter"}, "q1 no, q2 no, q3 no, q4 no, q5 no"},
		{"one of them by itself", []string{"down", "down", "down", "enter", "down", "down", "enter"}, "q3 yes"},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			p := newTypist(t)
			p.together(five()...)
			p.shows("5 questions", "batch", "5 calls: pay.create", `[ ] call 1, code a001: to: "supplier 1"`)
			p.press(test.keys...)
			var got []string
			for _, s := range p.said {
				answer := s.ID + " no"
				if s.Yes {
					answer = s.ID + " yes"
				}
				got = append(got, strings.TrimSpace(answer+" "+s.Reason))
				if s.Digest != "d"+s.ID[1:] || s.Kind != "answer" {
					t.Errorf("said %+v", s)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	p := newTypist(t)
	calls := five()
	p.together(calls[:4]...)
	p.press("enter", "down", "down")
	p.together(calls...) // another joins
	for range 5 {        // in flight
		p.screen.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	}
	if len(p.said) != 0 {
		t.Errorf("an answer to four calls is given to five: %+v", p.said)
	}
	p.shows("The calls of this batch have changed.")

	p = newTypist(t)
	p.together(calls[:4]...)
	told := &terminal.Told{Kind: "shown", ID: "run r1", IDs: batch(calls[:4]...).IDs, View: batch(calls[:4]...).View}
	p.screen.Update(toldMsg{p.link, told}) // all of it
	p.together(calls...)
	p.screen.Update(toldMsg{p.link, told})                           // late
	if text := p.plainly(); strings.Count(text, "supplier 5") != 2 { // in the list and below it
		t.Errorf("what was shown of four calls stands for five:\n%s", text)
	}

	p = newTypist(t)
	var fifty []pending.Asked
	for n := range 50 {
		fifty = append(fifty, pays(n+1, 80))
	}
	p.screen.Update(sizes[0])
	p.together(fifty...)
	p.press("enter", "down", "down", "enter")
	p.shows("You have to see all calls before you allow them")
	for range 10 {
		p.press("pgdown")
	}
	p.shows(`supplier 50`)
	p.press("enter")
	if len(p.said) != 50 {
		t.Errorf("%d answers", len(p.said))
	}
	p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "answered", ID: "q1"}})
	p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "outcome", ID: "q1", Text: "done in 3ms"}})
	p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "answered", ID: "q2", Error: "somebody else was faster"}})
	p.shows("Allowed, 1 done, 1 not accepted: somebody else was", "50 calls")
}

// After an answer the screen says what became of it.
func TestTheOutcomeOfAnAnswerIsShown(t *testing.T) {
	told := func(p *typist, kind, text, wrong string) {
		p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: kind, ID: "q1", Text: text, Error: wrong}})
	}
	p := newTypist(t, pays(1, 100), pays(2, 100))
	p.press("enter", "down", "down", "enter")
	p.shows(`Allowed, sent: pay.create to: "supplier 1"`, "(sent)")
	p.press("enter")
	p.shows("Your answer was already sent.")
	if p.screen.mode != choosing || len(p.said) != 1 {
		t.Errorf("a question is answered twice: %+v", p.said)
	}
	told(p, "answered", "", "")
	p.pending(pays(2, 100))
	p.shows("Allowed, not done yet: pay.create")
	told(p, "outcome", "failed: the bank is closed\x1b[2J", "")
	p.shows(`Allowed, failed: the bank is closed\u{1b}[2J: pay.create to: "supplier 1"`)

	p = newTypist(t, pays(1, 100))
	p.press("enter", "enter")
	told(p, "answered", "", "somebody else was faster")
	p.shows("Not refused, somebody else was faster: pay.create", "Not accepted: somebody else was faster")
	if p.screen.mode != choosing {
		t.Error("it is answered")
	}
	p.fails = fmt.Errorf("broken pipe")
	p.press("enter", "enter")
	p.shows("Not sent: broken pipe")
	p.fails = nil
	p.press("enter", "enter") // it was not sent
	if len(p.said) != 3 {
		t.Errorf("said %+v", p.said)
	}
}

// The line of the chosen question stays where it is on the screen, and the choice goes on with what came behind an
// answer.
func TestTheSelectionStays(t *testing.T) {
	var many []pending.Asked
	for n := range 30 {
		many = append(many, pays(n+1, 80))
	}
	p := newTypist(t, many...)
	p.screen.Update(sizes[1])
	line := func() int {
		return slices.IndexFunc(strings.Split(p.plainly(), "\n"), func(l string) bool { return strings.HasPrefix(l, "> ") })
	}
	p.press("down", "down", "down", "down", "down", "down", "down")
	at := line()
	for range 3 { // up within the list moves the line and not the list
		before := p.screen.list.top
		p.press("up")
		if at--; line() != at || p.screen.list.top != before {
			t.Errorf("the list slides:\n%s", p.plainly())
		}
	}
	chosen := p.screen.list.chosen
	p.pending(slices.DeleteFunc(slices.Clone(many), func(a pending.Asked) bool { return a.ID == chosen })...)
	if want := "q6"; chosen != "q5" || p.screen.list.chosen != want || line() != at {
		t.Errorf("behind %s comes %s in line %d, want %s in line %d:\n%s", chosen, p.screen.list.chosen, line(), want, at,
			p.plainly())
	}
}

// Arguments can be changed on this screen when no editor is set, and what was written stays when it is not taken.
func TestArgumentsAreChangedOnTheScreen(t *testing.T) {
	for _, size := range sizes {
		p := newTypist(t, pays(1, size.Width), pays(2, size.Width))
		p.screen.Update(size)
		p.press("enter", "down", "down", "down", "down", "down")
		p.shows("> Change the arguments, and allow those")
		p.press("enter")
		p.shows(`"to": "supplier 1"`, `"value": "1.00"`, "ctrl+s allow with these arguments", "esc back")
		p.press("ctrl+s")
		p.shows("The arguments have not changed.")
		p.press("down", "end", "backspace") // the comma behind the name
		p.press("ctrl+s")
		p.shows("is not JSON: a comma is missing", "line 2, column 20")
		p.press("esc")
		p.shows("> Continue changing the arguments", "Your text is kept.")
		p.press("enter", "down", "end", ",")
		p.press("down", "end", "down", "end", "left", "left", "left", "left", "left", "left", "9", "ctrl+s")
		want := `{"to":"supplier 1","amount":{"value":"91.00","currency":"EUR"}}`
		if len(p.said) != 1 || !p.said[0].Yes || p.said[0].Digest != "d1" || compact(t, p.said[0].Args) != want {
			t.Fatalf("said %+v, want %s\n%s", p.said, want, p.plainly())
		}
		p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "answered", ID: "q1",
			Error: "/amount/value: the profile denies more than 90"}})
		p.shows("Not accepted: /amount/value: the profile denies more than 90", `"value": "91.00"`)
		p.press("backspace", "8", "ctrl+s")
		if want := strings.Replace(want, "91", "81", 1); len(p.said) != 2 || compact(t, p.said[1].Args) != want {
			t.Errorf("said %+v, want %s", p.said, want)
		}
		p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "answered", ID: "q1"}})
		p.pending(pays(2, size.Width))
		p.shows("Allowed with changes, not done yet: pay.create")
	}
}

func compact(t *testing.T, args json.RawMessage) string {
	t.Helper()
	form, err := strictjson.Canonical(args)
	if err != nil {
		t.Fatalf("%v: %s", err, args)
	}
	var v struct {
		To     string `json:"to"`
		Amount struct {
			Value    string `json:"value"`
			Currency string `json:"currency"`
		} `json:"amount"`
	}
	if err := json.Unmarshal(form, &v); err != nil {
		t.Fatal(err)
	}
	js, _ := json.Marshal(v)
	return string(js)
}

// Changed arguments of a high risk need what the call itself would: that it was seen, and its code.
func TestChangedArgumentsOfAHighRiskNeedTheCode(t *testing.T) {
	p := newTypist(t, pays(1, 100, func(r *prompt.Request) { r.Risk = call.High }))
	p.press("enter", "down", "down", "down", "down", "down", "enter", "down", "end", "left", "left", "x", "ctrl+s")
	p.shows("Type the code of this question, a001, to choose: your arguments")
	if len(p.said) != 0 {
		t.Fatalf("said %+v", p.said)
	}
	p.press("a001", "enter")
	if len(p.said) != 1 || p.said[0].Code != "a001" || !strings.Contains(string(p.said[0].Args), `supplier 1x`) {
		t.Errorf("said %+v", p.said)
	}
}

// Characters that do not show are escaped where arguments are changed, and what is sent means the same.
func TestTheEditorShowsWhatDoesNotShow(t *testing.T) {
	p := newTypist(t, pays(1, 100, func(r *prompt.Request) {
		r.Args = json.RawMessage("{\"to\":\"a\u202eb\u00ad\",\"n\":12345678901234567890}")
	}))
	p.press("enter", "down", "down", "down", "down", "down", "enter")
	p.shows(`"a\u202eb\u00ad"`)
	p.press("down", "down", "end", "7", "ctrl+s")
	if got := string(p.said[0].Args); !strings.Contains(got, "12345678901234567890") ||
		!strings.Contains(got, `a\u202eb\u00ad`) {
		t.Errorf("said %s", got)
	}
}

// An editor of the person's own gives its text back; one that fails changes nothing; what is no JSON is kept for the
// next time.
func TestArgumentsAreChangedInAnEditorOfOnesOwn(t *testing.T) {
	p := newTypist(t, pays(1, 100))
	p.screen.env = func(name string) string { return map[string]string{"EDITOR": "ed -s"}[name] }
	p.press("enter", "down", "down", "down", "down", "down")
	draft := func(text string, err error) { p.screen.Update(editedMsg{id: "q1", text: text, err: err}) }
	draft("", fmt.Errorf("editor failed"))
	p.shows("Not changed: editor failed")
	draft(`{"to":`, nil)
	p.shows("line 1, column 7 is not JSON", "Your text is kept.", "> Continue changing the arguments")
	p.screen.Update(editedMsg{id: "q9", text: `{}`})
	if len(p.said) != 0 || p.screen.form.drafts["q1"] != `{"to":` {
		t.Errorf("said %+v, drafts %v", p.said, p.screen.form.drafts)
	}
	draft(`{"to":"b"}`, nil)
	if len(p.said) != 1 || string(p.said[0].Args) != `{"to":"b"}` || !p.said[0].Yes {
		t.Errorf("said %+v", p.said)
	}
	p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "answered", ID: "q1", Error: "no"}})
	if p.shows("Not accepted: no", "> Continue changing the arguments"); p.screen.form.drafts["q1"] != `{"to":"b"}` {
		t.Errorf("drafts %v", p.screen.form.drafts)
	}
}

// A line of a question that is too long for the screen goes on in the next, and nothing of it is lost or begins a line
// of its own.
func TestLongLinesAreFolded(t *testing.T) {
	a := asked(1)
	a.View.Blocks[0].Arguments = lines("  x: " + strings.Repeat("word ", 60) + "END")
	p := newTypist(t, a)
	p.screen.Update(sizes[0])
	if text := p.plainly(); strings.Count(text, "word") != 60 || !strings.Contains(text, "END") {
		t.Errorf("something is lost:\n%s", text)
	}
	for line := range strings.Lines(p.plainly()) {
		if strings.Contains(line, "word") && !strings.HasPrefix(line, "      x: ") && !strings.HasPrefix(line, "        | ") {
			t.Errorf("data begins the line %q", line)
		}
	}
}

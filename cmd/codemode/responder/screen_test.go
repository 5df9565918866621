package responder

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/approvals/pending"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
)

// A seat at a screen whose keys are pressed by a test, a second after the other.
type typist struct {
	t      *testing.T
	screen *screen
	link   *link
	said   []terminal.Said
	fails  error
	clock  time.Time
}

func newTypist(t *testing.T, calls ...pending.Asked) *typist {
	p := &typist{t: t, screen: newScreen(), clock: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	p.screen.now, p.screen.env = func() time.Time { return p.clock }, func(string) string { return "" }
	p.link = &link{say: func(s terminal.Said) error {
		if s.Kind != "width" {
			p.said = append(p.said, s)
		}
		return p.fails
	}}
	p.screen.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "hello"}})
	p.pending(calls...)
	return p
}

func (p *typist) pending(calls ...pending.Asked) {
	p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "pending", Calls: calls}})
}

var named = map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "enter": tea.KeyEnter, "esc": tea.KeyEscape,
	"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "left": tea.KeyLeft, "end": tea.KeyEnd, "backspace": tea.KeyBackspace}

// press presses keys: names of keys, or texts that are typed letter by letter. It returns whether the last one quits.
func (p *typist) press(keys ...string) bool {
	p.t.Helper()
	quits := false
	one := func(k tea.KeyPressMsg) {
		p.screen.content() // it is seen before
		p.clock = p.clock.Add(time.Second)
		_, cmd := p.screen.Update(k)
		quits = p.screen.mode != editing && cmd != nil && fmt.Sprintf("%T", cmd()) == "tea.QuitMsg"
	}
	for _, key := range keys {
		if code, ok := named[key]; ok {
			one(tea.KeyPressMsg{Code: code})
			continue
		}
		if ctrl, ok := strings.CutPrefix(key, "ctrl+"); ok {
			one(tea.KeyPressMsg{Code: rune(ctrl[0]), Mod: tea.ModCtrl})
			continue
		}
		for _, r := range key {
			one(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return quits
}

// asked is a question about number n.
func asked(n int, change ...func(*pending.Asked)) pending.Asked {
	a := pending.Asked{
		ID: fmt.Sprint("q", n), Digest: fmt.Sprint("d", n), Kind: "call", Tool: fmt.Sprintf("fs.write%d", n),
		Summary: fmt.Sprintf("fs.write%d path: \"/data/%d\"", n, n), Risk: "medium",
		View: prompt.View{Opening: lines("A program asks to make this call."),
			Blocks: []prompt.Block{{Heading: lines(fmt.Sprintf("fs.write%d", n)), Facts: lines("risk      medium")}}},
		Since: time.Date(2026, 11, 21, 11, 59, n, 0, time.UTC),
		Offers: []prompt.Offer{{Scope: call.Once, Text: "Allow this call"},
			{Scope: call.ForRun, Text: "Allow fs.write with any arguments for this run, at most 50 times"}},
	}
	for _, c := range change {
		c(&a)
	}
	return a
}

// lines are those of a part of a question.
func lines(text string) (all [][]prompt.Span) {
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, []prompt.Span{{Text: line}})
	}
	return all
}

// wonders makes a question one of a program.
func wonders(multiple, freeText bool) func(*pending.Asked) {
	return func(a *pending.Asked) {
		a.Kind, a.Offers, a.Inquiry = "question", nil, &prompt.Inquiry{Question: "Which?",
			Options: []prompt.Option{{Label: "a"}, {Label: "b"}}, Multiple: multiple, FreeText: freeText}
	}
}

// plan offers a plan that takes so many lines.
func plan(n int) func(*pending.Asked) {
	return func(a *pending.Asked) {
		a.View.Plan = lines(strings.Repeat("fs.write\n", n-1) + "fs.write")
		a.Offers = append(a.Offers, prompt.Offer{Scope: call.ForPlan, Text: "Allow this and the plan"})
	}
}

func high(a *pending.Asked)   { a.Risk, a.Code, a.NeedsCode = "high", "7f3a", true }
func unseen(a *pending.Asked) { a.MustSee, a.View.Cut = true, true }

// S3.7: what keys do, and what is sent for them.
func TestApprovalsKeys(t *testing.T) {
	answer := func(n int, change func(*terminal.Said)) terminal.Said {
		s := terminal.Said{Kind: "answer", ID: fmt.Sprint("q", n), Digest: fmt.Sprint("d", n)}
		change(&s)
		return s
	}
	yes := func(s *terminal.Said) { s.Yes, s.Scope = true, call.Once }
	no := func(s *terminal.Said) {}
	tests := []struct {
		why   string
		calls []pending.Asked
		keys  []string
		want  []terminal.Said
	}{
		{"A16: one key answers nothing", []pending.Asked{asked(1)}, []string{"enter"}, nil},
		{"A16: a no is what comes first", []pending.Asked{asked(1)}, []string{"enter", "enter"},
			[]terminal.Said{answer(1, no)}},
		{"letters answer nothing", []pending.Asked{asked(1)}, []string{"yyynnn", "enter", "yyy"}, nil},
		{"allow", []pending.Asked{asked(1)}, []string{"enter", "down", "down", "enter"}, []terminal.Said{answer(1, yes)}},
		{"allow for the run", []pending.Asked{asked(1)}, []string{"enter", "down", "down", "down", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Scope = true, call.ForRun })}},
		{"not beyond the last answer", []pending.Asked{asked(1)}, []string{"enter", "down", "down", "down", "down", "down",
			"enter"}, []terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Scope = true, call.ForRun })}},
		{"allow for the run, for fewer calls and a shorter time", []pending.Asked{asked(1)},
			[]string{"enter", "down", "down", "down", "l", "5 15m", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) {
				s.Yes, s.Scope, s.Uses, s.Length = true, call.ForRun, 5, 15*time.Minute
			})}},
		{"allow for the run, as offered after all", []pending.Asked{asked(1)}, []string{"enter", "down", "down", "down", "l",
			"5", "esc", "enter"}, []terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Scope = true, call.ForRun })}},
		{"what is no limit is not sent", []pending.Asked{asked(1)}, []string{"enter", "down", "down", "down", "l", "five",
			"enter"}, nil},
		{"once has no limits", []pending.Asked{asked(1)}, []string{"enter", "down", "down", "l", "enter"},
			[]terminal.Said{answer(1, yes)}},
		{"a high risk within limits", []pending.Asked{asked(1, high)}, []string{"enter", "down", "down", "down", "l", "2",
			"enter", "7f3a", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) {
				s.Yes, s.Scope, s.Uses, s.Code = true, call.ForRun, 2, "7f3a"
			})}},
		{"esc goes back", []pending.Asked{asked(1)}, []string{"enter", "down", "down", "esc", "enter", "enter"},
			[]terminal.Said{answer(1, no)}},
		{"the second question", []pending.Asked{asked(1), asked(2)}, []string{"down", "enter", "down", "down", "enter"},
			[]terminal.Said{answer(2, yes)}},
		{"up and down", []pending.Asked{asked(1), asked(2), asked(3)}, []string{"down", "down", "down", "up", "enter",
			"enter"}, []terminal.Said{answer(2, no)}},
		{"ask_user: declined first", []pending.Asked{asked(1, wonders(false, false))}, []string{"enter", "enter"},
			[]terminal.Said{answer(1, no)}},
		{"ask_user: one of them", []pending.Asked{asked(1, wonders(false, false))},
			[]string{"enter", "down", "down", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Selected = true, []int{1} })}},
		{"ask_user: words", []pending.Asked{asked(1, wonders(false, true))},
			[]string{"enter", "down", "down", "down", "enter", "enter", "as you like it", "backspace", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Text, s.Selected = true, "as you like i", nil })}},
		{"ask_user: some of them", []pending.Asked{asked(1, wonders(true, false))},
			[]string{"enter", "down", "down", " ", "up", "enter", "down", "down", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Selected = true, []int{0, 1} })}},
		{"ask_user: ticked and not", []pending.Asked{asked(1, wonders(true, false))},
			[]string{"enter", "down", "enter", "enter", "down", "down", "enter"}, nil},
		{"ask_user: some and words", []pending.Asked{asked(1, wonders(true, true))},
			[]string{"enter", "down", " ", "down", "down", "enter", "x", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Selected, s.Text = true, []int{0}, "x" })}},
		{"ask_user: esc takes nothing along to another question", []pending.Asked{asked(1, wonders(true, false)),
			asked(2, wonders(true, false))},
			[]string{"enter", "down", " ", "esc", "down", "enter", "down", "down", " ", "down", "enter"},
			[]terminal.Said{answer(2, func(s *terminal.Said) { s.Yes, s.Selected = true, []int{1} })}},
		{"a plan that was read", []pending.Asked{asked(1, plan(3))}, []string{"enter", "down", "down", "down", "down",
			"enter"}, []terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Scope = true, call.ForPlan })}},
		{"a plan that was read to its end", []pending.Asked{asked(1, plan(30))},
			[]string{"enter", "down", "down", "down", "down", "enter", "pgdown", "pgdown", "pgdown", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Scope = true, call.ForPlan })}},
		{"a plan that was not read to its end", []pending.Asked{asked(1, plan(200))},
			[]string{"enter", "down", "down", "down", "down", "enter"}, nil},
		{"a plan whose end alone was read", []pending.Asked{asked(1, plan(200))},
			[]string{"enter", "down", "down", "down", "down", "enter", "enter"}, nil},
		{"a reason", []pending.Asked{asked(1)}, []string{"enter", "down", "enter", "use q, not kx", "backspace", "enter"},
			[]terminal.Said{answer(1, func(s *terminal.Said) { s.Reason = "use q, not k" })}},
		{"no reason after all", []pending.Asked{asked(1)}, []string{"enter", "down", "enter", "use", "esc", "esc"}, nil},
		{"a high risk needs its code", []pending.Asked{asked(1, high)}, []string{"enter", "down", "down", "enter", "7f3a",
			"enter"}, []terminal.Said{answer(1, func(s *terminal.Said) { s.Yes, s.Scope, s.Code = true, call.Once, "7f3a" })}},
		{"and takes no other", []pending.Asked{asked(1, high)}, []string{"enter", "down", "down", "enter", "0000", "enter",
			"enter"}, nil},
		{"a high risk that is not shown whole is shown first", []pending.Asked{asked(1, high, unseen)},
			[]string{"enter", "down", "down", "enter"}, []terminal.Said{{Kind: "show", ID: "q1"}}},
		{"s shows it whole", []pending.Asked{asked(1, unseen)}, []string{"s"}, []terminal.Said{{Kind: "show", ID: "q1"}}},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			p := newTypist(t, test.calls...)
			p.press(test.keys...)
			if diff := cmp.Diff(test.want, p.said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
	for keys, want := range map[string]bool{"q": true, "x": false} {
		if got := newTypist(t).press(keys); got != want {
			t.Errorf("%s quits: %v", keys, got)
		}
	}
	if p := newTypist(t, asked(1)); p.press("enter", "down", "enter", "q") {
		t.Error("a letter of a reason quits")
	}
}

// An answer is to what was read: the choice stays with its question when others come and go, and keys that were meant
// for one that has just gone do nothing.
func TestApprovalsChoiceStays(t *testing.T) {
	p := newTypist(t, asked(2), asked(3))
	p.press("down", "enter", "down", "down")
	p.pending(asked(1), asked(3)) // one comes before it, another is gone
	p.press("enter")
	if len(p.said) != 1 || p.said[0].ID != "q3" || p.said[0].Digest != "d3" {
		t.Errorf("said %+v", p.said)
	}

	p = newTypist(t, asked(1), asked(2))
	p.press("enter", "down", "down")
	p.pending(asked(2)) // answered elsewhere
	if !strings.Contains(p.screen.content(), "That question was answered, or its time is over.") {
		t.Errorf("nothing says why it is gone:\n%s", p.screen.content())
	}
	for range 5 { // in flight
		p.screen.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	}
	if len(p.said) != 0 || p.screen.mode != choosing {
		t.Errorf("said %+v", p.said)
	}
	p.press("enter")
	if p.screen.mode != answering || p.screen.form.answer != 0 {
		t.Error("the next question does not begin with its refusal")
	}
}

// What is shown: the queue, the question as every channel shows it, answers, and what went wrong.
func TestApprovalsScreen(t *testing.T) {
	p := newTypist(t)
	shows := func(parts ...string) {
		t.Helper()
		text := p.screen.content()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is missing from\n%s", part, text)
			}
		}
		if n := strings.Count(text, "\n") + 1; n > p.screen.height {
			t.Errorf("%d lines on a screen of %d", n, p.screen.height)
		}
	}
	shows("0 questions", "1 process connected", "No question waits", "q quit")
	p.pending(asked(1), asked(2, high))
	shows("2 questions", `fs.write1 path: "/data/1"`, "high", "    fs.write1")
	p.press("enter")
	shows("1 of 2  ", "  medium risk", "answer 1 of 4", "> Refuse", "Refuse, and say why",
		"Allow fs.write with any arguments for this run")
	p.press("esc", "down", "enter", "down", "down", "enter")
	shows("Type the code of this question, 7f3a, to choose: Allow this call")
	p.press("0000", "enter")
	shows("That is not the code of this question.")
	p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "answered", ID: "q2", Error: "somebody else was faster"}})
	shows("Not accepted: somebody else was faster")
	p.fails = errors.New("broken pipe")
	p.press("esc", "esc", "s")
	shows("Not sent: broken pipe")
	p.screen.Update(problemMsg{"the permissions of /x are wrong\x1b[2J"})
	shows(`the permissions of /x are wrong\u{1b}[2J`)

	long := ""
	for i := range 100 {
		long += fmt.Sprintf("line %d\n", i)
	}
	p.screen.Update(toldMsg{p.link, &terminal.Told{Kind: "shown", ID: "q2", IDs: []string{"q2"},
		View: prompt.View{Preview: lines(long)}}})
	shows("line 0", "more lines below: page down")
	for range 20 {
		p.press("pgdown")
	}
	shows("line 99")
	for _, size := range []tea.WindowSizeMsg{{Width: 1, Height: 1}, {Width: 20, Height: 5}, {Width: 300, Height: 100},
		{}} {
		p.screen.Update(size)
		p.screen.content()
	}
	p.screen.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	p.screen.Update(goneMsg{p.link})
	shows("0 questions", `No "codemode serve" of this user is running.`)
}

// A question that several processes tell of is there once, and stays while one of them does.
func TestAQuestionOfSeveralProcessesIsShownOnce(t *testing.T) {
	p := newTypist(t, asked(1), asked(2))
	other := &link{say: func(s terminal.Said) error { return nil }}
	p.screen.Update(toldMsg{other, &terminal.Told{Kind: "hello"}})
	p.screen.Update(toldMsg{other, &terminal.Told{Kind: "pending", Calls: []pending.Asked{asked(2), asked(3)}}})
	ids := func() (all string) {
		for _, w := range p.screen.inbox.waiting {
			all += w.ID + " "
		}
		return all
	}
	if got := ids(); got != "q1 q2 q3 " {
		t.Errorf("shown: %s", got)
	}
	p.screen.Update(goneMsg{p.link})
	if got := ids(); got != "q2 q3 " {
		t.Errorf("with one process gone: %s", got)
	}
}

// S3.8: a screen that was opened by itself leaves when nobody has asked for a while; one that a person opened does not.
func TestAScreenLeavesWhenItIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the screen waits between two looks
		for _, leave := range []bool{true, false} {
			p := newTypist(t)
			p.screen.leave = leave
			quits := func(after time.Duration) bool {
				p.clock = p.clock.Add(after)
				_, cmd := p.screen.Update(tickMsg{})
				return cmd != nil && fmt.Sprintf("%T", cmd()) == "tea.QuitMsg"
			}
			if quits(time.Hour) {
				t.Error("it leaves a process that is there")
			}
			p.screen.Update(goneMsg{p.link})
			if quits(time.Second) || quits(leaveAfter-time.Second) {
				t.Error("it leaves at once")
			}
			if got := quits(2 * time.Second); got != leave {
				t.Errorf("leaves: %v, want %v", got, leave)
			}
		}
	})
}

// H6: of five questions three are allowed and two refused, with keys alone; each answer is to the question that was
// chosen.
func TestH6ThreeOfFiveWithKeysAlone(t *testing.T) {
	var five []pending.Asked
	for n := range 5 {
		five = append(five, asked(n+1))
	}
	p := newTypist(t, five...)
	answered := func(n int) { // the question is gone
		five = slices.DeleteFunc(five, func(a pending.Asked) bool { return a.ID == fmt.Sprint("q", n) })
		p.pending(five...)
	}
	allow, refuse := []string{"enter", "down", "down", "enter"}, []string{"enter", "enter"}
	p.press(allow...)
	answered(1)
	p.press(append([]string{"down"}, refuse...)...)
	answered(3)
	p.press(append([]string{"up"}, allow...)...) // the choice is on what came behind the answer
	answered(2)
	p.press(append([]string{"down"}, allow...)...)
	answered(5)
	p.press(refuse...)
	var got []string
	for _, s := range p.said {
		got = append(got, fmt.Sprintf("%s %v", s.ID, s.Yes))
	}
	if diff := cmp.Diff([]string{"q1 true", "q3 false", "q2 true", "q5 true", "q4 false"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

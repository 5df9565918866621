package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// A screen collects what is written and lets a test wait for it.
type screen struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    string
}

func newScreen() *screen {
	s := &screen{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(b)
	s.changed.Broadcast()
	return len(b), nil
}

// wait returns all that was written once it holds want n times.
func (s *screen) wait(want string, n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for strings.Count(s.text, want) < n {
		s.changed.Wait()
	}
	return s.text
}

// A sitting is a terminal with a person who types each line when the next prompt appears.
func sitting(t *testing.T, r *prompt.Request, lines ...string) (call.Answer, string, error) {
	t.Helper()
	in, keyboard := io.Pipe()
	out := newScreen()
	c := New(in, out, Options{Plain: true})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i, l := range lines {
			out.wait("Type ", i+1)
			io.WriteString(keyboard, l+"\n")
		}
	}()
	reply, err := c.Ask(t.Context(), &approvals.Showing{Request: r})
	<-done
	keyboard.Close()
	return reply, out.text, err
}

func TestTerminal(t *testing.T) {
	const (
		allow  = "allow"
		refuse = "refuse"
		none   = "none"
	)
	long := json.RawMessage(`{"a":"` + strings.Repeat("x", 50000) + `&& end"}`)
	secret := json.RawMessage(`{"password":"abcdefgh"}`)
	tests := []struct {
		why    string
		risk   call.Risk
		args   json.RawMessage
		typed  []string
		want   string
		reason string
		shows  string
	}{
		{"yes", call.Medium, nil, []string{"yes"}, allow, "", "Type yes to allow, no to refuse (a reason may follow): "},
		{"y", call.Low, nil, []string{"y"}, allow, "", ""},
		{"in capitals, with blanks", call.Medium, nil, []string{"  YES  "}, allow, "", ""},
		{"no", call.Medium, nil, []string{"no"}, refuse, "", ""},
		{"n", call.Medium, nil, []string{"N"}, refuse, "", ""},
		{"no with a reason", call.Medium, nil, []string{"no use the other folder"}, refuse, "use the other folder", ""},
		{"no, with a comma", call.Medium, nil, []string{"No, not there"}, refuse, "not there", ""},
		{"Enter alone is no answer", call.Medium, nil, []string{"", "no"}, refuse, "", "Please type yes or no."},
		{"another word is no answer", call.Medium, nil, []string{"sure", "ok", "yess", "yes"}, allow, "",
			"Please type yes or no."},
		{"yes with more is no answer", call.Medium, nil, []string{"yes but not there", "no"}, refuse, "",
			"Please type yes or no."},
		{"five times no answer", call.Medium, nil, []string{"a", "b", "c", "d", "e"}, none, "", ""},
		{"a look-alike", call.Medium, nil, []string{"ye\u0455", "no"}, refuse, "", ""},
		{"a high risk wants the code", call.High, nil, []string{"yes", "y", "yes 7f3b", "yes 7f3a"}, allow, "",
			"Please type yes 7f3a or no."},
		{"a wrong code is called so", call.High, nil, []string{"yes 7f3b", "yes 7f3a"}, allow, "",
			"The code is wrong. Please type yes 7f3a or no."},
		{"the code alone will do", call.High, nil, []string{"7f3a"}, allow, "", "Type yes 7f3a to allow"},
		{"so does critical", call.Critical, nil, []string{"yes", "yes 7F3A", "yes 7f3a"}, allow, "", ""},
		{"and an unknown risk", "hgih", nil, []string{"yes", "no"}, refuse, "", "unknown, treated as critical"},
		{"a refusal needs no code", call.Critical, nil, []string{"no"}, refuse, "", ""},
		{"a cut call", call.Medium, long, []string{"yes"}, allow, "", "show to see all of it"},
		{"show", call.Medium, long, []string{"show", "no"}, refuse, "", strings.Repeat("x", 60)},
		{"show reveals", call.Medium, secret, []string{"show", "yes"}, allow, "", `password: "abcdefgh"`},
		{"a high risk is seen whole first", call.High, long, []string{"yes 7f3a", "show", "yes 7f3a"}, allow, "",
			"Please type show first"},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			r := request(test.risk)
			if test.args != nil {
				r.Args = test.args
			}
			reply, shown, err := sitting(t, r, test.typed...)
			got := none
			switch {
			case err == nil && reply.Allowed:
				got = allow
			case err == nil:
				got = refuse
			case !errors.Is(err, prompt.ErrUnclear):
				t.Errorf("got %v", err)
			}
			if got != test.want || reply.Reason != test.reason {
				t.Errorf("got %s %q (%v), want %s %q", got, reply.Reason, err, test.want, test.reason)
			}
			if (err == nil) != reply.Typed {
				t.Errorf("typed %v with %v", reply.Typed, err)
			}
			if !strings.Contains(shown, "github.create_issue") || !strings.Contains(shown, test.shows) {
				t.Errorf("want %q in\n%s", test.shows, shown)
			}
			checkInert(t, shown)
		})
	}
}

func TestAHighRiskGetsACode(t *testing.T) {
	in, keyboard := io.Pipe()
	out := newScreen()
	go func() {
		_, code, _ := strings.Cut(out.wait("Type yes ", 1), "Type yes ")
		io.WriteString(keyboard, "yes "+code[:4]+"\n")
	}()
	r := request(call.High)
	r.Code = ""
	reply, err := New(in, out, Options{Plain: true}).Ask(t.Context(), &approvals.Showing{Request: r})
	if err != nil || !reply.Allowed || r.Code != "" {
		t.Errorf("got %+v, %v; the request has code %q", reply, err, r.Code)
	}
}

func TestNobodyAtTheTerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/in")
	checktest.OK(t, err)
	defer file.Close()
	file.WriteString("yes\nyes\n")
	file.Seek(0, 0)
	pipe, w, err := os.Pipe()
	checktest.OK(t, err)
	defer pipe.Close()
	defer w.Close()
	w.WriteString("yes\n")
	var none *os.File
	tests := []struct {
		why   string
		in    io.Reader
		plain bool
	}{
		{"no input", nil, false}, {"a nil file", none, false}, {"a reader that is no terminal", strings.NewReader("yes\n"),
			false}, {"a file", file, false}, {"a pipe", pipe, false},
		{"no input to be believed", nil, true}, {"the end", strings.NewReader(""), true},
		{"a line without an end", strings.NewReader("yes"), true},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			out := newScreen()
			reply, err := New(test.in, out, Options{Plain: test.plain}).Ask(t.Context(),
				&approvals.Showing{Request: request(call.Medium)})
			if !errors.Is(err, approvals.ErrNoPerson) || errors.Is(err, approvals.ErrCannotAsk) ||
				!reflect.ValueOf(reply).IsZero() {
				t.Errorf("got %+v, %v", reply, err)
			}
			if !test.plain && out.text != "" {
				t.Errorf("asks nobody: %s", out.text)
			}
		})
	}
	if _, err := New(strings.NewReader("yes\n"), broken{}, Options{Plain: true}).Ask(t.Context(),
		&approvals.Showing{Request: request(call.Medium)}); err == nil {
		t.Error("a question that cannot be shown is answered")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestATerminalQuestionIsWithdrawn(t *testing.T) {
	in, keyboard := io.Pipe()
	defer keyboard.Close()
	out := newScreen()
	c := New(in, out, Options{Plain: true})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		out.wait("Type ", 1)
		cancel(errors.New("answered over web\x1b"))
	}()
	if _, err := c.Ask(ctx, &approvals.Showing{Request: request(call.Medium)}); err == nil ||
		!strings.Contains(err.Error(), "answered over web") {
		t.Errorf("got %v", err)
	}
	if !strings.HasSuffix(out.text, "\n(answered over web\\u{1B})\n") {
		t.Errorf("the person is not told: %s", out.text)
	}
	if _, err := c.Ask(ctx, &approvals.Showing{Request: request(call.Medium)}); err == nil {
		t.Error("asks although nobody waits")
	}
}

// What is typed when the question is already gone does not answer the next one.
func TestALateLineIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keyboard := io.Pipe()
		out := newScreen()
		c := New(in, out, Options{Plain: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Ask(ctx, &approvals.Showing{Request: request(call.Medium)}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		io.WriteString(keyboard, "yes\n")
		synctest.Wait()
		go func() {
			out.wait("Type ", 2)
			io.WriteString(keyboard, "no\n")
		}()
		if reply, err := c.Ask(t.Context(), &approvals.Showing{Request: request(call.Medium)}); err != nil || reply.Allowed {
			t.Errorf("got %+v, %v, want the second line", reply, err)
		}
		keyboard.Close()
	})
}

// Several questions at once are shown one after the other, each with its own answer.
func TestOneQuestionAtATime(t *testing.T) {
	in, keyboard := io.Pipe()
	defer keyboard.Close()
	out := newScreen()
	c := New(in, out, Options{Plain: true})
	const n = 10
	go func() {
		for i := range n {
			text := out.wait("Type ", i+1)
			if got := strings.Count(text, "Type "); got != i+1 {
				t.Errorf("%d questions are open at once", got-i)
			}
			_, last, _ := strings.Cut(text[strings.LastIndex(text, "issue: "):], " ")
			io.WriteString(keyboard, map[bool]string{true: "yes", false: "no"}[last[0]%2 == 0]+"\n")
		}
	}()
	var d approvals.Desk
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			r := request(call.Medium)
			r.Args = json.RawMessage(`{"issue":` + string(rune('0'+i)) + `}`)
			a := d.Ask(t.Context(), r, []approvals.Channel{c}, approvals.Options{})
			if a.Allowed != (i%2 == 0) || !a.Allowed && a.Code != call.CodeDeclined {
				t.Errorf("question %d: got %+v", i, a)
			}
		})
	}
	wait.Wait()
}

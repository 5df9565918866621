package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A round at a terminal: what is typed at each prompt, and what that says about three calls: y, n, ? for no clear
// answer.
func TestRoundsAtATerminal(t *testing.T) {
	high := func(calls []*prompt.Request) { calls[1].Risk, calls[1].Code = call.High, "7f3a" }
	long := func(calls []*prompt.Request) {
		calls[1].Args = json.RawMessage(`{"x":"` + strings.Repeat("y", 5000) + `"}`)
	}
	tests := []struct {
		why    string
		change func([]*prompt.Request)
		typed  []string
		want   string
		shows  string
	}{
		{"yes to all", nil, []string{"yes"}, "yyy", "A program asks to make 3 calls."},
		{"yes all", nil, []string{"yes all"}, "yyy",
			"Type yes to allow all 3 calls, no to refuse all (a reason may follow), each to decide one by one: "},
		{"no to all", nil, []string{"no not now"}, "nnn", ""},
		{"one by one", nil, []string{"each", "yes", "no", "y"}, "yny", ""},
		{"something else", nil, []string{"sure", "each please", "yes but", "no"}, "nnn", "Please type yes, no or each."},
		{"never clear", nil, []string{"a", "b", "c", "d", "e"}, "???", ""},
		{"shown whole", long, []string{"show", "yes"}, "yyy", strings.Repeat("y", 60)},
		{"a high risk among them is asked by itself", high, []string{"yes", "yes 7f3a", "no"}, "yyn", ""},
		{"and not with the others", high, []string{"yes", "yes", "no", "yes"}, "yny", "Please type yes 7f3a or no."},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			in, keyboard := io.Pipe()
			out := newScreen()
			calls := issues(3)
			if test.change != nil {
				test.change(calls)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i, l := range test.typed {
					out.wait("Type ", i+1)
					io.WriteString(keyboard, l+"\n")
				}
			}()
			results, err := New(in, out, Options{Plain: true}).AskAll(t.Context(),
				&approvals.Showing{Calls: calls})
			<-done
			keyboard.Close()
			var got strings.Builder
			for i := range calls {
				switch {
				case errors.Is(err, prompt.ErrUnclear) || err == nil && errors.Is(results[i].Err, prompt.ErrUnclear):
					got.WriteByte('?')
				case err != nil || results[i].Err != nil:
					t.Fatal(err, results)
				case results[i].Allowed:
					got.WriteByte('y')
				default:
					got.WriteByte('n')
				}
			}
			if got.String() != test.want || !strings.Contains(out.text, test.shows) {
				t.Errorf("got %s, want %s:\n%s", got.String(), test.want, out.text)
			}
		})
	}
	nobody, err := New(nil, io.Discard, Options{}).AskAll(context.Background(),
		&approvals.Showing{Calls: issues(2)})
	if !errors.Is(err, approvals.ErrNoPerson) || nobody != nil {
		t.Errorf("with nobody there: %v, %v", nobody, err)
	}
}

// A yes at the terminal may say for how long it is meant, as far as that was offered.
func TestGrantsAtATerminal(t *testing.T) {
	high := func(r *prompt.Request) { r.Risk, r.Code = call.High, "7f3a" }
	nothing := func(r *prompt.Request) { r.Terms = prompt.Terms{} }
	tests := []struct {
		why    string
		change func(*prompt.Request)
		typed  []string
		allow  bool
		scope  call.Scope
		reason string
		uses   int
		length time.Duration
	}{
		{"once", nil, []string{"yes"}, true, "", "", 0, 0},
		{"for the run", nil, []string{"yes run"}, true, call.ForRun, "", 0, 0},
		{"for a time", nil, []string{"y time"}, true, call.ForTime, "", 0, 0},
		{"for ever is not offered", nil, []string{"yes always", "no"}, false, "", "", 0, 0},
		{"nothing is offered", nothing, []string{"yes run", "yes"}, true, "", "", 0, 0},
		{"a high risk with its code", high, []string{"yes run", "yes 7f3a run"}, true, call.ForRun, "", 0, 0},
		{"for the next calls of the run, fewer of them", nil, []string{"yes run 3"}, true, call.ForRun, "", 3, 0},
		{"for a shorter time", nil, []string{"yes time 5m"}, true, call.ForTime, "", 0, 5 * time.Minute},
		{"for a shorter time and few calls", high, []string{"yes 7f3a run 2 90s"}, true, call.ForRun, "", 2,
			90 * time.Second},
		{"for longer than the profile lets it", nil, []string{"yes time 400h", "yes time 5m"}, true, call.ForTime, "", 0,
			5 * time.Minute},
		{"for more calls than may be", nil, []string{"yes run 51", "no"}, false, "", "", 0, 0},
		{"for what is neither", nil, []string{"yes run twice", "yes run 2 2", "yes run 0", "yes run -5m", "no"}, false, "",
			"", 0, 0},
		{"limits without an offer", nil, []string{"yes 5", "no"}, false, "", "", 0, 0},
		{"a high risk is not allowed for a time", high, []string{"yes 7f3a time", "no"}, false, "", "", 0, 0},
		{"a reason may end like an offer", nil, []string{"no never in this run"}, false, "", "never in this run", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			r := write("/a")
			if test.change != nil {
				test.change(r)
			}
			reply, shown, err := sitting(t, r, test.typed...)
			if err != nil || (reply.Allowed) != test.allow || reply.Scope != test.scope || reply.Reason != test.reason ||
				reply.Uses != test.uses || reply.Length != test.length {
				t.Errorf("got %+v, %v\n%s", reply, err, shown)
			}
			if offered := strings.Contains(shown, "run: Allow fs.write with"); offered != (len(r.Terms.Scopes) > 0) {
				t.Errorf("the offers are not as they should be:\n%s", shown)
			}
		})
	}
}

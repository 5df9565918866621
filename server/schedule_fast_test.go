package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/server/requeststate"
)

// Thousands of random schedules with hours between the legs: whatever comes back, and when, a question gets the first
// answer that came with its own state while it was open, and no other.
func TestRandomSchedulesWithHoursBetween(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	got := map[string]int{}
	for n := range 2000 {
		synctest.Test(t, func(t *testing.T) {
			s := newBench()
			defer s.exchanges.close(0)
			questions := 1 + random.IntN(4)
			do := putsQuestions(questions, 30*time.Minute)
			r := s.mustServe(t, request("", nil), do)
			start, opened := time.Now(), time.Now()
			var states []string // one for each round
			var want []string   // what each question has to get; "" is not decided
			answered := map[int]string{}
			for steps := 0; r != nil && r.RequestState != "" && steps < 20; steps++ {
				if len(states) == 0 || states[len(states)-1] != r.RequestState {
					states, start = append(states, r.RequestState), time.Now()
				}
				round := len(states) - 1
				time.Sleep(time.Duration(random.IntN(int(12 * time.Minute))))
				open := time.Since(opened) < 30*time.Minute
				say := []string{"accept", "decline", "cancel"}[random.IntN(3)]
				state := states[random.IntN(len(states))]
				old := state != states[round]
				if random.IntN(4) == 0 {
					b := []byte(state)
					b[random.IntN(len(b))] ^= byte(1 + random.IntN(255))
					if string(b) != state {
						if _, err := s.exchanges.serve(t.Context(), request(string(b), &mcp.ElicitResult{Action: say}), do); err == nil {
							t.Fatalf("schedule %d, seed %d: a changed state was accepted", n, seed)
						}
					}
					continue
				}
				back, err := s.exchanges.serve(t.Context(), request(state, &mcp.ElicitResult{Action: say}), do)
				switch wire, _ := errors.AsType[*jsonrpc.Error](err); {
				case old && err == nil:
					if at := indexOf(states, state); answered[at] != say || at != round-1 || back.RequestState != states[round] {
						t.Fatalf("schedule %d, seed %d: an old state was accepted with %s", n, seed, say)
					}
				case old:
					got["old"]++
				case err != nil && wire == nil:
					t.Fatalf("schedule %d, seed %d: %v", n, seed, err)
				case err != nil && (time.Since(start) > 30*time.Minute+stateSlack-time.Second ||
					time.Since(opened) >= 30*time.Minute+resultKept): // the last question was open before the client was given it
					got["expired"]++
					return
				case err != nil:
					t.Fatalf("schedule %d, seed %d: the state of round %d was refused: %v", n, seed, round, err)
				case open:
					answered[round] = say
					want, opened = append(want, say), time.Now()
					got["answered"]++
					r = back
				default:
					answered[round] = say
					want, opened = append(want, "timeout"), opened.Add(30*time.Minute) // the next one is asked without the client
					got["late"]++
					r = back
				}
			}
			if r == nil || r.RequestState != "" {
				return
			}
			if text := resultText(r); text != strings.Join(want, ", ") {
				t.Fatalf("schedule %d, seed %d: the questions got %q, want %q", n, seed, text, want)
			}
			got["finished"]++
		})
	}
	t.Log(fmt.Sprint(got))
	for what, least := range map[string]int{"finished": 1000, "answered": 2000, "old": 200} {
		if got[what] < least {
			t.Errorf("only %d were %s", got[what], what)
		}
	}
}

func indexOf(all []string, one string) int {
	for i, s := range all {
		if s == one {
			return i
		}
	}
	return -1
}

// FuzzRetry: no retry makes a call begin anew, crashes, or is taken for an answer unless it brings the state of the
// question.
func FuzzRetry(f *testing.F) {
	s := newBench()
	begun := 0
	do := func(ctx context.Context, c *conversation) *mcp.CallToolResult {
		begun++
		return putsQuestions(1, time.Hour)(ctx, c)
	}
	first, err := s.exchanges.serve(context.Background(), request("", nil), do)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(first.RequestState, `{"answer": {"action": "decline"}}`, `{"x": 1}`, "tool")
	f.Add(first.RequestState, `{"answer": {"role": "assistant"}}`, `{}`, "tool2")
	f.Add("v1.x", `{}`, `{`, "")
	f.Fuzz(func(t *testing.T, state, responses, arguments, tool string) {
		if state == "" {
			return // a new call
		}
		req := request(state, nil)
		if req.Params.InputResponses.UnmarshalJSON([]byte(responses)) != nil {
			return
		}
		req.Params.Arguments, req.Params.Name = []byte(arguments), tool
		if state == first.RequestState && requeststate.Digest([]byte(arguments)) == requeststate.Digest([]byte(`{}`)) &&
			tool == "tool" {
			return // the rightful one
		}
		if r, err := s.exchanges.serve(t.Context(), req, do); err == nil {
			t.Errorf("accepted: %+v", r)
		}
		if begun != 1 {
			t.Error("a call was begun anew")
		}
	})
}

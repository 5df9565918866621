package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/call"
)

// askUserName is what a program calls to ask a person something in its own words:
//
//	const { action, selected, text } = await codemode.ask_user({
//		question: "Which of these should go?", options: ["a.md", "b.md"], multiple: true,
//	})
//
// action is accept, decline or cancel. The answer approves nothing: a call that
// needs a person's yes still needs its own question.
const askUserName = "ask_user"

// askUser asks a question of the program. The run's clock stands still meanwhile. It counts as a question of the run.
func (r *Run) askUser(ctx context.Context, in Invocation) (value json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			panicked(r.log(), p)
			value, err = nil, &Exception{Class: "Error", Message: "an internal error ended this call"}
		}
	}()
	if r.info.Prompter == nil {
		return nil, asDenied(errCannotAsk)
	}
	if len(in.Args) > r.info.ArgumentBytes {
		return nil, denied(askUserName, call.CodeBadArguments,
			fmt.Sprintf("the question takes %d bytes, the limit is %d", len(in.Args), r.info.ArgumentBytes), "")
	}
	if in.Pause != nil {
		defer in.Pause()()
	}
	n := r.calls.counters(1)
	n.Refusals, n.Tainted = r.refusals.count(), r.Tainted()
	value, err = r.info.Prompter.AskUser(ctx, &Question{Run: r.info.ID, Call: in.ID, Profile: r.info.Profile,
		Args: in.Args, Before: n})
	if err != nil {
		r.calls.counters(-1)
		return nil, asDenied(err)
	}
	return value, nil
}

// asDenied makes the exception for a question that nobody was asked.
func asDenied(err error) error {
	switch err := err.(type) {
	case *ArgumentError:
		return invalidArguments(askUserName, err)
	case *LimitError:
		return denied(askUserName, call.CodeLimit, err.Error(), "")
	}
	if errors.Is(err, errCannotAsk) {
		return denied(askUserName, reasonUnsupported, err.Error(), "")
	}
	return denied(askUserName, call.CodeDenied, err.Error(), "")
}

// A LimitError names the limit that keeps a program from asking or calling.
type LimitError struct {
	Limit  string    // a sentence
	Budget string    // the id of a budget beyond one run, see [Budgets]; else ""
	Until  time.Time // when there is room again; zero means not in this run
}

func (e *LimitError) Error() string { return e.Limit }

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/server/requeststate"
)

// An exchange is one tool call in MCP 2026-07-28, where servers send no requests: a question ends the client's request,
// and the client sends another one with the answer and the requestState that came with the question. The call itself
// continues meanwhile and never restarts. A request that waits for the call is a waiter.
//
// Each round hands out one form, and only the first answer to it counts. A client that sends the same answer again gets
// the same response. Rounds count from 1, and a state is valid only for the latest round.
type exchange struct {
	all    exchangeKeeper
	sealer *requeststate.Sealer
	claims requeststate.Claims // every request of the call must share them
	call   *activeCall

	conversation *conversation
	keyed        bool   // a client that hung up comes back for the result
	moved        bool   // another process continues it; set before it ends
	owner        string // owner, for the quota of waiting calls
	release      func() // releases the memory of the request; once

	mu       sync.Mutex
	able     able          // what the client can show, by its latest request
	changed  chan struct{} // closed when a field below has changed
	open     *question     // the question that waits for its answer
	last     *question     // the question handed out last; nil before the first
	redeemed redeemed      // the state used last
	early    *early        // an answer that came before its question
	waiters  int
	left     time.Time // when the last waiter left
	result   *mcp.CallToolResult
	gone     error       // instead of the result: the call continues elsewhere, or nowhere
	timer    *time.Timer // calls expire
}

// An exchangeKeeper has all exchanges.
type exchangeKeeper interface {
	mayPark(x *exchange) bool
	drop(x *exchange)
}

// A question is a form that waits for its answer.
type question struct {
	*form
	round int    // 0 until it is handed out
	state string // "" until then
	reply chan reply
}

type reply struct {
	result *mcp.ElicitResult
	err    error
}

// redeemed is a used state.
type redeemed struct {
	round    int
	answer   *mcp.ElicitResult
	response *mcp.CallToolResult // to the request that carried it; nil until there is one
}

// early is the answer to questions that a run from another process will ask again here.
type early struct {
	questions []string
	result    *mcp.ElicitResult
}

// inputKey is the only name in inputRequests when the form has no name of its own: clients open several names as
// several dialogs.
const inputKey = "answer"

const (
	// parkLimit is how long a call continues without a waiting client, once the client has no open question.
	parkLimit = 10 * time.Minute
	// resultKept is how long the server keeps a result for a client that has not received it; gotKept, for one that may
	// have lost it.
	resultKept = 10 * time.Minute
	gotKept    = time.Minute
	// stateLife is the least time that a state stays valid. The state of a question that may stay open for longer is
	// valid for that time plus stateSlack.
	stateLife  = 15 * time.Minute
	stateSlack = 5 * time.Minute
)

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState: " + fmt.Sprintf(format, args...)}
}

// signal tells the waiters that something has changed. The caller holds mu.
func (x *exchange) signal() {
	close(x.changed)
	x.changed = make(chan struct{})
}

func (x *exchange) canAsk(f *form) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.able.shows(f)
}

// elicit makes the current or the next waiter hand out the form, and waits for the answer.
func (x *exchange) elicit(ctx context.Context, f *form) (*mcp.ElicitResult, error) {
	x.mu.Lock()
	switch e := x.early; {
	case e != nil && sameQuestions(e.questions, f.questions):
		x.early = nil
		x.mu.Unlock()
		return e.result, nil
	case x.last != nil && x.last.round >= approvals.MaxRounds:
		x.mu.Unlock()
		return nil, approvals.ErrTooMany
	}
	x.mu.Unlock()
	if !x.all.mayPark(x) {
		return nil, fmt.Errorf("%w: too many runs wait for people", approvals.ErrTooMany)
	}
	q := &question{form: f, reply: make(chan reply, 1)}
	x.mu.Lock()
	x.open = q
	x.signal()
	x.mu.Unlock()
	select {
	case got := <-q.reply:
		return got.result, got.err
	case <-ctx.Done():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case got := <-q.reply: // at the same moment; the caller reports that it is late
		return got.result, got.err
	default:
	}
	x.open = nil
	if x.waiters == 0 && q.round > 0 { // from now on the client has nothing to wait for
		x.timer.Reset(parkLimit)
	}
	return nil, context.Cause(ctx)
}

// wait waits for a question or for the result, whichever comes first. round is the round of the state that its request
// carried.
func (x *exchange) wait(ctx context.Context, round int) (*mcp.CallToolResult, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiters++
	x.timer.Stop()
	defer x.waiterLeft()
	respond := func(r *mcp.CallToolResult) (*mcp.CallToolResult, error) {
		if round > 0 && x.redeemed.round == round {
			x.redeemed.response = r
		}
		return r, nil
	}
	for {
		if x.gone != nil {
			return nil, invalid("%v", x.gone)
		}
		if r := x.redeemed.response; r != nil && x.redeemed.round == round {
			return r, nil
		}
		if x.result != nil {
			return respond(x.result)
		}
		if q := x.open; q != nil {
			if x.able.shows(q.form) {
				return respond(x.handOut(q))
			}
			x.open = nil
			q.reply <- reply{err: approvals.ErrCannotAsk}
		}
		changed := x.changed
		x.mu.Unlock()
		select {
		case <-changed:
			x.mu.Lock()
		case <-ctx.Done():
			x.mu.Lock()
			// The client hung up, or said that it no longer wants the result.
			if x.waiters == 1 && x.result == nil && !x.keyed {
				x.call.cancel(context.Cause(ctx))
			}
			return nil, context.Cause(ctx)
		}
	}
}

// handOut ends a wait with a question. The caller holds mu.
func (x *exchange) handOut(q *question) *mcp.CallToolResult {
	if q.state == "" {
		q.state, q.round = x.seal(q.form)
		x.last = q
		go q.shown() // its time limit begins now
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{cmp.Or(q.key, inputKey): q.params},
		RequestState: q.state}
}

// seal makes the state of the next round. The caller holds mu.
func (x *exchange) seal(f *form) (state string, round int) {
	c := x.claims
	c.Run, c.Questions, c.Key, c.Profile, c.Round = f.run, f.questions, f.key, x.conversation.profile, 1
	if x.last != nil {
		c.Round = x.last.round + 1
	}
	c.Expires = time.Now().Add(max(stateLife, f.within+stateSlack)).Unix()
	return x.sealer.Seal(&c), c.Round
}

// waiterLeft ends a wait. The caller holds mu.
func (x *exchange) waiterLeft() {
	if x.waiters--; x.waiters > 0 {
		return
	}
	x.left = time.Now()
	switch {
	case x.result == nil:
		x.timer.Reset(parkLimit)
	case x.last == nil, x.gone != nil: // no state exists that could ask for it again
		x.timer.Reset(0)
	case x.redeemed.round < x.last.round:
		// the client that received it has sent an older state; the latest one is still to come
		x.timer.Reset(resultKept)
	default:
		x.timer.Reset(gotKept)
	}
}

// handOver is the response when another process continues the run, or this one after a restart: the client sends its
// request again with the state, and waits there.
func (x *exchange) handOver(run string) *mcp.CallToolResult {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.moved = true
	state, _ := x.seal(&form{run: run})
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: state}
}

// finish stores the result for the current or the next waiter.
func (x *exchange) finish(result *mcp.CallToolResult) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.result = result
	x.signal()
	if x.waiters > 0 {
		return
	}
	x.left = time.Now()
	if x.last == nil { // no state exists that could ask for it
		x.timer.Reset(0)
		return
	}
	x.timer.Reset(resultKept)
}

// expire ends a call when no client came back in time.
func (x *exchange) expire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.waiters > 0:
	case x.result != nil:
		go x.all.drop(x)
	case x.open != nil && x.open.round > 0: // the open question has a time limit of its own, for a person
	default:
		x.call.cancel(errAbandoned)
	}
}

// redeem accepts the answer that came with a state. It returns nil when the request must wait like the previous one.
func (x *exchange) redeem(c *requeststate.Claims, able able, responses mcp.InputResponseMap) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	answer := answerIn(responses, c.Key)
	switch q := x.last; {
	case q != nil && c.Round == q.round && c.Round > x.redeemed.round && sameQuestions(c.Questions, q.questions):
		x.able = able
		if answer == nil {
			return nil // hand out the still open question again
		}
		x.redeemed = redeemed{round: c.Round, answer: answer}
		if x.open == q {
			x.open = nil
			q.reply <- reply{result: answer}
		} else if q.late != nil {
			go q.late(answer)
		}
		return nil
	case c.Round == x.redeemed.round && reflect.DeepEqual(answer, x.redeemed.answer):
		return nil // the same request once more: its response may have been lost
	}
	return invalid("its question was answered before")
}

// answerIn returns the answer to a form from a request's input responses; nil if there is none.
func answerIn(responses mcp.InputResponseMap, key string) *mcp.ElicitResult {
	answer, _ := responses[cmp.Or(key, inputKey)].(*mcp.ElicitResult)
	return answer
}

// errAbandoned ends a call when its client did not come back.
var errAbandoned = errors.New("abandoned: the client did not come back for it")

// sameQuestions reports whether two lists have the same questions, in any order.
func sameQuestions(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
)

// An exchange is one call of a tool in MCP 2026-07-28, where servers send no requests: a question ends the client's request, and the
// client sends another one with the answer and the requestState that came with the question. What serves the call goes on all the
// while; it is never begun anew. A request that waits for it is a leg.
//
// A form is handed out once per round, and answered once: the answer that came first counts, and the same one sent again gets the
// response that the first one got. Rounds are numbered from 1, and a state is good for the last one that was handed out.
type exchange struct {
	all    *exchanges
	claims claims // that every leg has to share
	call   *call

	conversation *conversation
	keyed        bool   // a client that hung up comes back for it
	moved        bool   // another process goes on with it; set before it ends
	share        string // whose it is of the calls that may wait
	release      func() // gives the memory of the request back; once

	mu       sync.Mutex
	able     bool          // whether the client, as last heard, can show a form
	changed  chan struct{} // closed when something below has changed
	open     *question     // waits for its answer
	last     *question     // was handed out last; nil before the first
	redeemed redeemed      // the last answer
	early    *early        // an answer that came before its question
	legs     int
	left     time.Time // when the last leg left
	result   *mcp.CallToolResult
	gone     error       // instead of the result: the call goes on elsewhere, or nowhere
	timer    *time.Timer // ends what nobody comes back for
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

// redeemed is a state that was used.
type redeemed struct {
	round    int
	digest   string              // of the answer
	response *mcp.CallToolResult // to the request that brought it; nil until there is one
}

// early is the answer to questions that a run, begun elsewhere, will ask again here.
type early struct {
	questions []string
	result    *mcp.ElicitResult
}

// inputKey is the one name in inputRequests, where a form has none of its own: clients open several as several dialogs.
const inputKey = "answer"

const (
	// parkLimit is how long a call goes on without a client that waits for it, once no question is open that the client
	// was given.
	parkLimit = 10 * time.Minute
	// resultKept is how long a result is kept for a client that has not got it; gotKept, for one that may have lost it.
	resultKept = 10 * time.Minute
	gotKept    = time.Minute
	// stateLife is how long a state is good for at least; one of a question that may stay open for longer, for stateSlack more than that.
	stateLife  = 15 * time.Minute
	stateSlack = 5 * time.Minute
)

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState: " + fmt.Sprintf(format, args...)}
}

// signal tells the legs that something has changed. The caller holds mu.
func (x *exchange) signal() {
	close(x.changed)
	x.changed = make(chan struct{})
}

func (x *exchange) canAsk() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.able
}

// put has the form handed out by the leg that is open or by the next one, and waits for the answer.
func (x *exchange) put(ctx context.Context, f *form) (*mcp.ElicitResult, error) {
	x.mu.Lock()
	switch e := x.early; {
	case e != nil && same(e.questions, f.questions):
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
	case got := <-q.reply: // at the same moment; whoever asked says that it is late
		return got.result, got.err
	default:
	}
	x.open = nil
	if x.legs == 0 && q.round > 0 { // from now on the client has nothing to wait for
		x.timer.Reset(parkLimit)
	}
	return nil, context.Cause(ctx)
}

// leg waits for a question or for the result, whichever comes first. round is the one that its request came back with.
func (x *exchange) leg(ctx context.Context, round int) (*mcp.CallToolResult, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.legs++
	x.timer.Stop()
	defer x.leave()
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
			if x.able {
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
			// The client hung up, or said that it does not want the result any more.
			if x.legs == 1 && x.result == nil && !x.keyed {
				x.call.cancel(context.Cause(ctx))
			}
			return nil, context.Cause(ctx)
		}
	}
}

// handOut ends a leg with a question. The caller holds mu.
func (x *exchange) handOut(q *question) *mcp.CallToolResult {
	if q.state == "" {
		q.round = 1
		if x.last != nil {
			q.round = x.last.round + 1
		}
		c := x.claims
		c.Run, c.Questions, c.Round, c.Key, c.Profile = q.run, q.questions, q.round, q.key, x.conversation.profile
		c.Expires = time.Now().Add(max(stateLife, q.within+stateSlack)).Unix()
		q.state = x.all.sealer.seal(&c)
		x.last = q
		go q.shown() // until now its time stood still
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{cmp.Or(q.key, inputKey): q.params}, RequestState: q.state}
}

// leave ends a leg. The caller holds mu.
func (x *exchange) leave() {
	if x.legs--; x.legs > 0 {
		return
	}
	x.left = time.Now()
	switch {
	case x.result == nil:
		x.timer.Reset(parkLimit)
	case x.last == nil, x.gone != nil: // there is no state that could ask for it again
		x.timer.Reset(0)
	case x.redeemed.round < x.last.round: // who got it has sent an older state; the one that waits is still to come
		x.timer.Reset(resultKept)
	default:
		x.timer.Reset(gotKept)
	}
}

// moveOn is the answer to the leg of a run that another process goes on with, or this one after a restart: the client
// sends its request again with the state, and waits there.
func (x *exchange) moveOn(run string) *mcp.CallToolResult {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.claims
	c.Run, c.Round, c.Profile, c.Expires = run, 1, x.conversation.profile, time.Now().Add(stateLife).Unix()
	if x.last != nil {
		c.Round = x.last.round + 1
	}
	x.moved = true
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: x.all.sealer.seal(&c)}
}

// finish keeps the result for the leg that waits for it or for the next one.
func (x *exchange) finish(result *mcp.CallToolResult) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.result = result
	x.signal()
	if x.legs > 0 {
		return
	}
	x.left = time.Now()
	if x.last == nil { // there is no state that could ask for it
		x.timer.Reset(0)
		return
	}
	x.timer.Reset(resultKept)
}

// expire is called when nobody has come back in time.
func (x *exchange) expire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.legs > 0:
	case x.result != nil:
		go x.all.drop(x)
	case x.open != nil && x.open.round > 0: // it has a time limit of its own, which is a person's
	default:
		x.call.cancel(errAbandoned)
	}
}

// redeem takes the answer that a state came back with. It returns nil when the request is to wait like the one before it.
func (x *exchange) redeem(c *claims, able bool, responses mcp.InputResponseMap) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	answer := answerIn(responses, c.Key)
	digest := answerDigest(answer)
	switch q := x.last; {
	case q != nil && c.Round == q.round && c.Round > x.redeemed.round && same(c.Questions, q.questions):
		x.able = able
		if answer == nil {
			return nil // a question that is still open is put again
		}
		x.redeemed = redeemed{round: c.Round, digest: digest}
		if x.open == q {
			x.open = nil
			q.reply <- reply{result: answer}
		} else if q.late != nil {
			go q.late(answer)
		}
		return nil
	case c.Round == x.redeemed.round && digest == x.redeemed.digest:
		return nil // the same request once more: perhaps its response was lost
	}
	return invalid("its question was answered before")
}

// answerIn is the answer to a form among what came with a request; nil if there is none.
func answerIn(responses mcp.InputResponseMap, key string) *mcp.ElicitResult {
	answer, _ := responses[cmp.Or(key, inputKey)].(*mcp.ElicitResult)
	return answer
}

// answerDigest tells answers apart; that of no answer is "".
func answerDigest(r *mcp.ElicitResult) string {
	if r == nil {
		return ""
	}
	js, err := json.Marshal([]any{r.Action, r.Content})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(js)
	return hex.EncodeToString(sum[:])
}

// errAbandoned ends a call whose client did not come back.
var errAbandoned = errors.New("abandoned: the client did not come back for it")

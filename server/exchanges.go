package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxParked is how many calls of one principal wait for their clients to come back, or keep a result for them;
	// maxParkedInAll, how many of all. A principal has at most parkedReserve times as many as are left.
	maxParked      = 32
	maxParkedInAll = 256
	parkedReserve  = 3
)

// An Adopter goes on with a run that another process began, or this one before it was started anew: one that is named by a requestState,
// with the questions that the client answers. It is used like [codemode.Evaluator.Eval]; the questions are put again to the channels of r,
// where the answer waits. [ErrNotHere] says that there is no such run to go on with.
type Adopter func(ctx context.Context, run string, questions []string, r codemode.Request) (*codemode.Response, error)

// ErrNotHere says that a run is not to be found.
var ErrNotHere = errors.New("the run that it belongs to is not here any more; call the tool again")

// exchanges are the calls of clients on MCP 2026-07-28 that are going on, or whose results are kept.
type exchanges struct {
	server *Server
	sealer *sealer
	adopt  Adopter

	mu     sync.Mutex
	all    map[string]*exchange // by claims.Exchange
	closed bool
	going  sync.WaitGroup // added to under mu
}

func newExchanges(s *Server, key []byte, adopt Adopter) *exchanges {
	return &exchanges{server: s, sealer: newSealer(key), adopt: adopt, all: map[string]*exchange{}}
}

// A handler is what serves a call of a tool.
type handler func(context.Context, *conversation) *mcp.CallToolResult

// serve serves one request: it begins a call, or comes back to one.
func (xs *exchanges) serve(ctx context.Context, req *mcp.CallToolRequest, do handler) (*mcp.CallToolResult, error) {
	bound := xs.claimsOf(req)
	var x *exchange
	var err error
	round := 0
	if req.Params.RequestState == "" {
		bound.Exchange = rand.Text()
		x, err = xs.begin(xs.newExchange(req, bound), do)
	} else if x, round, err = xs.resume(req, bound, do); err != nil {
		xs.server.log.Warn("a request came back with a requestState that is not accepted", "tool", fmt.Sprintf("%.80q", req.Params.Name), "because", err.Error())
		xs.server.access.refused(ctx, bound.Principal, addressOf(req), "wrong_state")
	}
	if err != nil {
		return nil, err
	}
	if v := visitorOf(req); v != nil {
		v.stream.warm()
		if req.Params.RequestState != "" {
			v.waits() // for a run that is under way
		}
	}
	defer x.conversation.report(ctx, req)()
	result, err := x.leg(ctx, round)
	if err != nil {
		return nil, err
	}
	own := *result // the SDK writes into it, and another leg may get the same
	own.Meta = maps.Clone(own.Meta)
	return &own, nil
}

// claimsOf is what a state has to have in common with a request.
func (xs *exchanges) claimsOf(req *mcp.CallToolRequest) claims {
	return claims{
		Principal: xs.server.principal(req), Tool: req.Params.Name, Arguments: argumentsDigest(req.Params.Arguments),
		Bound: reachOf(visitorOf(req)).bound, Session: madeSession(req),
	}
}

// open reads the state that a request came back with. An error says why the state is not for this request.
func (xs *exchanges) open(req *mcp.CallToolRequest, bound *claims) (*claims, error) {
	c, err := xs.sealer.open(req.Params.RequestState)
	if err == nil {
		err = c.check(bound, time.Now())
	}
	if err == nil && c.Profile != nil && !xs.server.reaches(visitorOf(req), *c.Profile) {
		err = errors.New("it belongs to a call under a profile that is not for you")
	}
	return c, err
}

func (xs *exchanges) newExchange(req *mcp.CallToolRequest, bound claims) *exchange {
	x := &exchange{all: xs, claims: bound, able: canAsk(req), keyed: keyed(req), changed: make(chan struct{})}
	x.conversation = xs.server.newConversation(req, x)
	x.call = &call{visitor: visitorOf(req)}
	if x.share = bound.Principal; unchecked(req) {
		x.share = ""
	}
	x.release = func() {}
	if x.call.visitor == nil {
		x.call.session = req.Session
	} else {
		x.conversation.session = x // that of the SDK ends with the request
	}
	return x
}

// begin serves a call on a context of its own. If it is being served already, that one is returned.
func (xs *exchanges) begin(x *exchange, do handler) (*exchange, error) {
	xs.mu.Lock()
	defer xs.mu.Unlock()
	if xs.closed {
		return nil, codemode.ErrClosed
	}
	if other := xs.all[x.claims.Exchange]; other != nil {
		return other, nil
	}
	if v := x.call.visitor; v != nil {
		release, err := v.body.again()
		if err != nil {
			return nil, err
		}
		x.release = sync.OnceFunc(release)
	}
	xs.all[x.claims.Exchange] = x
	ctx, cancel := context.WithCancelCause(context.Background())
	x.call.cancel = cancel
	x.timer = time.AfterFunc(parkLimit, x.expire)
	done := xs.server.calls.begin(x.call)
	xs.server.work.begin()
	xs.going.Go(func() {
		defer xs.server.work.end()
		defer done()
		defer cancel(nil)
		x.finish(do(ctx, x.conversation))
		if x.moved {
			xs.drop(x)
		}
	})
	return x, nil
}

// resume finds the call that a state belongs to, and gives it the answer.
func (xs *exchanges) resume(req *mcp.CallToolRequest, bound claims, do handler) (x *exchange, round int, err error) {
	c, err := xs.open(req, &bound)
	if err != nil {
		return nil, 0, invalid("%v", err)
	}
	xs.mu.Lock()
	x = xs.all[c.Exchange]
	xs.mu.Unlock()
	if x == nil {
		if x, err = xs.takeOver(req, c, bound, do); err != nil {
			return nil, 0, err
		}
	}
	return x, c.Round, x.redeem(c, canAsk(req), req.Params.InputResponses)
}

// takeOver goes on here with a run that was begun elsewhere.
func (xs *exchanges) takeOver(req *mcp.CallToolRequest, c *claims, bound claims, do handler) (*exchange, error) {
	if xs.adopt == nil || c.Run == "" {
		return nil, invalid("%v", ErrNotHere)
	}
	bound.Exchange = c.Exchange
	x := xs.newExchange(req, bound)
	x.last = &question{form: &form{run: c.Run, questions: c.Questions}, round: c.Round}
	if answer := answerIn(req.Params.InputResponses, c.Key); answer != nil {
		x.early = &early{questions: c.Questions, result: answer}
	}
	x.conversation.evaluate = func(ctx context.Context, r codemode.Request) (*codemode.Response, error) {
		response, err := xs.adopt(ctx, c.Run, c.Questions, r)
		if errors.Is(err, ErrNotHere) {
			x.mu.Lock()
			x.gone = ErrNotHere
			x.mu.Unlock()
		}
		return response, err
	}
	return xs.begin(x, do)
}

// mayPark reports whether one more call may wait for people. A result that its principal did not come back for makes room.
func (xs *exchanges) mayPark(x *exchange) bool {
	xs.mu.Lock()
	defer xs.mu.Unlock()
	var own, all []*exchange
	for _, other := range xs.all {
		if other == x || !other.parked() {
			continue
		}
		all = append(all, other)
		if other.share == x.share {
			own = append(own, other)
		}
	}
	most := min(maxParked, parkedReserve*(maxParkedInAll-len(all))) // so that there is room for others
	return len(own) < most || xs.forget(own)
}

// forget drops the oldest result among these. The caller holds mu.
func (xs *exchanges) forget(among []*exchange) bool {
	among = slices.DeleteFunc(slices.Clone(among), func(x *exchange) bool { return !x.kept() })
	if len(among) == 0 {
		return false
	}
	oldest := slices.MinFunc(among, func(a, b *exchange) int { return a.since().Compare(b.since()) })
	delete(xs.all, oldest.claims.Exchange)
	oldest.release()
	oldest.timer.Stop()
	return true
}

// drop forgets a call that has ended, and with the last one of a tool that is not offered any more, the tool.
func (xs *exchanges) drop(x *exchange) {
	xs.mu.Lock()
	if xs.all[x.claims.Exchange] == x {
		delete(xs.all, x.claims.Exchange)
		x.release()
	}
	xs.mu.Unlock()
	if xs.server.hasRetired(x.claims.Tool) {
		xs.server.offer()
	}
}

// tools are those that clients may come back to.
func (xs *exchanges) tools() map[string]bool {
	xs.mu.Lock()
	defer xs.mu.Unlock()
	names := map[string]bool{}
	for _, x := range xs.all {
		names[x.claims.Tool] = true
	}
	return names
}

// close waits for all calls, which have to be told to end before.
func (xs *exchanges) close(wait time.Duration) {
	xs.mu.Lock()
	xs.closed = true
	for _, x := range xs.all {
		x.timer.Stop()
	}
	xs.mu.Unlock()
	xs.server.calls.end(codemode.ErrClosed, func(*call) bool { return true })
	done := make(chan struct{})
	go func() { xs.going.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(wait):
	}
}

// parked reports whether a call waits for a person, or its result for a client.
func (x *exchange) parked() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.open != nil || x.legs == 0
}

// kept reports whether all there is to a call is its result.
func (x *exchange) kept() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.result != nil && x.legs == 0
}

func (x *exchange) since() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return cmp.Or(x.left, time.Now())
}

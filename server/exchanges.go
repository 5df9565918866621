package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/server/requeststate"
)

const (
	// maxParked is how many calls of one principal may wait for their clients to come back, or keep a result for them;
	// maxParkedInAll is the same for all principals together. A principal has at most parkedReserve times as many as
	// are free.
	maxParked      = 32
	maxParkedInAll = 256
	parkedReserve  = 3
)

// exchanges holds the calls of clients on MCP 2026-07-28: those in progress, and those with a stored result.
type exchanges struct {
	server   *shared
	sealer   *requeststate.Sealer
	reattach Reattacher
	unused   func() // is called when the last call of a tool has ended that is offered no longer

	mu     sync.Mutex
	all    map[string]*exchange // by claims.Exchange
	closed bool
	going  sync.WaitGroup // added to under mu
}

func newExchanges(s *shared, key []byte, reattach Reattacher) *exchanges {
	return &exchanges{server: s, sealer: requeststate.NewSealer(key), reattach: reattach, all: map[string]*exchange{}}
}

// serve serves one request: it begins a call, or comes back to one.
func (xs *exchanges) serve(ctx context.Context, req *mcp.CallToolRequest, do handler) (*mcp.CallToolResult, error) {
	from := xs.server.senderOf(req)
	bound := from.claims(req)
	var x *exchange
	var err error
	round := 0
	if req.Params.RequestState == "" {
		bound.Exchange = rand.Text()
		x, err = xs.begin(xs.newExchange(req, &from, bound), do)
	} else if x, round, err = xs.resume(req, &from, bound, do); err != nil {
		xs.server.log.Warn("a requestState was not accepted", "tool", fmt.Sprintf("%.80q", req.Params.Name), "because",
			err.Error())
		xs.server.access.Refused(ctx, from.principal, from.address, "wrong_state")
	}
	if err != nil {
		return nil, err
	}
	if h := httpRequestOf(req); h != nil {
		h.stream.keepAlive()
		if req.Params.RequestState != "" {
			h.endTurn() // it waits for a run in progress
		}
	}
	defer x.conversation.report(ctx, req)()
	result, err := x.wait(ctx, round)
	if err != nil {
		return nil, err
	}
	own := *result // the SDK writes into it, and another waiter may get the same
	own.Meta = maps.Clone(own.Meta)
	return &own, nil
}

// claims returns what all requests of a call have in common.
func (from *sender) claims(req *mcp.CallToolRequest) requeststate.Claims {
	return requeststate.Claims{
		Principal: from.principal, Tool: req.Params.Name, Arguments: requeststate.Digest(req.Params.Arguments),
		Bound: from.reach.bound, Session: from.roleSession,
	}
}

// open reads the state that a request came back with. An error says why the state does not belong to the request.
func (xs *exchanges) open(req *mcp.CallToolRequest, from *sender, bound *requeststate.Claims) (*requeststate.Claims,
	error) {
	c, err := xs.sealer.Open(req.Params.RequestState)
	if err == nil {
		err = c.Check(bound, time.Now())
	}
	if err == nil && c.Profile != nil && !xs.server.exposed.reaches(from.reach, *c.Profile) {
		err = errors.New("it belongs to a call under a profile that is not for you")
	}
	return c, err
}

func (xs *exchanges) newExchange(req *mcp.CallToolRequest, from *sender, bound requeststate.Claims) *exchange {
	x := &exchange{all: xs, sealer: xs.sealer, claims: bound, able: ableOf(req), keyed: hasIdempotencyKey(req),
		changed: make(chan struct{})}
	x.conversation = xs.server.newConversation(req, *from, x)
	x.call = &activeCall{http: httpRequestOf(req)}
	if x.owner = from.principal; from.unchecked {
		x.owner = ""
	}
	x.release = func() {}
	if x.call.http == nil {
		x.call.session = req.Session
	} else {
		x.conversation.session = x // the SDK's session ends with the request
	}
	return x
}

// begin serves a call on a context of its own. If the call is already in progress, begin returns it.
func (xs *exchanges) begin(x *exchange, do handler) (*exchange, error) {
	xs.mu.Lock()
	defer xs.mu.Unlock()
	if xs.closed {
		return nil, codemode.ErrClosed
	}
	if other := xs.all[x.claims.Exchange]; other != nil {
		return other, nil
	}
	if h := x.call.http; h != nil {
		release, err := h.body.Again()
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
func (xs *exchanges) resume(
	req *mcp.CallToolRequest, from *sender, bound requeststate.Claims, do handler,
) (x *exchange, round int, err error) {
	c, err := xs.open(req, from, &bound)
	if err != nil {
		return nil, 0, invalid("%v", err)
	}
	xs.mu.Lock()
	x = xs.all[c.Exchange]
	xs.mu.Unlock()
	if x == nil {
		if x, err = xs.takeOver(req, from, c, bound, do); err != nil {
			return nil, 0, err
		}
	}
	return x, c.Round, x.redeem(c, ableOf(req), req.Params.InputResponses)
}

// takeOver continues here a run that another process began.
func (xs *exchanges) takeOver(
	req *mcp.CallToolRequest, from *sender, c *requeststate.Claims, bound requeststate.Claims, do handler,
) (*exchange, error) {
	if xs.reattach == nil || c.Run == "" {
		return nil, invalid("%v", ErrNotHere)
	}
	bound.Exchange = c.Exchange
	x := xs.newExchange(req, from, bound)
	x.last = &question{form: &form{run: c.Run, questions: c.Questions}, round: c.Round}
	if answer := answerIn(req.Params.InputResponses, c.Key); answer != nil {
		x.early = &early{questions: c.Questions, result: answer}
	}
	x.conversation.evaluate = func(ctx context.Context, r codemode.Request) (*codemode.Response, error) {
		response, err := xs.reattach(ctx, c.Run, c.Questions, r)
		if errors.Is(err, ErrNotHere) {
			x.mu.Lock()
			x.gone = ErrNotHere
			x.mu.Unlock()
		}
		return response, err
	}
	return xs.begin(x, do)
}

// mayPark reports whether one more call may wait for people. It drops the owner's oldest unfetched result to make room.
func (xs *exchanges) mayPark(x *exchange) bool {
	xs.mu.Lock()
	defer xs.mu.Unlock()
	var own, all int
	var oldest *exchange // result of the owner
	var left time.Time
	for _, other := range xs.all {
		parked, kept, since := other.parking()
		if other == x || !parked {
			continue
		}
		if all++; other.owner != x.owner {
			continue
		}
		if own++; kept && (oldest == nil || since.Before(left)) {
			oldest, left = other, since
		}
	}
	if own < min(maxParked, parkedReserve*(maxParkedInAll-all)) { // to make room for others
		return true
	}
	if oldest != nil {
		delete(xs.all, oldest.claims.Exchange)
		oldest.release()
		oldest.timer.Stop()
	}
	return oldest != nil
}

// drop removes an ended call. With the last call of a retired tool it removes the tool.
func (xs *exchanges) drop(x *exchange) {
	xs.mu.Lock()
	if xs.all[x.claims.Exchange] == x {
		delete(xs.all, x.claims.Exchange)
		x.release()
	}
	xs.mu.Unlock()
	if xs.server.list.hasRetired(x.claims.Tool) {
		xs.unused()
	}
}

// tools returns the tools with calls in progress.
func (xs *exchanges) tools() map[string]bool {
	xs.mu.Lock()
	defer xs.mu.Unlock()
	names := map[string]bool{}
	for _, x := range xs.all {
		names[x.claims.Tool] = true
	}
	return names
}

// close ends all calls and waits for them.
func (xs *exchanges) close(wait time.Duration) {
	xs.mu.Lock()
	xs.closed = true
	for _, x := range xs.all {
		x.timer.Stop()
	}
	xs.mu.Unlock()
	xs.server.calls.end(codemode.ErrClosed, func(*activeCall) bool { return true })
	within(wait, &xs.going)
}

// parking reports whether a call waits for a person, or its result for a client. If only the result is left, it also
// reports since when.
func (x *exchange) parking() (parked, kept bool, since time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.open != nil || x.waiters == 0, x.result != nil && x.waiters == 0, cmp.Or(x.left, time.Now())
}

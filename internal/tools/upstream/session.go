package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pingTime is how long a server may take to answer a ping after one of its calls timed out.
const pingTime = 15 * time.Second

// A link is one connection to a server, from its start to its end.
type link interface {
	list(ctx context.Context) (*toolList, error)
	call(ctx context.Context, tool string, args json.RawMessage, o CallOptions) (*Result, error)
	fetch(ctx context.Context, f *fetching) (*Result, error)
	info() Status                // the server's own information, and our observations of it
	changed() <-chan struct{}    // receives when the tool list has changed; capacity 1
	news() <-chan struct{}       // receives when what the server offers beside tools has changed; capacity 1
	ended() <-chan struct{}      // closed when the connection is over
	why() error                  // why it is over
	forgotten() bool             // the server no longer knows it, but calls in flight may go on
	drain(ctx context.Context)   // waits for the calls in flight
	close(grace context.Context) // asks the server to stop until grace ends, then kills it, and returns when it is gone
}

// A fetching is a request other than a call, such as that for a resource.
type fetching struct {
	args json.RawMessage // what of it an answer or an error may repeat
	send func(context.Context, *mcp.ClientSession) error
	read func(ctx context.Context, result json.RawMessage) (*Result, error)
}

// An attempt is one way to open a connection.
type attempt struct {
	version string        // of the protocol; "" is the newest
	limit   time.Duration // of the opening; 0 is none
	open    func(*session) (mcp.Transport, error)
}

// A session is a link over MCP.
type session struct {
	server *Server
	log    *slog.Logger
	cs     *mcp.ClientSession
	child  *Child     // of a stdio server, else nil
	stdio  *stdioConn // likewise
	http   *httpWire  // of a server over HTTP, else nil

	life context.Context // ends with the session
	end  context.CancelCauseFunc
	over chan struct{}

	endOver  sync.Once
	forgotIt atomic.Pointer[error] // set when the server no longer knows the session, which ends with its calls

	listChanged chan struct{}
	offersNew   chan struct{}
	lastMessage atomic.Int64 // when it came, Unix nanoseconds
	inFlight    atomic.Int32
	suspected   atomic.Bool
	changes     atomic.Int32 // notices of another tool list
	refused     atomic.Int32 // requests of the server
	lastRefused atomic.Pointer[string]

	onceRefused sync.Once // see noteRefusal

	callers callers // with calls in flight

	mu        sync.Mutex
	reports   map[string]func(progress, total float64, message string) // by progress token
	lastToken int
}

// connect opens a session by one attempt. ctx limits the opening only.
func connect(ctx context.Context, s *session, a attempt, name, version string) (*session, error) {
	s.life, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	s.over = make(chan struct{})
	s.listChanged, s.offersNew = make(chan struct{}, 1), make(chan struct{}, 1)
	s.reports = map[string]func(float64, float64, string){}
	stop := context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })
	defer stop()
	if a.limit > 0 {
		t := time.AfterFunc(a.limit, func() { s.end(errProbe) })
		defer t.Stop()
	}
	transport, err := a.open(s)
	if err != nil {
		s.end(err)
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: version}, &mcp.ClientOptions{
		Logger: slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ClientCapabilities{ // nil would offer roots
			Experimental: map[string]any{GateCapability: map[string]any{}},
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			s.toolsChanged()
		},
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { notice(s.offersNew) },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { notice(s.offersNew) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.report(r.Params.ProgressToken, r.Params.Progress, r.Params.Total, r.Params.Message)
		},
		// Sampling has no handler and is not offered: a server must not spend the
		// user's model.
		ElicitationHandler: s.elicit,
	})
	client.AddReceivingMiddleware(s.countRefused)
	cs, err := client.Connect(s.life, transport, &mcp.ClientSessionOptions{ProtocolVersion: a.version})
	if err != nil {
		err = s.reason(err)
		if no, ok := errors.AsType[*jsonrpc.Error](err); ok && no.Code != 0 && !isClosing(err) {
			if no.Code == codeUnreadable {
				err = errors.New(no.Message)
			} else {
				err = fmt.Errorf("it refuses the connection: %w", no)
			}
		}
		s.end(err)
		if s.child != nil {
			s.child.Kill()
		}
		return nil, err
	}
	s.cs = cs
	go func() {
		defer s.closeOver()
		err := cs.Wait()
		s.end(s.reason(err))
	}()
	return s, nil
}

// elicit answers a question of the server. It refuses, with the reason, a question that cannot reach exactly the person
// concerned, and dismisses a question for nobody.
func (s *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	c, ask, err := s.callers.of(ctx, r.Params.Meta)
	q, badly := question(s.server.Name, r.Params)
	if err == nil {
		err = badly
	}
	if err != nil {
		s.log.Warn("refused a question of an upstream", "server", s.server.Name, "error", err)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "not passed on: " + err.Error()}
	}
	if ask == nil {
		s.log.Warn("dismissed a question of an upstream: there is nobody to ask", "server", s.server.Name)
		return &mcp.ElicitResult{Action: Dismissed}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.over, func() { cancel(errors.New("the call is over")) })()
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()
	a, err := ask(ctx, q)
	if err != nil {
		s.log.Warn("dismissed a question of an upstream", "server", s.server.Name, "error", err)
		return &mcp.ElicitResult{Action: Dismissed}, nil
	}
	return &mcp.ElicitResult{Action: a.Action, Content: a.Content}, nil
}

func (s *session) closeOver() { s.endOver.Do(func() { close(s.over) }) }

// forgot notes that the server no longer knows the session. Calls in flight may still get their answers; see drain.
func (s *session) forgot(err error) {
	if s.forgotIt.CompareAndSwap(nil, &err) {
		s.closeOver()
	}
}

// GateCapability is the experimental capability that tells a server that its client is a codemode. A codemode server
// refuses such a client: see package server.
const GateCapability = "codemode/gate"

// countRefused counts the requests of the server that fail.
func (s *session) countRefused(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, r)
		if err != nil {
			s.refused.Add(1)
			s.lastRefused.Store(&method)
		}
		return res, err
	}
}

// reason finds out why the connection ended with err.
func (s *session) reason(err error) error {
	if cause := context.Cause(s.life); cause != nil {
		err = cause
	}
	if s.child != nil && !errors.Is(err, errStart) && !errors.Is(err, errSilent) {
		var answer *jsonrpc.Error
		if errors.As(err, &answer) && answer.Code != 0 && !isClosing(err) {
			return err // the process lives and has refused
		}
		if err != nil && errors.Is(s.child.Cause(), errConnectionClosed) {
			return s.child.WithTellingLine(err) // its answer opens no connection
		}
		return s.child.Why()
	}
	if err == nil {
		err = errors.New("it ended the connection")
	}
	if s.http != nil {
		return s.http.explain(err)
	}
	return s.child.WithTellingLine(err)
}

// isClosing reports whether the SDK's error says only that the connection has ended.
func isClosing(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed)
}

func (s *session) received() { s.lastMessage.Store(time.Now().UnixNano()) }

func (s *session) toolsChanged() {
	s.changes.Add(1)
	notice(s.listChanged)
}

func notice(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default: // a notice is already pending
	}
}

func (s *session) progress(params json.RawMessage) {
	var p mcp.ProgressNotificationParams
	if json.Unmarshal(params, &p) == nil {
		s.report(p.ProgressToken, p.Progress, p.Total, p.Message)
	}
}

// report passes progress on to the caller of the progress token.
func (s *session) report(token any, progress, total float64, message string) {
	name, _ := token.(string)
	s.mu.Lock()
	f := s.reports[name]
	s.mu.Unlock()
	if f != nil {
		f(progress, total, message)
	}
}

func (s *session) info() Status {
	st := Status{Changes: int(s.changes.Load()), Refused: int(s.refused.Load())}
	if method := s.lastRefused.Load(); method != nil {
		st.LastRefused = *method
	}
	if r := s.cs.InitializeResult(); r != nil {
		st.Instructions, st.Protocol = r.Instructions, r.ProtocolVersion
		if r.ServerInfo != nil {
			st.Implementation = r.ServerInfo.Name + " " + r.ServerInfo.Version
		}
	}
	if s.stdio != nil {
		st.Dropped, st.Unexpected = int(s.stdio.frames.dropped.Load()), int(s.stdio.pending.unexpected.Load())
		st.Stderr, st.StderrBytes = s.child.Stderr()
	}
	return st
}

func (s *session) changed() <-chan struct{} { return s.listChanged }
func (s *session) news() <-chan struct{}    { return s.offersNew }
func (s *session) ended() <-chan struct{}   { return s.over }

func (s *session) why() error {
	if err := s.forgotIt.Load(); err != nil {
		return *err
	}
	return context.Cause(s.life)
}

func (s *session) forgotten() bool { return s.forgotIt.Load() != nil }

func (s *session) drain(ctx context.Context) {
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for s.inFlight.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// drainPoll is how often drain looks for calls in flight.
const drainPoll = 20 * time.Millisecond

func (s *session) close(grace context.Context) {
	s.end(errClosed) // calls in flight end now
	if s.child != nil {
		s.child.Fail(errClosed)
		stop := context.AfterFunc(grace, s.child.Kill)
		s.child.Stop()
		stop()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.cs.Close() // over HTTP it deletes the session, for 5 seconds at most
		<-s.over
	}()
	select {
	case <-done:
	case <-grace.Done():
	}
	if s.http != nil {
		s.http.close()
	}
}

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server may send requests, too. After requestsMax unread answers we read nothing more from it. We end a server that
// then reads no answer for readTime.
const (
	requestsMax = 256
	readTime    = 30 * time.Second
)

// A listener gets the messages of a server, except answers.
type listener interface {
	received()                       // any message
	toolsChanged()                   // the notice of another tool list
	progress(params json.RawMessage) // of a call
}

// stdioConn is a connection over the standard input and output of a child
// process. The SDK's ends the session at the first line that is no message, and
// real servers print such lines.
type stdioConn struct {
	child  *Child
	frames *frameReader
	on     listener

	asked chan struct{} // one for each request of the server that has no answer yet

	pending pending
	sending func(args json.RawMessage) // learns of the arguments of each call; nil is ignored

	batch []json.RawMessage // rest of a batch; used by Read only
}

func newStdioConn(c *Child, on listener, masked masking) *stdioConn {
	s := &stdioConn{child: c, frames: newFrameReader(c, frameMax), on: on, asked: make(chan struct{}, requestsMax)}
	s.frames.instead = func(text []byte) []byte { return s.pending.lost(text, masked) }
	return s
}

// Connect makes it an [mcp.Transport].
func (s *stdioConn) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// SessionID is part of [mcp.Connection]; a process is its own session.
func (s *stdioConn) SessionID() string { return "" }

// Read returns the next message that the SDK has to handle. It handles the
// notifications itself, so that a storm of them costs no more than reading it.
func (s *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		raw, err := s.nextRaw()
		if err != nil {
			return nil, err
		}
		s.on.received()
		m, err := decode(raw)
		if err != nil {
			s.frames.dropped.Add(1)
			if raw = s.frames.instead(raw); raw == nil {
				continue
			}
			if m, err = decode(raw); err != nil {
				continue // cannot happen: we wrote it
			}
		}
		switch m := m.(type) {
		case *jsonrpc.Response:
			again := s.pending.answer(m)
			if again == nil {
				return m, nil
			}
			if err := s.Write(context.Background(), again); err != nil { // it ends with the process at the latest
				return nil, err
			}
		case *jsonrpc.Request:
			switch {
			case m.IsCall():
				return m, s.mayAsk()
			case m.Method == "notifications/progress":
				s.on.progress(m.Params)
			case m.Method == "notifications/tools/list_changed":
				s.on.toolsChanged()
			case m.Method == "notifications/cancelled":
				return m, nil
			}
		}
	}
}

// mayAsk waits until the server has read enough answers to its requests.
func (s *stdioConn) mayAsk() error {
	select {
	case s.asked <- struct{}{}:
		return nil
	default:
	}
	late := time.NewTimer(readTime)
	defer late.Stop()
	select {
	case s.asked <- struct{}{}:
		return nil
	case <-s.child.Closed():
		return io.EOF
	case <-late.C:
		err := errors.New("it sends requests and does not read the answers")
		s.child.Fail(err)
		return err
	}
}

func (s *stdioConn) nextRaw() (json.RawMessage, error) {
	for len(s.batch) == 0 {
		raw, err := s.frames.next()
		if err != nil {
			return nil, s.readError(err)
		}
		if raw[0] != '[' {
			return raw, nil
		}
		if json.Unmarshal(raw, &s.batch) != nil { // cannot happen: next has checked it
			s.batch = nil
		}
	}
	raw := s.batch[0]
	s.batch = s.batch[1:]
	return raw, nil
}

// readError makes the reason of a stream's end the reason of the process's end.
func (s *stdioConn) readError(err error) error {
	if errors.Is(err, errFrameTooLarge) {
		s.child.Fail(err)
		return err
	}
	return io.EOF
}

// Write sends a message. It returns early when ctx ends.
func (s *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	data = append(data, '\n')
	var x *exchange
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			x = s.pending.add(ctx, m)
			if s.sending != nil {
				s.sending(x.given())
			}
		}
	case *jsonrpc.Response:
		defer func() {
			select {
			case <-s.asked:
			default: // the answer to a request that was not counted
			}
		}()
	}
	return s.child.Send(ctx, data, func() { // no other message can come between now
		x.noteSent()
		x.passOn()
	})
}

// Close ends the process and returns when it is dead.
func (s *stdioConn) Close() error {
	s.child.Close()
	return nil
}

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server may ask, too. When it has not read the answers to requestsMax
// requests, nothing more is read from it until it has; one that takes longer
// than readTime for that is given up.
const (
	requestsMax = 256
	readTime    = 30 * time.Second
)

// A listener hears what a server says unasked.
type listener interface {
	heard()                          // any message at all
	toolsChanged()                   // the tool list is another one
	progress(params json.RawMessage) // about a call
}

// stdioConn is the client's side of a child process's standard input and
// output. It is a transport of its own, because the SDK's ends the session
// at the first line that is no message.
type stdioConn struct {
	child  *child
	frames *frameReader
	on     listener

	turn   chan struct{} // holds one while a frame is being written; capacity 1
	closed chan struct{}
	once   sync.Once

	asked chan struct{} // one for each request of the server that is not answered yet

	waiting waitingList

	batch []json.RawMessage // rest of a batch; used by Read only
}

func newStdioConn(c *child, on listener) *stdioConn {
	return &stdioConn{
		child: c, frames: newFrameReader(c, frameMax), on: on,
		turn: make(chan struct{}, 1), closed: make(chan struct{}),
		asked: make(chan struct{}, requestsMax),
	}
}

// Connect makes it an [mcp.Transport].
func (s *stdioConn) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// SessionID is part of [mcp.Connection]; a process is its own session.
func (s *stdioConn) SessionID() string { return "" }

// Read returns the next message that the SDK has to handle. Notifications are
// dealt with here, so that a storm of them is as cheap as reading it.
func (s *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		raw, err := s.nextRaw()
		if err != nil {
			return nil, err
		}
		s.on.heard()
		m, err := decode(raw)
		if err != nil {
			s.frames.dropped.Add(1)
			continue
		}
		switch m := m.(type) {
		case *jsonrpc.Response:
			s.waiting.answer(m)
			return m, nil
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

// mayAsk waits until the server has read enough of what it asked for.
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
	case <-s.closed:
		return io.EOF
	case <-late.C:
		err := errors.New("it sends requests and does not read the answers")
		s.child.fail(err)
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
		if json.Unmarshal(raw, &s.batch) != nil { // cannot happen: next has looked at it
			s.batch = nil
		}
	}
	raw := s.batch[0]
	s.batch = s.batch[1:]
	return raw, nil
}

// readError makes the end of the stream tell why it ended.
func (s *stdioConn) readError(err error) error {
	if errors.Is(err, errFrameTooLarge) {
		s.child.fail(err)
		return err
	}
	return io.EOF
}

// Write sends a message. It returns early when ctx ends; a frame of which a
// part was written is still written to its end.
func (s *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	data = append(data, '\n')
	var c *capture
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			c = s.waiting.add(ctx, m.ID)
		}
	case *jsonrpc.Response:
		defer func() {
			select {
			case <-s.asked:
			default: // an answer to nothing that was asked
			}
		}()
	}
	select {
	case s.turn <- struct{}{}:
	case <-s.closed:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		<-s.turn
		return err
	}
	c.noteSent()
	n, err := s.child.writeSome(data)
	if err != nil || n == len(data) { // nearly always: it fits into the pipe
		<-s.turn
		return err
	}
	done := make(chan error, 1)
	go func() { // ends with the child at the latest
		_, err := s.child.stdin.Write(data[n:])
		<-s.turn
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-s.closed:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the process, step by step; it returns when it is dead.
func (s *stdioConn) Close() error {
	s.once.Do(func() { close(s.closed) })
	select { // a process that ends says why, if it is given the time
	case <-s.child.exited:
	case <-time.After(drainTime):
		s.child.fail(errors.New("it closed its standard output"))
	}
	s.child.stop()
	return nil
}

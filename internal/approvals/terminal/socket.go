package terminal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A socket connects responders of the same user to a Queue. It is in a folder that only this user can enter, and the
// listener rejects connections of other users. Another program of the same user can connect.

const (
	// longestSaid bounds a line of a responder, which may contain changed arguments.
	longestSaid = 4 << 20
	// helloWait is how long the listening process may take to identify itself; acceptPause is the delay after a failed
	// connection.
	helloWait, acceptPause = 5 * time.Second, 100 * time.Millisecond
	// sendWait is how long a responder may take to receive a line.
	sendWait = 5 * time.Second
)

// A Listener serves a Queue to responders.
type Listener struct {
	queue *approvals.Queue
	by    string
	log   *slog.Logger
	net   net.Listener
	path  string

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	wg     sync.WaitGroup
}

// Listen makes a socket in dir and serves q there until it is closed. The record names those who answer over it by.
func Listen(dir string, q *approvals.Queue, by string, log *slog.Logger) (*Listener, error) {
	socket, err := ListenPrivate(dir)
	if err != nil {
		return nil, fmt.Errorf("making a socket for responders: %w", err)
	}
	l := &Listener{queue: q, by: by, log: log, net: socket, path: socket.Addr().String(), conns: map[net.Conn]bool{}}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.wg.Go(l.accept)
	return l, nil
}

func (l *Listener) accept() {
	for {
		c, err := l.net.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, say
			l.log.Warn("accepting a responder failed", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		if err := SamePeer(c); err != nil {
			l.log.Warn("rejected a responder", "error", err)
			c.Close()
			continue
		}
		l.mu.Lock()
		if l.closed {
			c.Close()
		} else {
			l.conns[c] = true
			l.wg.Go(func() { l.serve(c) })
		}
		l.mu.Unlock()
	}
}

// Close removes the socket and waits for the responders' connections to end. It may be called twice.
func (l *Listener) Close() error {
	l.mu.Lock()
	already := l.closed
	l.closed = true
	for c := range l.conns {
		c.Close()
	}
	l.mu.Unlock()
	var err error
	if !already {
		err = l.net.Close() // removes the file
	}
	l.wg.Wait()
	return err
}

// serve handles one responder's connection.
func (l *Listener) serve(c net.Conn) {
	defer func() {
		c.Close()
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
	}()
	s := &served{conn: c, queue: l.queue, seat: l.queue.Sit(l.by), width: plainWidth}
	defer s.seat.Leave()
	if s.tell(&Told{Kind: "hello", V: wireVersion, Who: l.by}) != nil {
		return
	}
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-s.seat.News():
				if s.pending() != nil {
					c.Close()
					return
				}
			case <-done:
				return
			}
		}
	})
	ctx, over := context.WithCancel(context.Background())
	err := s.listen(ctx)
	over()
	close(done)
	telling.Wait()
	s.outcomes.Wait()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		l.log.Debug("the connection of a responder ended", "error", err)
	}
}

type served struct {
	conn  net.Conn
	queue *approvals.Queue
	seat  *approvals.Seat

	outcomes sync.WaitGroup // waits for outcomes of calls that were allowed here

	listing sync.Mutex // one list at a time, from reading the queue to writing its line: the newest is sent last

	mu    sync.Mutex // one line at a time
	width int
}

// send writes one line, one at a time.
func send(conn net.Conn, mu *sync.Mutex, v any) error {
	js, err := json.Marshal(v)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := conn.SetWriteDeadline(time.Now().Add(sendWait)); err != nil {
		return err
	}
	_, err = conn.Write(append(js, '\n'))
	return err
}

func (s *served) tell(t *Told) error { return send(s.conn, &s.mu, t) }

func (s *served) pending() error {
	s.listing.Lock()
	defer s.listing.Unlock()
	s.mu.Lock()
	width := s.width
	s.mu.Unlock()
	t := &Told{Kind: "pending"}
	t.Calls, t.Batches = describe(s.seat.Pending(), width)
	return s.tell(t)
}

// listen carries out the responder's lines until it disconnects.
func (s *served) listen(ctx context.Context) error {
	lines := bufio.NewScanner(s.conn)
	lines.Buffer(nil, longestSaid)
	for lines.Scan() {
		var said Said
		if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
			return fmt.Errorf("reading what the responder sent: %w", err)
		}
		var err error
		switch said.Kind {
		case "width":
			s.mu.Lock()
			s.width = min(max(said.Width, 1), widest)
			s.mu.Unlock()
			err = s.pending()
		case "show":
			t := &Told{Kind: "shown", ID: said.ID, IDs: said.IDs}
			s.mu.Lock()
			width := s.width
			s.mu.Unlock()
			if len(t.IDs) == 0 {
				t.IDs = []string{said.ID}
			}
			t.View, err = s.seat.Show(prompt.RenderOptions{Width: width}, t.IDs...)
			if err != nil {
				t.Error = prompt.Words(err.Error())
			}
			err = s.tell(t)
		case "answer":
			t := &Told{Kind: "answered", ID: said.ID}
			reply := call.Answer{Reason: said.Reason}
			if said.Yes {
				reply = call.Answer{Allowed: true, Scope: said.Scope, Uses: said.Uses, Length: said.Length, Args: said.Args,
					Selected: said.Selected, Text: said.Text}
			}
			asked, _ := s.seat.Request(said.ID)
			answered := s.seat.Answer(said.ID, said.Digest, said.Code, reply)
			if answered != nil {
				t.Error = prompt.Words(answered.Error())
			}
			err = s.tell(t)
			if outcome := s.queue.Outcome; said.Yes && outcome != nil && answered == nil && asked.Kind() == "call" {
				s.outcomes.Go(func() {
					if text := outcome(ctx, asked); text != "" {
						_ = s.tell(&Told{Kind: "outcome", ID: said.ID, Text: prompt.Words(text)}) // the responder may be gone
					}
				})
			}
		default:
			err = fmt.Errorf("the responder sent the unknown kind %s", prompt.Quote(said.Kind))
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// A Responder is a connection to the questions of one process. One goroutine may use its methods, and another Next.
type Responder struct {
	conn  net.Conn
	lines *bufio.Scanner
	mu    sync.Mutex
}

// Respond connects to a socket that [Listen] made, if the socket and the listening process belong to this user.
func Respond(ctx context.Context, path string) (*Responder, error) {
	c, err := DialPrivate(ctx, path)
	if err != nil {
		return nil, err
	}
	r := &Responder{conn: c, lines: bufio.NewScanner(c)}
	r.lines.Buffer(nil, 64<<20)
	if err := c.SetReadDeadline(time.Now().Add(helloWait)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if hello, err := r.Next(); err != nil || hello.Kind != "hello" || hello.V != wireVersion {
		return nil, errors.Join(errors.New("no codemode of this version listens there"), err, c.Close())
	}
	return r, c.SetReadDeadline(time.Time{})
}

// Next waits for the next line.
func (r *Responder) Next() (*Told, error) {
	if !r.lines.Scan() {
		if err := r.lines.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	var t Told
	if err := json.Unmarshal(r.lines.Bytes(), &t); err != nil {
		return nil, err
	}
	return &t, nil
}

// Say sends a line.
func (r *Responder) Say(s Said) error { return send(r.conn, &r.mu, s) }

// Close ends the connection, and Next with it.
func (r *Responder) Close() error { return r.conn.Close() }

package isolation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A Caller calls a tool of the harness. The error is a [*Refused] if the harness refused, else that of the context.
type Caller func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)

// Serve is the engine's side of the protocol: it says hello and runs programs with run, one after the other, until the
// input ends. A call that is open when its run ends gets the error of its context.
func Serve(in io.Reader, out io.Writer, hello Hello, run func(context.Context, Run, Caller) Outcome) error {
	s := &server{out: out}
	hello.Protocol = Version
	s.say("hello", hello)
	var work sync.WaitGroup
	defer work.Wait()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return s.failure()
		}
		var m struct {
			Type string `json:"type"`
			Run
		}
		if err == nil {
			err = json.Unmarshal(line, &m)
		}
		if err != nil {
			return fmt.Errorf("reading a message of the harness: %w", err)
		}
		switch m.Type {
		case "run":
			work.Wait() // one at a time
			calls := s.begin(m.Run.Run)
			work.Go(func() {
				runCtx, cancel := context.WithCancel(ctx)
				end := run(runCtx, m.Run, calls.call)
				cancel()
				end.Run = m.Run.Run
				if end.Value == nil && end.Outcome == "value" {
					end.Value = json.RawMessage("null")
				}
				s.say("outcome", end)
			})
		case "answer":
			var a Answer
			if err := json.Unmarshal(line, &a); err != nil {
				return fmt.Errorf("reading an answer of the harness: %w", err)
			}
			s.answer(a)
		}
	}
}

// A server is the state of [Serve].
type server struct {
	mu      sync.Mutex
	out     io.Writer
	err     error // of the first write that failed
	current *calls
}

// calls are the open calls of one run.
type calls struct {
	server *server
	run    int
	last   int
	open   map[int]chan Answer
}

func (s *server) begin(run int) *calls {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = &calls{server: s, run: run, open: map[int]chan Answer{}}
	return s.current
}

func (c *calls) call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	answer := make(chan Answer, 1)
	c.server.mu.Lock()
	c.last++
	id := c.last
	c.open[id] = answer
	c.server.mu.Unlock()
	c.server.say("call", Call{c.run, id, name, args})
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case a := <-answer:
		if a.Error != nil {
			return nil, a.Error
		}
		return a.Value, nil
	}
}

// answer passes an answer on; one of an earlier run belongs to nobody.
func (s *server) answer(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.current.run != a.Run || s.current.open[a.Call] == nil {
		return
	}
	s.current.open[a.Call] <- a
	delete(s.current.open, a.Call)
}

// say writes one message.
func (s *server) say(kind string, message any) {
	line, err := json.Marshal(message)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		line = append(fmt.Appendf(nil, `{"type":%q,`, kind), line[1:]...)
		_, err = s.out.Write(append(line, '\n'))
	}
	if s.err == nil {
		s.err = err
	}
}

func (s *server) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

package isolation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// A Caller calls a tool of the harness. The error is a [*Refused] if the harness refused, else that of the context, or
// says that the run has ended or that the arguments are no JSON. Many goroutines may call it.
type Caller func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)

// Serve is the engine's side of the protocol: it says hello and runs programs with run, one after the other, until the
// input ends. Nothing of a run is said after its outcome: calls that are open then, and later ones, get an error. An
// outcome with a value that is no JSON becomes an error.
func Serve(in io.Reader, out io.Writer, hello Hello, run func(context.Context, Run, Caller) Outcome) error {
	s := &server{out: out}
	hello.Protocol = Version
	if err := s.say("hello", hello); err != nil {
		return err
	}
	var work sync.WaitGroup
	defer work.Wait()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return s.failure()
		}
		var m struct {
			Type string `json:"type"`
			Run
			Call  int             `json:"call"`
			Value json.RawMessage `json:"value"`
			Error *Refused        `json:"error"`
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
				defer cancel()
				s.end(run(runCtx, m.Run, calls.call))
			})
		case "answer":
			s.answer(Answer{m.Run.Run, m.Call, m.Value, m.Error})
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

// calls are the calls of one run.
type calls struct {
	server *server
	run    int
	last   int
	open   map[int]chan Answer
	ended  chan struct{}
}

var errEnded = errors.New("the run has ended")

func (s *server) begin(run int) *calls {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = &calls{server: s, run: run, open: map[int]chan Answer{}, ended: make(chan struct{})}
	return s.current
}

// end says the outcome of the current run.
func (s *server) end(o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Run = s.current.run
	if o.Value == nil && o.Outcome == Value {
		o.Value = json.RawMessage("null")
	}
	close(s.current.ended)
	s.current = nil
	if err := s.write("outcome", o); err != nil && s.err == nil {
		_ = s.write("outcome", Outcome{Run: o.Run, Outcome: Error, Message: err.Error(), Usage: o.Usage})
	}
}

func (c *calls) call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	id, answer, err := c.begin(name, args)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		c.forget(id)
		return nil, context.Cause(ctx)
	case <-c.ended:
		return nil, errEnded
	case a := <-answer:
		switch {
		case a.Error != nil:
			return nil, a.Error
		case a.Value == nil:
			return json.RawMessage("null"), nil
		}
		return a.Value, nil
	}
}

// begin says the call. It encodes large arguments without mu, for which an outcome would have to wait.
func (c *calls) begin(name string, args json.RawMessage) (id int, answer chan Answer, err error) {
	what, err := json.Marshal(struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}{name, args})
	if err != nil {
		return 0, nil, err
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.server.current != c {
		return 0, nil, errEnded
	}
	begin := fmt.Sprintf(`{"type":"call","run":%d,"call":%d,`, c.run, c.last+1)
	if err := c.server.writeLine(begin, what[1:]); err != nil {
		return 0, nil, err
	}
	c.last++
	c.open[c.last] = make(chan Answer, 1)
	return c.last, c.open[c.last], nil
}

func (c *calls) forget(id int) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	delete(c.open, id)
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

func (s *server) say(kind string, message any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(kind, message)
}

// write writes one message, or nothing if it is no JSON. The caller holds mu.
func (s *server) write(kind string, message any) error {
	rest, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.writeLine(fmt.Sprintf(`{"type":%q,`, kind), rest[1:])
}

// writeLine writes two parts as one line. The caller holds mu.
func (s *server) writeLine(begin string, rest []byte) error {
	_, err := s.out.Write(slices.Concat([]byte(begin), rest, []byte("\n")))
	if s.err == nil {
		s.err = err
	}
	return err
}

func (s *server) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

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

// A CallFunc asks the harness for a tool and waits for its answer. The error is a [*Refused], or says that the run
// ended or that ctx did. Several goroutines may use it at once.
type CallFunc func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)

// A RunFunc runs one program. Serve sets the field Run of the outcome. The context ends when the harness goes away.
type RunFunc func(ctx context.Context, run Run, call CallFunc) Outcome

// Serve says hello and runs programs, one at a time, until in ends. Then it ends the program that runs, waits for run
// to return and returns nil. The error says what the harness did wrong, or why out could not be written.
func Serve(in io.Reader, out io.Writer, hello Hello, run RunFunc) error {
	hello.Protocol = Protocol
	if err := Write(out, hello); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &serving{out: out}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(errors.New("the harness went away"))
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		m, err := Read(line)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case Run:
			if err := s.begin(m.Run); err != nil {
				return err
			}
			running.Go(func() {
				ctx, done := context.WithCancelCause(ctx)
				s.end(m.Run, run(ctx, m, s.caller(m.Run)))
				done(errEnded)
			})
		case Answer:
			s.answer(m)
		default:
			return fmt.Errorf("the harness sent the message %s", m.kind())
		}
	}
}

var errEnded = errors.New("the run has ended")

// serving is the state of Serve.
type serving struct {
	mu   sync.Mutex
	out  io.Writer // whole messages only
	run  int       // the run under way
	open map[int]chan<- Answer
	last int // call
	busy bool
	err  error // of the first message that could not be written
}

func (s *serving) begin(run int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return fmt.Errorf("the harness sent run %d before the outcome of run %d", run, s.run)
	}
	if s.err != nil {
		return s.err
	}
	s.busy, s.run, s.last, s.open = true, run, 0, map[int]chan<- Answer{}
	return nil
}

func (s *serving) caller(run int) CallFunc {
	return func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
		answer := make(chan Answer, 1)
		call, err := s.send(run, name, args, answer)
		if err != nil {
			return nil, err
		}
		select {
		case a, ok := <-answer:
			switch {
			case !ok:
				return nil, errEnded
			case a.Error != nil:
				return nil, a.Error
			case a.Value == nil:
				return json.RawMessage("null"), nil
			}
			return a.Value, nil
		case <-ctx.Done():
			s.forget(run, call)
			return nil, context.Cause(ctx)
		}
	}
}

func (s *serving) send(run int, name string, args json.RawMessage, answer chan<- Answer) (call int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.busy || s.run != run {
		return 0, errEnded
	}
	if err := Write(s.out, Call{Run: run, Call: s.last + 1, Name: name, Args: args}); err != nil {
		return 0, err
	}
	s.last++
	s.open[s.last] = answer
	return s.last, nil
}

func (s *serving) forget(run, call int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == run {
		delete(s.open, call)
	}
}

// answer passes on the answer of an open call. Others came too late.
func (s *serving) answer(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting := s.open[a.Call]; waiting != nil && a.Run == s.run {
		delete(s.open, a.Call)
		waiting <- a
	}
}

// end sends the outcome. No call of the run can follow it.
func (s *serving) end(run int, o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for call, waiting := range s.open {
		delete(s.open, call)
		close(waiting)
	}
	s.busy = false
	o.Run = run
	if o.Outcome == Value && o.Value == nil {
		o.Value = json.RawMessage("null")
	}
	if err := Write(s.out, o); err != nil {
		s.err = Write(s.out, Outcome{Run: run, Outcome: Error, Message: err.Error(), Usage: o.Usage})
	}
}

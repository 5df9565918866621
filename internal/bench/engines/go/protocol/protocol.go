// Package protocol is the engine's side of the isolation protocol (docs/isolation-protocol.md), for drivers of
// JavaScript engines that are Go packages.
//
// A driver calls [Serve] with a function that runs one program with [Run.Drive]. [Half] is the part of a driver that
// runs inside the engine, beside the program.
package protocol

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"
)

// Half is JavaScript: a function of two functions of the host, to be evaluated before the program.
//
//	half(call, end) returns {run, answer}
//	call(name, args)      args is JSON text; it returns the number of the call
//	end(outcome, text)    ends the run: "value" with JSON text, or "error" with a message
//	run(program)          starts the program
//	answer(call, value, message)  answers a call with JSON text, or with the message of an error if there is no text
//
//go:embed half.js
var Half string

// Hello is what an engine says of itself.
type Hello struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Claims  []string `json:"claims"`
	Note    string   `json:"note"` // the page whose advice for untrusted code the driver follows
}

// Outcome is how a program ended: value, error or timeout.
type Outcome struct {
	Outcome string          `json:"outcome"`
	Value   json.RawMessage `json:"value,omitempty"`
	Message string          `json:"message,omitempty"`
}

// Answer answers a call: with Value, or with Error.
type Answer struct {
	Call  int             `json:"call"`
	Value json.RawMessage `json:"value"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// Run is a program to run.
type Run struct {
	Program     string    // the body of an async function
	Deadline    time.Time // when the time of the program is up
	MemoryBytes int64     // the limit of the program

	server *server
	id     int
	ended  *Outcome

	mu       sync.Mutex
	calls    int // so far
	open     map[int]bool
	arrived  []Answer
	arriving chan struct{} // has room for one: arrived is not empty
}

// errJSON is the error of text that is no JSON to Go, such as ten thousand arrays in each other.
var errJSON = errors.New("the value has no JSON that the host takes")

// Call asks the harness for a tool; args is JSON text. It returns the number of the call, which its answer has. The
// error is for the program.
func (r *Run) Call(name, args string) (int, error) {
	if !json.Valid([]byte(args)) {
		return 0, errJSON
	}
	r.mu.Lock()
	r.calls++
	call := r.calls
	r.open[call] = true
	r.mu.Unlock()
	r.server.say("call", struct {
		Run  int             `json:"run"`
		Call int             `json:"call"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}{r.id, call, name, json.RawMessage(args)})
	return call, nil
}

// End keeps what the program ended with: "value" with JSON text, or "error" with a message. Only the engine's goroutine
// may call it.
func (r *Run) End(outcome, text string) {
	switch {
	case outcome != "value":
		r.ended = &Outcome{Outcome: outcome, Message: text}
	case json.Valid([]byte(text)):
		r.ended = &Outcome{Outcome: outcome, Value: json.RawMessage(text)}
	default:
		r.ended = &Outcome{Outcome: "error", Message: errJSON.Error()}
	}
}

// Going tells whether the program has not ended and has time left. Only the engine's goroutine may call it.
func (r *Run) Going() bool { return r.ended == nil && time.Now().Before(r.Deadline) }

// Drive runs the program: start starts it, answer gives it an answer, and both return when the engine has nothing more
// to compute, or when the driver interrupted it after the deadline. Their errors end the run.
func (r *Run) Drive(start func() error, answer func(Answer) error) Outcome {
	for err := start(); ; {
		switch {
		case r.ended != nil:
			return *r.ended
		case !time.Now().Before(r.Deadline):
			return Outcome{Outcome: "timeout"}
		case err != nil:
			return Outcome{Outcome: "error", Message: err.Error()}
		}
		var a Answer
		if a, err = r.next(); err == nil {
			err = answer(a)
		}
	}
}

// next waits for an answer, at most until the deadline.
func (r *Run) next() (Answer, error) {
	late := time.NewTimer(time.Until(r.Deadline))
	defer late.Stop()
	for {
		r.mu.Lock()
		if len(r.arrived) > 0 {
			defer r.mu.Unlock()
			a := r.arrived[0]
			r.arrived = r.arrived[1:]
			return a, nil
		}
		stuck := len(r.open) == 0
		r.mu.Unlock()
		if stuck {
			return Answer{}, errors.New("the program waits for what can never come")
		}
		select {
		case <-late.C:
			return Answer{}, context.DeadlineExceeded
		case <-r.arriving:
		}
	}
}

// answered keeps an answer for next.
func (r *Run) answered(a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open[a.Call] {
		return
	}
	delete(r.open, a.Call)
	r.arrived = append(r.arrived, a)
	select {
	case r.arriving <- struct{}{}:
	default:
	}
}

// Serve says hello and runs programs with run, one after the other, until in ends. It does not wait for a program that
// still runs then: the process is to end.
func Serve(in io.Reader, out io.Writer, hello Hello, run func(*Run) Outcome) error {
	s := &server{out: out, failed: make(chan error, 1)}
	s.say("hello", struct {
		Protocol int    `json:"protocol"`
		Language string `json:"language"`
		Hello
	}{1, "javascript", hello})
	ended := make(chan error, 1)
	go func() { ended <- s.read(in, run) }()
	select {
	case err := <-ended:
		return err
	case err := <-s.failed:
		return err
	}
}

type server struct {
	mu     sync.Mutex
	out    io.Writer
	failed chan error // the first error of writing
}

func (s *server) read(in io.Reader, run func(*Run) Outcome) error {
	var current *Run
	done := make(chan struct{}, 1)
	done <- struct{}{}
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		var m struct {
			Type    string `json:"type"`
			Run     int    `json:"run"`
			Program string `json:"program"`
			Limits  struct {
				WallMS      int64 `json:"wall_ms"`
				MemoryBytes int64 `json:"memory_bytes"`
			} `json:"limits"`
			Answer
		}
		if err == nil {
			err = json.Unmarshal(line, &m)
		}
		if err != nil {
			return fmt.Errorf("reading a message of the harness: %w", err)
		}
		switch m.Type {
		case "run":
			<-done // one at a time
			current = &Run{
				Program: m.Program, MemoryBytes: m.Limits.MemoryBytes,
				Deadline: time.Now().Add(time.Duration(m.Limits.WallMS) * time.Millisecond),
				server:   s, id: m.Run, open: map[int]bool{}, arriving: make(chan struct{}, 1),
			}
			go func(r *Run) {
				end := run(r)
				s.say("outcome", struct {
					Run int `json:"run"`
					Outcome
				}{r.id, end})
				done <- struct{}{}
			}(current)
		case "answer":
			if current != nil && current.id == m.Run {
				current.answered(m.Answer)
			}
		}
	}
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
	if err != nil {
		select {
		case s.failed <- fmt.Errorf("writing a message to the harness: %w", err):
		default:
		}
	}
}

// Version is the version of a module that the program was built with.
func Version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return "unknown"
}

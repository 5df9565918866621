// Package protocol is the engine's side of the isolation protocol (docs/isolation-protocol.md), version 1, for engines
// in Go that run one program in one goroutine.
package protocol

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// Boot is a JavaScript expression: a function of (send, done, program) that defines codemode, starts the program, and
// returns the function of (call, answer) that gives it an answer. send(name, args) calls a tool and returns the number
// of the call; done(outcome) gets the text of the outcome.
//
//go:embed boot.js
var Boot string

// A Hello says what an engine is and promises.
type Hello struct {
	Name   string   `json:"name"`
	Module string   `json:"-"` // the path of the module whose version this is
	Claims []string `json:"claims"`
	Note   string   `json:"note"`
}

// A Run is a program and the way to its tools.
type Run struct {
	Program string
	Wall    time.Duration
	Memory  int64 // bytes

	id      int
	calls   int
	ended   bool
	answers chan answer
}

type answer struct {
	Run  int `json:"run"`
	Call int `json:"call"`
	line string
}

// Send calls a tool with arguments as JSON text, and returns the number of the call.
func (r *Run) Send(name, args string) int {
	if r.ended {
		return 0
	}
	r.calls++
	text, _ := json.Marshal(name)
	fmt.Printf(`{"type":"call","run":%d,"call":%d,"name":%s,"args":%s}`+"\n", r.id, r.calls, text, args)
	return r.calls
}

// Next waits for an answer until a deadline, and reports whether one came.
func (r *Run) Next(deadline time.Time) (call int, line string, ok bool) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return 0, "", false
		case a := <-r.answers:
			if a.Run == r.id {
				return a.Call, a.line, true
			}
		}
	}
}

// Outcome is the text of an outcome without a value.
func Outcome(outcome string, err error) string {
	message := ""
	if err != nil {
		message = err.Error()
	}
	text, _ := json.Marshal(map[string]string{"outcome": outcome, "message": message})
	return string(text)
}

// Serve says hello and runs programs until the input ends. run returns the text of an outcome.
func Serve(hello Hello, run func(*Run) string) {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == hello.Module {
				version = m.Version
			}
		}
	}
	text, _ := json.Marshal(hello)
	fmt.Printf(`{"type":"hello","protocol":1,"language":"javascript","version":%q,%s`+"\n", version, text[1:])
	answers := make(chan answer, 4096)
	runs := make(chan *Run, 1)
	go func() {
		for r := range runs {
			end := run(r)
			r.ended = true
			fmt.Printf(`{"type":"outcome","run":%d,%s`+"\n", r.id, end[1:])
		}
	}()
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			Type    string
			Run     int
			Program string
			Limits  struct {
				WallMS      int64 `json:"wall_ms"`
				MemoryBytes int64 `json:"memory_bytes"`
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, "reading a message:", err)
			os.Exit(1)
		}
		switch m.Type {
		case "answer":
			a := answer{line: string(line)}
			_ = json.Unmarshal(line, &a)
			answers <- a
		case "run":
			runs <- &Run{Program: m.Program, Wall: time.Duration(m.Limits.WallMS) * time.Millisecond,
				Memory: m.Limits.MemoryBytes, id: m.Run, answers: answers}
		}
	}
}

package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
)

// inProcess makes a server with one tool.
func inProcess(f func(context.Context, json.RawMessage) (any, error)) upstream.Server {
	return upstream.BuiltIn(builtin.Server{Name: "s", Loose: true, Tools: []builtin.Tool{
		{Name: "f", Input: json.RawMessage(`{"type":"object"}`), Call: f},
	}})
}

// Whatever a function does, its call ends, and the process lives.
func TestEndsOfCallsInThisProcess(t *testing.T) {
	for _, row := range []struct {
		why     string
		f       func(context.Context, json.RawMessage) (any, error)
		value   string
		err     string
		unknown bool // whether it did what it should
		logged  string
	}{
		{why: "a value", f: func(context.Context, json.RawMessage) (any, error) { return []int{1}, nil }, value: "[1]"},
		{why: "nothing", f: func(context.Context, json.RawMessage) (any, error) { return nil, nil }, value: "null"},
		{why: "an error", f: func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("sold out") },
			err: "sold out"},
		{why: "a long error that is no text", f: func(context.Context, json.RawMessage) (any, error) {
			return nil, errors.New("\xff" + strings.Repeat("x", 9<<10))
		}, err: "\uFFFDxxx"},
		{why: "a panic", f: func(context.Context, json.RawMessage) (any, error) { panic("secret") },
			err: "an internal error ended the call", unknown: true, logged: "panic=secret"},
		{why: "the end of its goroutine", f: func(context.Context, json.RawMessage) (any, error) {
			runtime.Goexit()
			return nil, nil
		}, err: "an internal error ended the call", unknown: true},
		{why: "a value that is no JSON", f: func(context.Context, json.RawMessage) (any, error) { return func() {}, nil },
			err: "an internal error ended the call", unknown: true, logged: "encoding a result"},
		{why: "it stops with its context", f: func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, err: "deadline exceeded", unknown: true},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				m := manage(t, upstream.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, inProcess(row.f))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				r, err := m.Call(ctx, "s", "f", json.RawMessage(`{}`), upstream.CallOptions{})
				switch {
				case row.err == "" && (err != nil || string(r.Value) != row.value || string(r.Structured) != row.value):
					t.Errorf("got %+v, %v, want %s", r, err, row.value)
				case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err) || len(err.Error()) > 8<<10+10):
					t.Errorf("the error is %v, want %s", err, row.err)
				}
				lost, _ := errors.AsType[*upstream.Error](err)
				panics := strings.Contains(log.String(), "panic")
				if got := lost != nil && lost.Unknown; got != row.unknown || panics != (row.logged != "") {
					t.Errorf("the outcome is unknown: %t, want %t; the log is %s", got, row.unknown, log.String())
				}
				if err != nil && strings.Contains(err.Error(), "secret") || !strings.Contains(log.String(), row.logged) ||
					row.logged != "" && !strings.Contains(log.String(), "inprocess.go") {
					t.Errorf("the program learns %v, the log %s", err, log.String())
				}
			})
		})
	}
}

// A function that does not look at its context keeps neither a program waiting nor, for longer than Close allows, the
// process.
func TestAFunctionThatRunsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var log bytes.Buffer
		m := manage(t, upstream.Options{Log: slog.New(slog.NewTextHandler(&log, nil))},
			inProcess(func(context.Context, json.RawMessage) (any, error) { <-release; return 1, nil }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := m.Call(ctx, "s", "f", nil, upstream.CallOptions{})
		lost, ok := errors.AsType[*upstream.Error](err)
		if !ok || !lost.Unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ended with %v", err)
		}
		closing, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		began := time.Now()
		if err := m.Close(closing); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("Close returned %v after %v", err, time.Since(began))
		}
		if !strings.Contains(log.String(), "runs on after the end of its call") {
			t.Errorf("the log is %s", log.String())
		}
		close(release)
	})
}

// Close waits for a function that ends in time.
func TestCloseWaitsForFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		m := manage(t, upstream.Options{}, inProcess(func(context.Context, json.RawMessage) (any, error) {
			time.Sleep(3 * time.Second) // in the bubble: the function's work
			ended = true
			return 1, nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Call(ctx, "s", "f", nil, upstream.CallOptions{}); err == nil {
			t.Error("the call did not end with its context")
		}
		if err := m.Close(t.Context()); err != nil || !ended {
			t.Errorf("Close returned %v, and the function has ended: %t", err, ended)
		}
	})
}

func TestBlocksOfBuiltInToolsAreHandles(t *testing.T) {
	m := manage(t, upstream.Options{}, upstream.BuiltIn(builtin.Server{Name: "s", Tools: []builtin.Tool{{
		Name: "picture", Input: json.RawMessage(`{"type":"object"}`),
		Call: func(context.Context, json.RawMessage) (any, error) {
			return builtin.Block{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}, nil
		},
	}}}))
	r, err := call(t, m, "s", "picture", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for id, block := range r.Blocks {
		if got, want := strings.ReplaceAll(string(r.Value), id, "ID"),
			`{"$block":"ID","bytes":8,"mimeType":"image/png","type":"image"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if !strings.Contains(string(block), `"data":"iVBORw0KGgo="`) {
			t.Errorf("the block: %s", block)
		}
	}
	if len(r.Blocks) != 1 || r.Structured != nil {
		t.Errorf("%d blocks, structured %s", len(r.Blocks), r.Structured)
	}
}

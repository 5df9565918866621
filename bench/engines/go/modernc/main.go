// Command modernc runs programs in modernc.org/quickjs: a new VM for each, with its limits of time, memory and stack.
package main

import (
	"strings"
	"time"

	"modernc.org/quickjs"

	"github.com/codemode-project/codemode/bench/engines/go/protocol"
)

func main() {
	protocol.Serve(protocol.Hello{
		Name: "modernc.org/quickjs", Module: "modernc.org/quickjs",
		Claims: []string{"time", "memory", "calls", "parallel"},
		Note:   "https://pkg.go.dev/modernc.org/quickjs#VM.SetEvalTimeout",
	}, run)
}

func run(r *protocol.Run) (end string) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return protocol.Outcome("error", err)
	}
	defer vm.Close()
	vm.SetMemoryLimit(uintptr(r.Memory))
	vm.SetMaxStackSize(512 << 10)
	deadline := time.Now().Add(r.Wall)
	failed := func(err error) string {
		switch {
		case time.Now().After(deadline):
			return protocol.Outcome("timeout", err)
		case strings.Contains(err.Error(), "out of memory"):
			return protocol.Outcome("memory", err)
		}
		return protocol.Outcome("error", err)
	}
	// enter runs something of the guest, and the jobs that it leaves. Each entry has a time-out of its own.
	enter := func(do func() error) error {
		jobs := func() error { _, err := vm.ExecutePendingJobs(); return err }
		for _, step := range []func() error{do, jobs} {
			if err := vm.SetEvalTimeout(max(time.Until(deadline), time.Millisecond)); err != nil {
				return err
			}
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
	for name, f := range map[string]quickjs.HostFunc{
		"send": func(args []any) (any, error) { return r.Send(args[0].(string), args[1].(string)), nil },
		"done": func(args []any) (any, error) { end = args[0].(string); return nil, nil },
		"text": func([]any) (any, error) { return r.Program, nil },
	} {
		if err := vm.RegisterHostFunc(name, f); err != nil {
			return protocol.Outcome("error", err)
		}
	}
	err = enter(func() error {
		_, err := vm.Eval(`{
  const { send, done, text } = globalThis;
  delete globalThis.send; delete globalThis.done; delete globalThis.text;
  Object.defineProperty(globalThis, 'answer', { value: (`+protocol.Boot+`)(send, done, text()) });
}`, quickjs.EvalGlobal)
		return err
	})
	for err == nil && end == "" {
		call, line, ok := r.Next(deadline)
		if !ok {
			return protocol.Outcome("timeout", nil)
		}
		err = enter(func() error {
			_, err := vm.Call("answer", call, line)
			return err
		})
	}
	if time.Now().After(deadline) {
		return protocol.Outcome("timeout", err)
	}
	if end == "" {
		return failed(err)
	}
	return end
}

// The driver of modernc.org/quickjs for the isolation protocol.
package main

import (
	"fmt"
	"os"
	"time"

	"modernc.org/quickjs"

	"github.com/codemode-project/codemode/internal/bench/engines/go/protocol"
)

// A program that uses up its memory gets an error, which one can make oneself; so its outcome is error, not memory.
var hello = protocol.Hello{
	Name:    "modernc.org/quickjs",
	Version: protocol.Version("modernc.org/quickjs"),
	Claims:  []string{"time", "memory", "calls", "parallel"},
	Note:    "https://pkg.go.dev/modernc.org/quickjs#VM.SetEvalTimeout",
}

func main() {
	if err := protocol.Serve(os.Stdin, os.Stdout, hello, run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a program in a VM of its own. It has no module loader and no helpers, so nothing of the machine.
func run(r *protocol.Run) protocol.Outcome {
	vm, err := quickjs.NewVM()
	if err != nil {
		return protocol.Outcome{Outcome: "error", Message: err.Error()}
	}
	defer vm.Close()
	vm.SetMemoryLimit(uintptr(r.MemoryBytes))
	functions := map[string]quickjs.HostFunc{
		"call": func(args []any) (any, error) { return r.Call(args[0].(string), args[1].(string)) },
		"end": func(args []any) (any, error) {
			r.End(args[0].(string), args[1].(string))
			vm.Interrupt() // what the program left to do is not done
			return nil, nil
		},
	}
	for name, f := range functions {
		if err := vm.RegisterHostFunc(name, f); err != nil {
			return protocol.Outcome{Outcome: "error", Message: err.Error()}
		}
	}
	half, err := vm.EvalValue(setup, quickjs.EvalGlobal)
	if err != nil {
		return protocol.Outcome{Outcome: "error", Message: err.Error()}
	}
	defer half.Free()

	// compute calls a function of the half, and then what is in the queue. The library limits the time of each call of
	// the engine, so each gets the time that is left.
	compute := func(name string, args ...any) error {
		atom, err := vm.NewAtom(name)
		if err != nil {
			return err
		}
		f, err := half.GetPropertyValue(atom)
		if err != nil {
			return err
		}
		defer f.Free()
		limit := func() error { return vm.SetEvalTimeout(max(time.Until(r.Deadline), 1)) }
		if err := limit(); err != nil {
			return err
		}
		if _, err := f.Call(quickjs.UndefinedValue, args...); err != nil {
			return err
		}
		for n := 1; n > 0 && r.Going(); {
			if err := limit(); err != nil {
				return err
			}
			n, _ = vm.ExecutePendingJobs() // a job that fails is the program's own business
		}
		return nil
	}
	start := func() error { return compute("run", r.Program) }
	answer := func(a protocol.Answer) error {
		if a.Error != nil {
			return compute("answer", a.Call, quickjs.Undefined{}, a.Error.Message)
		}
		return compute("answer", a.Call, string(a.Value), quickjs.Undefined{})
	}
	return r.Drive(start, answer)
}

// setup gives the host's functions to the half and takes them away from the program.
var setup = `(({call, end}, half) => {
  delete globalThis.call;
  delete globalThis.end;
  return half(call, end);
})(globalThis, ` + protocol.Half + ")"

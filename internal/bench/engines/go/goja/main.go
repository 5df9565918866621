// The driver of goja for the isolation protocol.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/dop251/goja"

	"github.com/codemode-project/codemode/internal/bench/engines/go/protocol"
)

// goja has no limit of memory.
var hello = protocol.Hello{
	Name:    "goja",
	Version: protocol.Version("github.com/dop251/goja"),
	Claims:  []string{"time", "calls", "parallel"},
	Note:    "https://pkg.go.dev/github.com/dop251/goja#Runtime.Interrupt",
}

// maxDepth bounds the depth of calls "to prevent memory exhaustion caused by an infinite recursion", as the page of
// SetMaxCallStackSize says: there is no bound otherwise.
const maxDepth = 2000

func main() {
	if err := protocol.Serve(os.Stdin, os.Stdout, hello, run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a program in a runtime of its own.
func run(r *protocol.Run) protocol.Outcome {
	vm := goja.New()
	vm.SetMaxCallStackSize(maxDepth)
	late := time.AfterFunc(time.Until(r.Deadline), func() { vm.Interrupt("the time is up") })
	defer late.Stop()

	end := func(outcome, text string) {
		r.End(outcome, text)
		vm.Interrupt("the program has ended") // what it left to do is not done
	}
	var half struct{ Run, Answer goja.Callable }
	start := func() error {
		v, err := vm.RunString(protocol.Half)
		if err != nil {
			return err
		}
		of, _ := goja.AssertFunction(v)
		if v, err = of(nil, vm.ToValue(r.Call), vm.ToValue(end)); err != nil {
			return err
		}
		half.Run, _ = goja.AssertFunction(v.ToObject(vm).Get("run"))
		half.Answer, _ = goja.AssertFunction(v.ToObject(vm).Get("answer"))
		_, err = half.Run(nil, vm.ToValue(r.Program))
		return err
	}
	answer := func(a protocol.Answer) error {
		value, message := goja.Undefined(), goja.Undefined()
		if a.Error != nil {
			message = vm.ToValue(a.Error.Message)
		} else {
			value = vm.ToValue(string(a.Value))
		}
		_, err := half.Answer(nil, vm.ToValue(a.Call), value, message)
		return err
	}
	return r.Drive(start, answer)
}

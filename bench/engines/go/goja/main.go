// Command goja runs programs in goja: a new runtime for each, which is interrupted at the limit of time and has a limit
// for the depth of calls. goja has no limit of memory. A program has no global of the host but codemode.
package main

import (
	"errors"
	"time"

	"github.com/dop251/goja"

	"github.com/codemode-project/codemode/bench/engines/go/protocol"
)

func main() {
	protocol.Serve(protocol.Hello{
		Name: "goja", Module: "github.com/dop251/goja", Claims: []string{"time", "calls", "parallel"},
		Note: "https://github.com/dop251/goja#interrupting",
	}, run)
}

func run(r *protocol.Run) (end string) {
	vm := goja.New()
	vm.SetMaxCallStackSize(2000)
	deadline := time.Now().Add(r.Wall)
	timer := time.AfterFunc(r.Wall, func() { vm.Interrupt("the time is up") })
	defer timer.Stop()
	failed := func(err error) string {
		if _, ok := errors.AsType[*goja.InterruptedError](err); ok {
			return protocol.Outcome("timeout", err)
		}
		return protocol.Outcome("error", err)
	}
	boot, err := vm.RunString(protocol.Boot)
	if err != nil {
		return failed(err)
	}
	start, _ := goja.AssertFunction(boot)
	done := func(text string) { end = text }
	answerValue, err := start(goja.Undefined(), vm.ToValue(r.Send), vm.ToValue(done), vm.ToValue(r.Program))
	if err != nil {
		return failed(err)
	}
	answer, _ := goja.AssertFunction(answerValue)
	for end == "" {
		call, line, ok := r.Next(deadline)
		if !ok {
			return protocol.Outcome("timeout", nil)
		}
		if _, err := answer(goja.Undefined(), vm.ToValue(call), vm.ToValue(line)); err != nil {
			return failed(err)
		}
	}
	return end
}

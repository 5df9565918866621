package sandbox

import (
	"context"

	"github.com/tetratelabs/wazero/api"
)

// The two functions that a guest imports. A guest may pass anything: assume that
// the program has taken over the interpreter.

// hostPoll is codemode_poll. It updates the clock. If the run's time is up, it stops the run by not returning.
func hostPoll(ctx context.Context, _ api.Module, _ []uint64) {
	g := ctx.Value(guestKey{}).(*guest)
	if g.run == nil {
		return // firstGuest asks the guest about itself
	}
	g.run.watch(g, nil, false)
	g.run.performNext()
	t := now()
	if t-g.began > slice {
		g.mem.Unwatch()
		g.pause(t)
		g.pass(t)
		g.compute()
		t = g.began
	}
	g.setClock(t)
	r := g.run
	r.steps.count(g)
	r.steps.fill(g)
	if r.steps.tooMany() && r.stop == 0 && r.result == nil { // what ends a program of a session after its result is free
		r.stop = TooManySteps
	}
	if r.mustStop(t, g.used(t)) {
		panic(errStop)
	}
}

// hostCall is codemode_call(name, nameLen, args, argsLen).
func hostCall(ctx context.Context, m api.Module, stack []uint64) {
	g := ctx.Value(guestKey{}).(*guest)
	if g.run == nil {
		panic(errStop)
	}
	name, ok := m.Memory().Read(uint32(stack[0]), uint32(stack[1]))
	if room, asks := asks(m, name, stack); ok && asks {
		stack[0] = api.EncodeI32(g.run.answer(name, room))
		return
	}
	args, ok2 := m.Memory().Read(uint32(stack[2]), uint32(stack[3]))
	if !ok || !ok2 || len(args) > g.run.limits.ArgumentBytes {
		panic(errOutOfBounds)
	}
	stack[0] = api.EncodeI32(g.run.call(name, args))
}

// A program asks about names without a call: Object.keys(codemode), "x" in codemode.crm, a first read of codemode.crm, a
// name that nothing declares. Each question is one use of codemode_call whose name begins with a NUL, which no name of a
// call does, and whose arguments are room for the answer. It gets no id. It costs the program its processor time, and
// ends with the run as a poll does. This pairs with ask in guest/shim.c.

// answer writes the answer to a question into room, if it fits, and returns its length, or -1 if nobody knows names.
func (r *Run) answer(question, room []byte) int32 {
	g := r.guest
	if r.program.Names == nil || len(question) < 2 {
		return -1
	}
	text := r.program.Names(question[1], string(question[2:min(len(question), 2+maxName)]))
	if len(text) <= len(room) {
		copy(room, text)
	}
	switch t := now(); {
	case t-g.began > slice:
		hostPoll(g.ctx, g.module, nil)
	case r.mustStop(t, g.used(t)):
		panic(errStop)
	}
	return int32(len(text))
}

// asks reports whether a use of codemode_call is a question, and returns the memory of the guest that its answer goes to.
func asks(m api.Module, name []byte, stack []uint64) (room []byte, ok bool) {
	if len(name) == 0 || name[0] != 0 {
		return nil, false
	}
	room, in := m.Memory().Read(uint32(stack[2]), uint32(stack[3]))
	if !in {
		panic(errOutOfBounds)
	}
	return room, true
}

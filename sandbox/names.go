package sandbox

import "github.com/tetratelabs/wazero/api"

// A program asks about names without a call: Object.keys(codemode), "x" in codemode.crm, a first read of codemode.crm, a
// name that nothing declares. Each question is one use of codemode_call whose name begins with a NUL, which no name of a
// call does, and whose arguments are room for the answer. It gets no id. It costs the program its processor time, and
// ends with the run as a poll does. This pairs with ask in guest/shim.c.

// Names answers what a program asks about a name:
//
//	'n'  what codemode.<name> means; parts are joined by two underscores
//	'g'  what a name means that nothing declares
//	'l'  which names are behind a server, or, for "", behind codemode
//
// An answer begins with one of these letters, and the rest of it reaches the program:
//
//	t  the name that is meant: of a tool, a server or a function, "" for codemode itself
//	c  a function that takes the name of a tool and its arguments: codemode.call
//	m  nothing has that name; for 'g', the message of the ReferenceError, if there is a better one
//	l  names, separated by line feeds
//	w  why nobody can list them yet
//
// Names must not wait, and must not call the run: the goroutine that runs the program calls it. A program may ask as
// often as it wants.
type Names func(ask byte, name string) string

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

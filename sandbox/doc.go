// Package sandbox runs one JavaScript program in one fresh guest: QuickJS
// compiled to WebAssembly, under wazero, in this process.
//
// An [Engine] compiles the guest once, initialises it once and keeps a snapshot of its memory. Each [Engine.Run] gets a
// guest with the memory of that snapshot, passes it the program, and performs the program's calls through a [Host]:
//
//	r, err := engine.Run(ctx, sandbox.Program{Source: "return await codemode.a__b({x: 1})"}, host)
//
// A [Session] is a heap that lives on from one program to the next:
//
//	s, err := engine.NewSession("anna")
//	_, err = s.Run(ctx, sandbox.Program{Source: "let n = 1; const up = () => ++n"}, host)
//	r, err := s.Run(ctx, sandbox.Program{Source: "return up()"}, host) // 2
//
// A user may rely on this: every run ends, within its [Limits] and a few milliseconds; nothing of one run is visible to
// another, unless both belong to one session; the only way out of a run is the Host; and how a run ended ([Error.Kind])
// is what the host observed, regardless of what the program says. Package hostfns decides which calls a program may
// make; this package does not know.
package sandbox

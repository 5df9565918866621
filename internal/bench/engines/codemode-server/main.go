// Command codemode-server is an engine of the isolation protocol (docs/isolation-protocol.md): codemode serve, as an MCP
// client sees it. The tools of the protocol are those of an MCP server that this program serves to codemode, and the
// rules of a profile decide about them.
//
//	codemode-server [CODEMODE]
//
// CODEMODE is the program; without it, codemode is found in PATH.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"runtime/debug"

	"github.com/codemode-project/codemode/internal/isolation"
)

// memory bounds what this program keeps of the arguments that it passes on, in bytes. The harness takes it for memory
// of the engine.
const memory = 64 << 20

func main() {
	log.SetFlags(0)
	debug.SetMemoryLimit(memory)
	program := "codemode"
	if len(os.Args) > 1 {
		program = os.Args[1]
	}
	s, version, err := open(context.Background(), program)
	if err == nil {
		err = isolation.Serve(os.Stdin, os.Stdout, hello(version), s.run)
		err = errors.Join(err, s.close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func hello(version string) isolation.Hello {
	return isolation.Hello{
		Name: "codemode serve", Version: version, Language: "javascript",
		Note: "https://github.com/codemode-project/codemode/blob/main/docs/security.md",
		Claims: []string{"time", "memory", "calls", "parallel", "policy", "arguments", "results", "timers", "console", "clock",
			"codemode"},
	}
}

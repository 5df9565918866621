package serve

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/sandbox"
)

// collectLess makes garbage collections a third less frequent in a process that serves many clients, unless the
// variables of Go's runtime say how often. A request leaves much garbage, mostly the buffers in which the SDK reads
// JSON, and little of it lives on. Near half of the machine's memory they are as frequent as needed to stay below that.
func collectLess() {
	limit := sandbox.MachineMemory() / 2
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || limit == 0 {
		return
	}
	debug.SetGCPercent(150)
	debug.SetMemoryLimit(limit)
}

// lookMore lets Go run one goroutine more than there are processors, unless its variable says how many. Else guests
// and requests of whoever sends most keep all of them busy, and then Go looks for what came over the network only every
// ten milliseconds: everybody's requests wait for that.
func lookMore() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(fair.Cores() + 1)
	}
}

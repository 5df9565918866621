package serve

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

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

// notify tells systemd the state of the process, where it wants to know (the variable NOTIFY_SOCKET).
func notify(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd cannot be told the state of this process", "state", state, "error", err)
	}
}

// watchdog tells systemd again and again that the process works, where it wants to know, until ctx ends. works returns
// when it does; while it does not return, nothing is told, and systemd starts the process again.
func watchdog(ctx context.Context, works func(), log *slog.Logger) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the watchdog of systemd is not served", "error", err)
	}
	if every <= 0 || err != nil {
		return
	}
	tick := time.NewTicker(every / 2)
	defer tick.Stop()
	for {
		works()
		notify(daemon.SdNotifyWatchdog, log)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

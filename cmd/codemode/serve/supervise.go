package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

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

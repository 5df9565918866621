package launch

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/visible"
)

// When Await first tells that it waits, and how often it tells it again where it cannot overwrite a line.
const (
	silentTime = 2 * time.Second
	againTime  = 10 * time.Second
)

// Await waits until every server has listed its tools or failed to, but not longer than wait, and tells out for which
// servers it waits.
func Await(ctx context.Context, out io.Writer, e *codemode.Evaluator, wait time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Tools().Ready(ctx, wait)
	}()
	began, next := time.Now(), silentTime
	onScreen := cli.TerminalFile(out) != nil
	tick, shown := time.NewTicker(250*time.Millisecond), 0
	defer tick.Stop()
	for {
		select {
		case <-done:
			if shown > 0 {
				fmt.Fprintf(out, "\r%*s\r", shown, "")
			}
			return
		case <-tick.C:
		}
		took := time.Since(began)
		text := waitingFor(e, took)
		switch {
		case text == "":
		case onScreen && took > time.Second:
			fmt.Fprintf(out, "\r%-*s", shown, text)
			shown = len(text)
		case !onScreen && took >= next:
			fmt.Fprintln(out, text)
			next += againTime
		}
	}
}

// waitingFor says for which servers Await waits; "" if for none.
func waitingFor(e *codemode.Evaluator, took time.Duration) string {
	starting := e.Tools().Starting()
	if len(starting) == 0 {
		return ""
	}
	all := len(e.Tools().Manager.Status())
	return fmt.Sprintf("Waiting for %s to start (%d of %s, %d s)", visible.Short(strings.Join(starting, ", "), 40),
		all-len(starting), cli.Count(all, "server"), int(took.Seconds()))
}

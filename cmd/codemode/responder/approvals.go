// Package responder answers questions in terminals. It is the command "approvals": a full screen that lists the
// questions of all processes of this user, and the commands that list and revoke grants. [Await] is the other side, in
// the process that asks: it listens for responders, and opens a terminal with one when a question comes and nobody is
// there.
package responder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
)

// New makes the command "approvals".
func New(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var leave bool
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Answer the questions of running programs on this terminal",
		Long: `Shows the calls that wait for a person, of every "codemode serve" of this user, and
takes your answers. A form in the client may show the same question; the first answer
counts.

Keys: up and down choose, enter opens the answers, esc goes back, page up and page
down scroll, s shows all of a call, q quits. No single key allows anything.

The calls of one program that wait at the same time are a batch: a line of its own
stands above them, with a table of their differences. Answer the batch to give all of
them the same answer; or mark some with space, on their own lines, and answer the batch
for those; or answer each alone. You can allow a batch only when all its calls were on
the screen, and a call of high risk only when all its text was.

"Change the arguments" opens the editor that VISUAL or EDITOR names, or one on this
screen if neither is set. If your text is not accepted, it is kept. The last lines show
the outcomes of your answers. A terminal of 60 columns and 20 lines is enough.

This screen also shows questions that programs ask in their own words (ask_user).

The questions come over a socket that only this user can reach. Other programs of the
same user can reach it too, so a call of critical risk cannot be allowed here.

` + responderHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return respondHere(cmd.Context(), s, &set, leave) },
	}
	set.StateFlag(cmd)
	cmd.Flags().BoolVar(&leave, "leave", false, "end when no codemode serve has been running for a while")
	cmd.AddCommand(newGrants(s), newRevoke(s))
	return cmd
}

func respondHere(ctx context.Context, s cli.Streams, set *launch.Settings, leave bool) error {
	in, out := cli.TerminalFile(s.In), cli.TerminalFile(s.Out)
	if in == nil || out == nil {
		return cli.UsageError(errors.New("approvals needs a terminal, where a person reads and answers"))
	}
	state, err := set.StateFolder()
	if err != nil {
		return cli.UsageError(err)
	}
	dir := SocketFolder(state)
	if err := terminal.PrivateDir(dir); err != nil {
		return cli.UsageError(fmt.Errorf("finding questions: %w", err))
	}
	screen := newScreen()
	screen.leave = leave
	program := tea.NewProgram(screen, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithoutSignalHandler())
	following, stop := context.WithCancel(ctx)
	f := &connector{dir: dir, send: program.Send, links: map[string]*link{}}
	var done sync.WaitGroup
	done.Go(func() { f.connect(following) })
	_, err = program.Run()
	stop()
	done.Wait()
	if err != nil && ctx.Err() == nil {
		return cli.InternalError(err)
	}
	return nil
}

// A connector keeps connections to all processes with questions.
type connector struct {
	dir  string
	send func(tea.Msg)

	mu    sync.Mutex
	links map[string]*link // by the path of the socket
	wg    sync.WaitGroup
}

// scanInterval is how often the folder is scanned for new sockets.
const scanInterval = 300 * time.Millisecond

// connect connects to the sockets in the folder until ctx ends.
func (c *connector) connect(ctx context.Context) {
	reported := map[string]bool{} // sockets that are not safe
	for ctx.Err() == nil {
		for _, path := range terminal.Sockets(c.dir) {
			c.mu.Lock()
			known := c.links[path] != nil
			c.mu.Unlock()
			if known {
				continue
			}
			r, err := terminal.Respond(ctx, path)
			switch {
			case err == nil:
				c.read(path, r)
			case errors.Is(err, terminal.ErrUnsafe) && !reported[path]:
				reported[path] = true
				c.send(problemMsg{err.Error()})
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(scanInterval):
		}
	}
	c.mu.Lock()
	for _, l := range c.links {
		l.end()
	}
	c.mu.Unlock()
	c.wg.Wait()
}

// read passes on what a process tells, until the connection ends.
func (c *connector) read(path string, r *terminal.Responder) {
	l := &link{say: r.Say, end: r.Close}
	c.mu.Lock()
	c.links[path] = l
	c.mu.Unlock()
	c.send(toldMsg{l, &terminal.Told{Kind: "hello"}})
	c.wg.Go(func() {
		for {
			told, err := r.Next()
			if err != nil {
				break
			}
			c.send(toldMsg{l, told})
		}
		r.Close()
		c.mu.Lock()
		delete(c.links, path)
		c.mu.Unlock()
		c.send(goneMsg{l})
	})
}

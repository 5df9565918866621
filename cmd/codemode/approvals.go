package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/terminal"
)

// responderChannel is what answers from codemode approvals are called in the record and in "channels" of a profile.
const responderChannel = "terminal"

// socketFolder is where processes that ask wait for responders.
func socketFolder(stateDir string) string { return filepath.Join(stateDir, "approvals") }

// awaitResponders lets people answer from other terminals what is asked in this process. Without a safe place for that, the
// other channels have to do.
func (s *setting) awaitResponders(log *slog.Logger) (stop func()) {
	state, err := s.stateFolder()
	if err == nil {
		queue := approvals.NewQueue(responderChannel)
		queue.May, queue.Where = s.mayAnswer(), `with "codemode approvals" in a terminal`
		s.summoner = newSummoner(state, log)
		queue.Summon, queue.Outcome, queue.Expects = s.summoner.summon, s.summoner.outcome, s.summoner.expects
		var l *terminal.Listener
		if l, err = terminal.Listen(socketFolder(state), queue, principal(), log); err == nil {
			s.channels = append(s.channels, queue)
			return func() { l.Close() }
		}
	}
	log.Warn("codemode approvals cannot answer what is asked here", "error", err)
	return func() {}
}

// mayAnswer is the rule of consoleConfig.may for answers from a terminal, by the configuration that the process is started with.
func (s *setting) mayAnswer() func(person, principal string) bool {
	var c consoleConfig
	if files, err := s.files(); err == nil && !files.None() {
		if cfg, err := files.Load(); err == nil { // else whoever opens it says what is wrong
			c = consoleOf(cfg)
		}
	}
	return func(person, principal string) bool { return c.may(cmp.Or(person, who()), principal) }
}

func newApprovals(s streams) *cobra.Command {
	var set setting
	var leave bool
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Answer, on this terminal, what running programs ask",
		Long: `Shows the calls that wait for a person, of every "codemode serve" of this user, and
takes the answers. Whoever answers first counts: a form in the client and this
terminal may both show a question.

Keys: up and down choose, enter opens the answers, esc goes back, page up and page
down scroll, s shows a call whole, q quits. Nothing is allowed by a single key.

The calls of one program that wait at the same time are a batch: a line of its own
stands above them, with what differs between them in a table. Answer the batch, and
the answer is the same for all; or mark some with space, on their own lines, and
answer the batch for those; or answer each by itself. A batch is allowed only when
all its calls were on the screen, and a call of high risk only when all its text was.

"Change the arguments" opens the editor that VISUAL or EDITOR names, or one on this
screen if neither is set. What you write is kept if it is not taken. The last lines
say what became of your answers. A terminal of 60 columns and 20 lines is enough.

Questions that programs ask in their own words (ask_user) are answered here too.

The questions come over a socket that only this user can reach. Another program
of the same user can reach it too; a call of critical risk is not answered here.

` + responderHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return respondHere(cmd.Context(), s, &set, leave) },
	}
	cmd.Flags().StringVar(&set.state, "state", "", "the folder that codemode serve was given as --state")
	cmd.Flags().BoolVar(&leave, "leave", false, "end when no codemode serve has been running for a while")
	cmd.AddCommand(newGrants(s), newRevoke(s))
	return cmd
}

func respondHere(ctx context.Context, s streams, set *setting, leave bool) error {
	in, isFile := s.in.(*os.File)
	out, outIsFile := s.out.(*os.File)
	if !isFile || !outIsFile || !isTerminal(in) || !isTerminal(out) {
		return usage(errors.New("approvals is for a terminal: a person reads there and answers"))
	}
	state, err := set.stateFolder()
	if err != nil {
		return usage(err)
	}
	dir := socketFolder(state)
	if err := terminal.PrivateDir(dir); err != nil {
		return usage(fmt.Errorf("looking for questions: %w", err))
	}
	screen := newScreen()
	screen.leave = leave
	program := tea.NewProgram(screen, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	following, stop := context.WithCancel(ctx)
	f := &follower{dir: dir, tell: program.Send, links: map[string]*link{}}
	var done sync.WaitGroup
	done.Go(func() { f.follow(following) })
	_, err = program.Run()
	stop()
	done.Wait()
	if err != nil && ctx.Err() == nil {
		return &exitError{code: exitInternal, err: err}
	}
	return nil
}

// A follower keeps connections to all processes that ask.
type follower struct {
	dir  string
	tell func(tea.Msg)

	mu    sync.Mutex
	links map[string]*link // by the path of the socket
	wg    sync.WaitGroup
}

// A link is the connection to one process that asks.
type link struct {
	path string
	say  func(terminal.Said) error
	end  func() error
}

type (
	toldMsg struct {
		from *link
		told *terminal.Told
	}
	goneMsg    struct{ from *link }
	problemMsg struct{ text string }
)

// lookEvery is how often it is looked for processes that have begun to ask.
const lookEvery = 300 * time.Millisecond

// follow connects to what listens in the folder until ctx ends.
func (f *follower) follow(ctx context.Context) {
	wrong := map[string]bool{} // what was complained of
	for ctx.Err() == nil {
		for _, path := range terminal.Sockets(f.dir) {
			f.mu.Lock()
			known := f.links[path] != nil
			f.mu.Unlock()
			if known {
				continue
			}
			r, err := terminal.Respond(ctx, path)
			switch {
			case err == nil:
				f.take(path, r)
			case errors.Is(err, terminal.ErrUnsafe) && !wrong[path]:
				wrong[path] = true
				f.tell(problemMsg{err.Error()})
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
	f.mu.Lock()
	for _, l := range f.links {
		l.end()
	}
	f.mu.Unlock()
	f.wg.Wait()
}

func (f *follower) take(path string, r *terminal.Responder) {
	l := &link{path: path, say: r.Say, end: r.Close}
	f.mu.Lock()
	f.links[path] = l
	f.mu.Unlock()
	f.tell(toldMsg{l, &terminal.Told{Kind: "hello"}})
	f.wg.Go(func() {
		for {
			told, err := r.Next()
			if err != nil {
				break
			}
			f.tell(toldMsg{l, told})
		}
		r.Close()
		f.mu.Lock()
		delete(f.links, path)
		f.mu.Unlock()
		f.tell(goneMsg{l})
	})
}

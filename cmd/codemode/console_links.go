package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/approvals/terminal"
	"github.com/codemode-project/codemode/console"
	"github.com/codemode-project/codemode/internal/visible"
)

// Login links, and codes for changes on the page, come over a socket that only this user can reach: whoever runs codemode console is who started the process that
// serves the page, or a program of theirs. Nothing of either is ever written to a file.

// consoleFolder is where processes with a page wait for whoever wants a link.
func consoleFolder(stateDir string) string { return filepath.Join(stateDir, "console") }

// wantedLink is what codemode console says, and gotLink what it is told: one line of JSON each.
type (
	wantedLink struct {
		As string `json:"as,omitempty"` // who is to log in; "" is whoever started the process
		// Confirm says that codes for what they want to change are wanted, and no link.
		Confirm bool `json:"confirm,omitempty"`
	}
	gotLink struct {
		Link    string                 `json:"link,omitempty"`
		Changes []console.Confirmation `json:"changes,omitempty"`
		As      string                 `json:"as,omitempty"`
		Error   string                 `json:"error,omitempty"`
	}
)

const (
	// linkWait is how long either end of the socket waits for the other.
	linkWait = 5 * time.Second
	// longestWanted bounds what somebody may say there.
	longestWanted = 4 << 10
	// longestGot bounds what they are told: the lines of all changes that wait.
	longestGot = 64 << 20
)

// offerLinks hands out login links until stop is called.
func (p *people) offerLinks(set *setting, log *slog.Logger) (stop func()) {
	p.announce(log)
	state, err := set.stateFolder()
	var listener net.Listener
	if err == nil {
		listener, err = terminal.ListenPrivate(consoleFolder(state))
	}
	if err != nil {
		log.Warn("codemode console cannot ask for links to the page here", "error", err)
		return func() {}
	}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				time.Sleep(100 * time.Millisecond) // too many open files, say
				continue
			}
			done.Go(func() {
				defer c.Close()
				if err := p.giveLink(c); err != nil {
					log.Warn("somebody who wanted a login link was turned away", "error", err)
				}
			})
		}
	})
	return sync.OnceFunc(func() {
		listener.Close()
		done.Wait()
	})
}

// giveLink answers one who wants a link.
func (p *people) giveLink(c net.Conn) error {
	if err := terminal.SamePeer(c); err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(linkWait)); err != nil {
		return err
	}
	var wanted wantedLink
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, longestWanted)
	if !lines.Scan() {
		return nil // it only looked whether somebody listens
	}
	if err := json.Unmarshal(lines.Bytes(), &wanted); err != nil {
		return err
	}
	got := gotLink{As: cmp.Or(wanted.As, who())}
	_, known := p.config.People[got.As]
	switch {
	case got.As != who() && !known:
		got.Error = fmt.Sprintf("the configuration knows nobody called %q; it knows %q", wanted.As, slices.Sorted(maps.Keys(p.config.People)))
	case wanted.Confirm:
		got.Changes = p.console.Confirm(got.As)
	default:
		got.Link = p.console.Link(got.As)
	}
	return json.NewEncoder(c).Encode(got)
}

func newConsole(s streams) *cobra.Command {
	var set setting
	var as string
	var open, confirm, asJSON bool
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Open the web page where people answer what programs ask",
		Long: `Prints a link to the page of each "codemode serve" of this user that has one: with
--http, with --console ADDRESS, or with "console" in the configuration. A link opens
the page once, within ten minutes. Whoever opens it answers in your name: show it to
nobody, and to no agent.

A change of the rules on the page, a rule proposed there and a session made there wait
for a code. With --confirm this prints each such change and its code. The code counts
once, within three minutes, for that change. Compare what stands here with what you
want before you type it: a change that is not yours gets no code from you.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if confirm {
				return confirmChanges(cmd.Context(), s, &set, as, asJSON)
			}
			return openConsole(cmd.Context(), s, &set, as, open, asJSON)
		},
	}
	cmd.Flags().StringVar(&set.state, "state", "", "the folder that codemode serve was given as --state")
	cmd.Flags().StringVar(&as, "as", "", `for whom the link is, as "people" of the configuration has them; you, if left out`)
	cmd.Flags().BoolVar(&open, "open", false, "open it in the browser; while that starts, others on this machine may see the link")
	cmd.Flags().BoolVar(&confirm, "confirm", false, "print the codes for the changes that wait for one on the page, and no link")
	cmd.MarkFlagsMutuallyExclusive("open", "confirm")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// askPages asks every process with a page; there is one at least.
func askPages(ctx context.Context, set *setting, wanted wantedLink) (all []gotLink, err error) {
	state, err := set.stateFolder()
	if err != nil {
		return nil, usage(err)
	}
	var wrong []error
	for _, path := range terminal.Sockets(consoleFolder(state)) {
		got, err := askForLink(ctx, path, wanted)
		switch {
		case err == nil && got.Error == "":
			all = append(all, got)
		case err == nil:
			wrong = append(wrong, errors.New(got.Error))
		case errors.Is(err, terminal.ErrUnsafe):
			wrong = append(wrong, err)
		} // else it belongs to a process that is gone
	}
	if len(all) == 0 {
		if len(wrong) > 0 {
			return nil, usage(errors.Join(wrong...))
		}
		return nil, usage(errors.New(`no codemode serve of this user has a page: start it with --http, or with --console 127.0.0.1:0, or write "console": "127.0.0.1:0" into the configuration`))
	}
	return all, nil
}

// confirmChanges prints what somebody wants to change on a page, each with its code.
func confirmChanges(ctx context.Context, s streams, set *setting, as string, asJSON bool) error {
	pages, err := askPages(ctx, set, wantedLink{As: as, Confirm: true})
	if err != nil {
		return err
	}
	var all []console.Confirmation
	for _, got := range pages {
		all = append(all, got.Changes...)
	}
	if len(all) == 0 {
		return usage(errors.New("no change waits for a code: ask for it on the page first, and run this again"))
	}
	for i, x := range all {
		if asJSON {
			err = json.NewEncoder(s.out).Encode(x)
		} else {
			_, err = fmt.Fprint(s.out, confirmationText(x, i+1, len(all)))
		}
		if err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	}
	return nil
}

func confirmationText(x console.Confirmation, number, of int) string {
	var b strings.Builder
	if of > 1 {
		visible.Fprintf(&b, "%d of %d changes\n", number, of)
	}
	visible.Fprintf(&b, "%s wants, since %s: %s\n", x.Person, x.Since.Local().Format(time.TimeOnly), x.What)
	for _, line := range x.Detail {
		visible.Fprintf(&b, "  %s\n", line)
	}
	visible.Fprintf(&b, "If this is your change, its code is, until %s:\n  %s\n", x.Expires.Local().Format(time.TimeOnly), x.Code)
	visible.Fprintf(&b, "If it is not, log out on the page: somebody else uses your session.\n")
	return b.String()
}

func openConsole(ctx context.Context, s streams, set *setting, as string, open, asJSON bool) error {
	links, err := askPages(ctx, set, wantedLink{As: as})
	if err != nil {
		return err
	}
	for _, got := range links {
		if asJSON {
			err = printJSONLine(s.out, got)
		} else {
			_, err = fmt.Fprintln(s.out, visible.Line(got.Link))
		}
		if err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	}
	if len(links) > 1 && !asJSON {
		fmt.Fprintln(s.err, "codemode: there are several pages; each shows what programs ask in all of these processes")
	}
	if open {
		openBrowser(links[0].Link)
	}
	return nil
}

// askForLink asks the process that listens at a socket.
func askForLink(ctx context.Context, path string, wanted wantedLink) (got gotLink, err error) {
	ctx, cancel := context.WithTimeout(ctx, linkWait)
	defer cancel()
	c, err := terminal.DialPrivate(ctx, path)
	if err != nil {
		return got, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(linkWait)); err != nil {
		return got, err
	}
	if err := json.NewEncoder(c).Encode(wanted); err != nil {
		return got, err
	}
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, longestGot)
	if !lines.Scan() {
		return got, errors.Join(errors.New("nobody answered"), lines.Err())
	}
	return got, json.Unmarshal(lines.Bytes(), &got)
}

package serve

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

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/visible"
)

// Login links, and codes for changes on the page, come over a socket that only this user can reach: the user who
// started the process with the page, or a program of that user, runs codemode console. Nothing writes links or codes to
// a file.

// PageFolder is the folder of the sockets of processes with a page.
func PageFolder(stateDir string) string { return filepath.Join(stateDir, "console") }

// linkRequest is what codemode console sends, and linkResponse what it gets: one line of JSON each.
type (
	linkRequest struct {
		As string `json:"as,omitempty"` // the person who logs in; "" is the user who started the process
		// Confirm asks for the codes of the person's pending changes instead of a link.
		Confirm bool `json:"confirm,omitempty"`
	}
	linkResponse struct {
		Link    string                 `json:"link,omitempty"`
		Changes []console.Confirmation `json:"changes,omitempty"`
		As      string                 `json:"as,omitempty"`
		Error   string                 `json:"error,omitempty"`
	}
)

const (
	// linkWait is how long either end of the socket waits for the other.
	linkWait = 5 * time.Second
	// maxRequest bounds a request.
	maxRequest = 4 << 10
	// maxResponse bounds a response, which has the lines of all pending changes.
	maxResponse = 64 << 20
)

// offerLinks hands out login links until stop is called.
func (p *page) offerLinks(set *launch.Settings, log *slog.Logger) (stop func()) {
	p.announce(set, log)
	state, err := set.StateFolder()
	var listener net.Listener
	if err == nil {
		listener, err = terminal.ListenPrivate(PageFolder(state))
	}
	if err != nil {
		log.Warn("codemode console cannot get links to the page of this process", "error", err)
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
					log.Warn("a request for a login link was refused", "error", err)
				}
			})
		}
	})
	return sync.OnceFunc(func() {
		listener.Close()
		done.Wait()
	})
}

// giveLink answers one request.
func (p *page) giveLink(c net.Conn) error {
	if err := terminal.SamePeer(c); err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(linkWait)); err != nil {
		return err
	}
	var wanted linkRequest
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, maxRequest)
	if !lines.Scan() {
		return nil // a check whether the process still listens
	}
	if err := json.Unmarshal(lines.Bytes(), &wanted); err != nil {
		return err
	}
	got := linkResponse{As: cmp.Or(wanted.As, launch.Owner())}
	_, known := p.config.People[got.As]
	signsIn := p.config.SignIn.Names(got.As)
	switch {
	case signsIn && !wanted.Confirm:
		got.Error = fmt.Sprintf("%q signs in on the page at the identity provider %q, and not with a link", got.As,
			p.config.SignIn.Name)
	case got.As != launch.Owner() && !known && !signsIn:
		got.Error = fmt.Sprintf("the configuration has no person called %q; it has %q",
			wanted.As, slices.Sorted(maps.Keys(p.config.People)))
	case wanted.Confirm:
		got.Changes = p.console.Confirm(got.As)
	default:
		got.Link = p.console.Link(got.As)
	}
	return json.NewEncoder(c).Encode(got)
}

// NewConsole makes the command "console".
func NewConsole(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var as string
	var open, confirm, asJSON bool
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Open the web page where people answer questions of programs",
		Long: `Prints a link to the page of each "codemode serve" of this user that has one: with
--http, with --console ADDRESS, or with "console" in the configuration. A link opens
the page once, within ten minutes. Whoever opens it answers in your name: show it to
nobody, and to no agent.

What widens what programs may do needs a code: a change of the rules, a proposal, a
session, an accepted definition of a tool. With --confirm this command
prints each pending change and its code; --as NAME those of another person. A code is
valid once, within three minutes, for that change. Compare the change with the one that you
made before you type the code: do not give a code to a change that is not yours.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if confirm {
				return confirmChanges(cmd.Context(), s, &set, as, asJSON)
			}
			return openConsole(cmd.Context(), s, &set, as, open, asJSON)
		},
	}
	set.StateFlag(cmd)
	cmd.Flags().StringVar(&as, "as", "", `person who logs in, a name in "people" of the configuration; you by default`)
	cmd.Flags().BoolVar(&open, "open", false,
		"open the link in the browser; while that starts, other users of this machine may see it")
	cmd.Flags().BoolVar(&confirm, "confirm", false, "print the codes of pending changes instead of a link")
	cmd.MarkFlagsMutuallyExclusive("open", "confirm")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// askPages asks every process with a page. It fails if there is none.
func askPages(ctx context.Context, set *launch.Settings, wanted linkRequest) (all []linkResponse, err error) {
	state, err := set.StateFolder()
	if err != nil {
		return nil, cli.UsageError(err)
	}
	var wrong []error
	for _, path := range terminal.Sockets(PageFolder(state)) {
		got, err := askForLink(ctx, path, wanted)
		switch {
		case err == nil && got.Error == "":
			all = append(all, got)
		case err == nil:
			wrong = append(wrong, errors.New(got.Error))
		case errors.Is(err, terminal.ErrUnsafe):
			wrong = append(wrong, err)
		} // else its process has ended
	}
	if len(all) == 0 {
		if len(wrong) > 0 {
			return nil, cli.UsageError(errors.Join(wrong...))
		}
		return nil, cli.UsageError(errors.New(`no codemode serve of this user has a page: start it with --http, or with --console 127.0.0.1:0, or write "console": "127.0.0.1:0" into the configuration`))
	}
	return all, nil
}

// confirmChanges prints the pending changes of a person, each with its code.
func confirmChanges(ctx context.Context, s cli.Streams, set *launch.Settings, as string, asJSON bool) error {
	pages, err := askPages(ctx, set, linkRequest{As: as, Confirm: true})
	if err != nil {
		return err
	}
	var all []console.Confirmation
	for _, got := range pages {
		all = append(all, got.Changes...)
	}
	if len(all) == 0 {
		return cli.UsageError(errors.New(
			"no change waits for a code: make the change on the page first, then run this again"))
	}
	for i, x := range all {
		if asJSON {
			err = cli.PrintJSONLine(s.Out, x)
		} else {
			_, err = fmt.Fprint(s.Out, confirmationText(x, i+1, len(all)))
		}
		if err != nil {
			return cli.InternalError(err)
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
	visible.Fprintf(&b, "If this is your change, its code is, until %s:\n  %s\n",
		x.Expires.Local().Format(time.TimeOnly), x.Code)
	visible.Fprintf(&b, "If it is not, log out on the page: somebody else uses your session.\n")
	return b.String()
}

func openConsole(ctx context.Context, s cli.Streams, set *launch.Settings, as string, open, asJSON bool) error {
	links, err := askPages(ctx, set, linkRequest{As: as})
	if err != nil {
		return err
	}
	for _, got := range links {
		if asJSON {
			err = cli.PrintJSONLine(s.Out, got)
		} else {
			_, err = fmt.Fprintln(s.Out, visible.Line(got.Link))
		}
		if err != nil {
			return cli.InternalError(err)
		}
	}
	if len(links) > 1 && !asJSON {
		fmt.Fprintln(s.Err, "codemode: there are several pages; each shows the questions of all these processes")
	}
	if open {
		cli.OpenBrowser(links[0].Link)
	}
	return nil
}

// askForLink asks the process that listens at a socket.
func askForLink(ctx context.Context, path string, wanted linkRequest) (got linkResponse, err error) {
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
	lines.Buffer(nil, maxResponse)
	if !lines.Scan() {
		return got, errors.Join(errors.New("the process did not answer"), lines.Err())
	}
	return got, json.Unmarshal(lines.Bytes(), &got)
}

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/serve"
	logins "github.com/codemode-project/codemode/internal/tools/upstream/login"
	"github.com/codemode-project/codemode/internal/visible"
)

// loginWait is how long a person has to log in.
const loginWait = 10 * time.Minute

func newLogin(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var noBrowser, metadata bool
	var principal string
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server over HTTP (OAuth)",
		Long: `Logs in to a server of the configuration: opens the page of its authorization server and
waits until you have logged in there. codemode keeps the tokens in a file that only you can
read, in the state folder, and renews them; it sends them to that server and nowhere else.
With --no-browser it only prints the address. If your browser runs on another machine, it
ends at an address that it cannot show: paste that address here.

With --principal the login is that of one principal, such as acme:anna, at a server whose
entry says "oauth": {"per": "principal"}. It is kept encrypted in the store, and only calls
of that principal use it. Without it, the login at such a server only lists its tools.

A server with an Authorization header in the configuration needs no login.

With --client-metadata it logs in nowhere. It prints the document with which authorization
servers know codemode without a registration, for you to publish at the "clientMetadataUrl"
of the server: codemode login --client-metadata SERVER. In place of SERVER you may write the
https address itself; without either, it is where codemode serve --http has the document.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if metadata {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if metadata {
				document, err := serve.ClientMetadata(&set, strings.Join(args, ""))
				if err == nil {
					_, err = s.Out.Write(document)
				}
				return err
			}
			set.Record = principal != ""
			return set.Use(cmd.Context(), s, slog.LevelWarn, func(e *codemode.Evaluator) error {
				return login(cmd.Context(), s, e, args[0], principal, noBrowser)
			})
		},
	}
	set.Flags(cmd)
	set.StateFlag(cmd)
	principalFlag(cmd, &principal)
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the address and open no browser")
	cmd.Flags().BoolVar(&metadata, "client-metadata", false, "print the client metadata document, and log in nowhere")
	return cmd
}

func principalFlag(cmd *cobra.Command, principal *string) {
	cmd.Flags().StringVar(principal, "principal", "", "whose login: a name as in the record; that of the operator if left out")
}

func newLogout(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var principal string
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Delete the login to a server",
		Long: `Deletes the tokens of codemode login SERVER. The login may stay valid at the server itself
until it expires; the pages of the server say how to end it there.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set.Record = principal != ""
			return set.Use(cmd.Context(), s, slog.LevelWarn, func(e *codemode.Evaluator) error {
				return logout(cmd.Context(), s, e, args[0], principal)
			})
		},
	}
	set.Flags(cmd)
	set.StateFlag(cmd)
	principalFlag(cmd, &principal)
	return cmd
}

func logout(ctx context.Context, s cli.Streams, e *codemode.Evaluator, server, principal string) (err error) {
	found := false
	if principal == "" {
		found, err = e.Tools().Manager.Logout(server)
	} else if found, err = e.Tools().Manager.LogoutOf(ctx, server, principal); err == nil && found {
		e.Record().Access(ctx, principal, "", "login_removed", "at the server "+server+", with codemode logout")
	}
	if err != nil {
		return fmt.Errorf("logging out: %w", err)
	}
	if !found {
		return cli.UsageError(fmt.Errorf("there is no login to %q", server))
	}
	visible.Fprintf(s.Err, "Logged out of %s.\n", server)
	return nil
}

func login(ctx context.Context, s cli.Streams, e *codemode.Evaluator, server, principal string, noBrowser bool) error {
	var names []string
	for _, st := range e.Tools().Manager.Status() {
		names = append(names, st.Name)
	}
	if !slices.Contains(names, server) {
		return cli.UsageError(fmt.Errorf("there is no server %q in the configuration; it has: %s",
			server, cmp.Or(strings.Join(names, ", "), "none")))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginWait, fmt.Errorf("nobody logged in within %v", loginWait))
	defer cancel()
	err := e.Tools().Manager.Login(ctx, server, principal, logins.Browser{
		Open: func(address string) {
			visible.Fprintf(s.Err, "To log in to %s open this address:\n\n", server)
			fmt.Fprintln(s.Out, visible.Line(address))
			fmt.Fprintln(s.Err)
			if !noBrowser {
				cli.OpenBrowser(address)
			}
		},
		Pasted: pasted(s.In),
	})
	switch {
	case errors.Is(err, logins.ErrNotNeeded):
		visible.Fprintf(s.Err, "%s needs no login: %v\n", server, err)
		return nil
	case err != nil:
		return fmt.Errorf("logging in to %s: %w", server, err)
	}
	if principal != "" {
		e.Record().Access(ctx, principal, "", "login_made", "at the server "+server+", with codemode login")
		if err := e.People().Desk.Connected(ctx, principal, server); err != nil {
			visible.Fprintf(s.Err, "Calls that wait for this login do not continue; make them again: %v\n", err)
		}
		visible.Fprintf(s.Err, "Logged in to %s for %s.\n", server, principal)
		return nil
	}
	visible.Fprintf(s.Err, "Logged in to %s.\n", server)
	return nil
}

// pasted receives the line that a person types, if there is a terminal. Reading ends with the process: nothing can stop
// it earlier.
func pasted(in io.Reader) <-chan string {
	f := cli.TerminalFile(in)
	if f == nil {
		return nil
	}
	lines := make(chan string, 1)
	go func() {
		if line, err := bufio.NewReader(f).ReadString('\n'); err == nil {
			lines <- line
		}
	}()
	return lines
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/upstream"
	logins "github.com/codemode-project/codemode/upstream/login"
)

// loginWait is how long a person has for logging in.
const loginWait = 10 * time.Minute

func newLogin(s streams) *cobra.Command {
	var set setting
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in at a server over HTTP that wants it (OAuth)",
		Long: `Logs in at a server of the configuration: opens the page of its authorization server
and waits until you have come back from it. The tokens are kept in a file that only you
can read, in the state folder, and are renewed by themselves; they go to that server and
nowhere else. With --no-browser the address is only printed. When your browser runs on
another machine, paste the address that it ends up at, which it cannot show, here.

A server that has an Authorization header in the configuration needs no login.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return login(cmd.Context(), s, &set, args[0], noBrowser)
		},
	}
	set.flags(cmd)
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the address and open no browser")
	return cmd
}

func newLogout(s streams) *cobra.Command {
	var set setting
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Forget the login at a server",
		Long: `Removes the tokens that codemode login SERVER has kept. The server itself may know
the login until it ends; its own pages say how to end it there.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return logout(cmd.Context(), s, &set, args[0]) },
	}
	set.flags(cmd)
	return cmd
}

func login(ctx context.Context, s streams, set *setting, server string, noBrowser bool) (err error) {
	e, err := set.open(ctx, set.logger(s, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer func() {
		if closing := closeEvaluator(ctx, e); err == nil && closing != nil {
			err = &exitError{code: exitInternal, err: closing}
		}
	}()
	if !knows(e.Tools().Manager.Status(), server) {
		return usage(fmt.Errorf("there is no server %q in the configuration; there are: %s", server, names(e.Tools().Manager.Status())))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginWait, fmt.Errorf("%v are over", loginWait))
	defer cancel()
	err = e.Tools().Manager.Login(ctx, server, logins.Options{
		Open: func(address string) {
			visible.Fprintf(s.err, "To log in at %s open this address:\n\n", server)
			fmt.Fprintln(s.out, visible.Line(address))
			fmt.Fprintln(s.err)
			if !noBrowser {
				openBrowser(address)
			}
		},
		Pasted: pasted(s.in),
	})
	switch {
	case errors.Is(err, logins.ErrNotNeeded):
		visible.Fprintf(s.err, "%s needs no login: %v\n", server, err)
		return nil
	case err != nil:
		return &exitError{code: exitInternal, err: fmt.Errorf("logging in at %s: %w", server, err)}
	}
	visible.Fprintf(s.err, "Logged in at %s.\n", server)
	return nil
}

func logout(ctx context.Context, s streams, set *setting, server string) error {
	e, err := set.open(ctx, set.logger(s, slog.LevelWarn))
	if err != nil {
		return err
	}
	found, err := e.Tools().Manager.Logout(server)
	if err = errors.Join(err, closeEvaluator(ctx, e)); err != nil {
		return &exitError{code: exitInternal, err: fmt.Errorf("logging out: %w", err)}
	}
	if !found {
		return usage(fmt.Errorf("there is no login at %q", server))
	}
	visible.Fprintf(s.err, "Logged out of %s.\n", server)
	return nil
}

func knows(status []upstream.Status, server string) bool {
	for _, st := range status {
		if st.Name == server {
			return true
		}
	}
	return false
}

func names(status []upstream.Status) string {
	list := "none"
	for i, st := range status {
		if i == 0 {
			list = st.Name
			continue
		}
		list += ", " + st.Name
	}
	return list
}

// pasted receives what a person types, if there is one. The reading ends with
// the process: there is no way to stop it before.
func pasted(in io.Reader) <-chan string {
	f, ok := in.(*os.File)
	if !ok || !isTerminal(f) {
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

// openBrowser tries to. Whether it worked cannot be known, so the address is
// printed in any case.
func openBrowser(address string) {
	command := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", address}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(command[0], command[1:]...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // reaped; a browser may live longer than we do
	}
}

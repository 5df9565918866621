package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/server"
)

func newServe(s streams) *cobra.Command {
	var set setting
	var session, address, page string
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools that run programs to MCP clients, over stdio or HTTP",
		Long: `Offers codemode_eval and codemode_eval_<profile> to one MCP client over standard
input and output, and ends when that closes. With --profile only the tool of that
profile is offered. A change of the configuration file takes effect at once.

With --http any number of clients is served at http://ADDR/mcp, and at
http://ADDR/mcp/PROFILE with the tool of one profile. ADDR is on this machine alone
unless it says otherwise (a port, or :port, is 127.0.0.1). Who may come in is said by
the key http of the configuration:

  "http": {
    "tokens": [
      { "token": "${ANNA_TOKEN}", "principal": "anna", "profiles": ["supervised"] },
      { "token": "sha256:9f86d0...", "principal": "ci", "profiles": ["readonly"] }
    ],
    "hosts": ["codemode.example.com"],
    "origins": ["https://codemode.example.com"]
  }

A token stands there as a variable or as the SHA-256 of it, never itself. Without
tokens every program on this machine may come in, and nobody from elsewhere. A token with
"answers": true runs nothing: with it a program answers, over the API of the page, what is
asked for its principal (docs/rest.md). hosts are
the names that a proxy in front of it is reached by, and origins the web pages that may
send requests. A change takes effect at once.

When it is told to stop (SIGTERM), /readyz answers 503 at once, and so do requests that
would begin something, with Retry-After. Programs that run have --grace to finish, and
their clients get their answers; runs that wait for a person are put away, to go on in
another replica with the same store, or here after a restart. A second signal ends it at
once. A client that sends a request again with the same Idempotency-Key gets the run that
it began, at whatever replica. docs/serving.md says more.

A session that a person makes on the page for a role (cms_...) narrows what runs in it, as the
overlays for that role say, in every process with the same store: --session or the variable
` + sessionVariable + ` puts all clients of this process into it, and the HTTP header
Codemode-Session those that send it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listen := &listening{address: address}
			if cmd.Flags().Changed("grace") {
				listen.grace = &grace
			}
			return serve(cmd.Context(), s, &set, cmp.Or(session, os.Getenv(sessionVariable)), listen, page)
		},
	}
	set.flags(cmd)
	set.recordFlags(cmd)
	cmd.Flags().StringVar(&session, "session", "", "the session that overlays know this connection by, such as one that was made on the page for a role (cms_...)")
	cmd.Flags().StringVar(&address, "http", "", "serve any number of clients over HTTP at this address, such as 127.0.0.1:8808, instead of one over stdio")
	cmd.Flags().DurationVar(&grace, "grace", defaultGrace,
		"how long programs have to finish over HTTP after the signal to stop; http.grace in the configuration if left out")
	cmd.Flags().StringVar(&page, "console", "", "serve the page where people answer at this address, such as 127.0.0.1:7391; beside --http it is at /console without this")
	return cmd
}

func serve(
	ctx context.Context, s streams, set *setting, session string, listen *listening, page string,
) error {
	log := set.logger(s, slog.LevelInfo)
	stop := set.awaitResponders(log)
	defer stop()
	set.goOn = true
	var err error
	if set.people, err = set.awaitPeople(s, page, listen.address != ""); err != nil {
		return err
	}
	set.worker = s.worker
	e, err := set.open(ctx, log)
	if err != nil {
		return err
	}
	if p := set.people; p != nil && p.address != "" {
		stop, err := p.listen(e, set, log)
		if err != nil {
			return errors.Join(err, closeEvaluator(ctx, e))
		}
		defer stop()
	}
	if err := sessionHolds(ctx, e, session, listen.address != ""); err != nil {
		return errors.Join(err, closeEvaluator(ctx, e))
	}
	srv := server.New(e, server.Options{
		Profile: set.profile, Principal: principal(), Session: session, Local: true, Version: version().Version, Log: log,
		StateKey: e.Record().DeriveKey("seal requestState"), Adopt: rejoin(e),
	})
	defer srv.Close()
	if listen.address != "" {
		err = serveHTTP(ctx, set, e, srv, listen, log)
	} else {
		serving, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		// First what waits for people, then the connection.
		defer context.AfterFunc(ctx, func() { putAway(serving, e); end() })()
		err = srv.ServeStdio(serving, s.in, s.out)
	}
	if ctx.Err() != nil {
		err = nil // told to stop
	}
	code := exitInternal
	if exit, ok := errors.AsType[*exitError](err); ok {
		code, err = exit.code, exit.err
	}
	if err := errors.Join(err, closeEvaluator(ctx, e)); err != nil {
		return &exitError{code: code, err: err}
	}
	return nil
}

// sessionVariable names the session that programs run in, where no flag does.
const sessionVariable = "CODEMODE_SESSION"

// sessionHolds refuses to start in a session that is over, or was never made: each program would be refused.
func sessionHolds(ctx context.Context, e *codemode.Evaluator, session string, overHTTP bool) error {
	switch {
	case inforce.IsMadeSession(session):
		if _, err := e.Rules().Session(ctx, session); err != nil {
			return usage(fmt.Errorf("--session or %s: %w", sessionVariable, err))
		}
	case session != "" && overHTTP:
		return usage(fmt.Errorf("--session or %s: over HTTP it takes a session that was made for a role, cms_...; each client has a session of the protocol beside it", sessionVariable))
	}
	return nil
}

// rejoin lets a client on 2026-07-28 come back for a run that began in another process, or in this one before it was started anew.
func rejoin(e *codemode.Evaluator) server.Adopter {
	return func(ctx context.Context, run string, _ []string, r codemode.Request) (*codemode.Response, error) {
		response, err := e.Runs().Reattach(ctx, run, r)
		if errors.Is(err, codemode.ErrNoRun) {
			err = fmt.Errorf("%w: %w", server.ErrNotHere, err)
		}
		return response, err
	}
}

// putAway gives runs that wait for a person up, as far as that is soon done.
func putAway(ctx context.Context, e *codemode.Evaluator) {
	ctx, cancel := context.WithTimeout(ctx, drainWait)
	defer cancel()
	e.Runs().Drain(ctx)
}

// stopWait is how long running programs have when a command ends.
const stopWait = 5 * time.Second

// closeEvaluator stops everything, also after ctx has ended.
func closeEvaluator(ctx context.Context, e *codemode.Evaluator) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return e.Close(ctx)
}

// Package serve is the command "serve": the MCP server over stdio or HTTP, and the web page for people, which "console"
// opens.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// New makes the command "serve".
func New(s cli.Streams) *cobra.Command {
	var o options
	var grace, delay time.Duration
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools that run programs to MCP clients, over stdio or HTTP",
		Long: `Offers codemode_eval and codemode_eval_<profile> to one MCP client over standard
input and output, and ends when the input closes. With --profile it offers only the tool of
that profile. A change of the configuration file takes effect at once.

With --http it serves any number of clients at http://ADDR/mcp, and at
http://ADDR/mcp/PROFILE with the tool of one profile. An ADDR without a host (a port, or
:port) means 127.0.0.1. The key http of the configuration says who may connect:

  "http": {
    "tokens": [
      { "token": "${ANNA_TOKEN}", "principal": "anna", "profiles": ["supervised"] },
      { "token": "sha256:9f86d0...", "principal": "ci", "profiles": ["readonly"] }
    ],
    "hosts": ["codemode.example.com"],
    "origins": ["https://codemode.example.com"]
  }

Write a token as a variable or as its SHA-256, never the token itself. Without tokens every
program on this machine may connect, and nobody from elsewhere. A token with "answers": true
runs nothing: a program uses it to answer, over the API of the page, the questions for its
principal (docs/rest.md). hosts are the names under which a proxy in front of codemode is
reached, and origins the web pages that may send requests. A change takes effect at once.
With http.oauth people sign in at an identity provider instead (docs/oauth.md).

On SIGTERM, /readyz answers 503 at once, and after --shutdown-delay so do requests that would
start something, with Retry-After. Running programs have --grace to finish, and their clients get their answers;
runs that wait for a person are parked, and continue in another replica with the same store,
or here after a restart. A second signal ends the process at once. A client that sends a
request again with the same Idempotency-Key gets the run that it started, from any replica.
docs/serving.md says more.

A session that a person creates on the page for a role (cms_...) narrows what runs in it, as
the overlays for that role say, in every process with the same store. --session or the
variable ` + SessionVariable + ` puts all clients of this process into the session, and the
HTTP header Codemode-Session puts the client that sends it.

With --tenants FILE one process serves several configurations, each with its own principals,
servers, record, keys and page, at http://ADDR/t/NAME/mcp (docs/tenants.md).

With --confine, or "confine": true in the configuration, codemode starts itself again with the
rights that it needs and no others: it reads its configuration and the system's programs, and
writes its state, cache and temporary files. Each server in mcpServers gets the system's
programs, what args, cwd and env of its entry name, and the network. A configuration that
needs more later needs a restart. docs/security.md says what holds, and codemode doctor tries it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("grace") {
				o.grace = &grace
			}
			if cmd.Flags().Changed("shutdown-delay") {
				o.delay = &delay
			}
			if o.session == "" {
				if cmd.Flags().Changed("session") {
					return cli.UsageError(errors.New("--session is empty: name the session, or leave the flag out"))
				}
				var err error
				if o.session, err = SessionOfEnvironment(); err != nil {
					return err
				}
			}
			if err := o.enterConfinement(); err != nil {
				return err
			}
			return serve(cmd.Context(), s, &o)
		},
	}
	o.flags(cmd, &grace, &delay)
	return cmd
}

// serve serves until ctx ends or, over stdio, the client goes.
func serve(ctx context.Context, streams cli.Streams, o *options) (err error) {
	log := o.set.Logger(streams, slog.LevelInfo)
	p, err := newProcess(o, log)
	if err != nil {
		return err
	}
	if o.address != "" || o.figures != "" { // over stdio each client starts a process, and one could have the address
		set, err := p.readDiagnostics()
		if err != nil {
			return err
		}
		if p.diagnostics, err = openDiagnostics(set, o.figures, p.services, log); err != nil {
			return err
		}
	}
	defer p.diagnostics.close()
	defer func() { err = cli.InternalError(errors.Join(err, p.close(ctx))) }()
	if err := p.open(ctx, streams); err != nil {
		return err
	}
	if o.address == "" {
		err = p.services[0].serveStdio(ctx, streams)
	} else {
		err = p.serveHTTP(ctx)
	}
	if ctx.Err() != nil {
		err = nil // a signal ended it
	}
	return err
}

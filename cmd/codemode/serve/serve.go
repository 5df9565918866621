// Package serve is the command "serve": the MCP server over stdio or HTTP, and the web page for people, which "console"
// opens.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/record/tracing"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/server"
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

// flags registers the flags. Two of them count only if they are given.
func (o *options) flags(cmd *cobra.Command, grace, delay *time.Duration) {
	o.set.Flags(cmd)
	o.set.StateFlag(cmd)
	o.set.Record = true
	cmd.Flags().StringVar(&o.session, "session", "",
		"the session that overlays know this connection by, such as one created on the page for a role (cms_...)")
	cmd.Flags().StringVar(&o.tenants, "tenants", "",
		"with --http: a file that lists configurations to serve side by side, each at /t/NAME (docs/tenants.md)")
	cmd.Flags().StringVar(&o.address, "http", "",
		"serve any number of clients over HTTP at this address, such as 127.0.0.1:8808, instead of one over stdio; "+
			"unix:/PATH is a socket in the file system, and systemd the socket that systemd hands over")
	cmd.Flags().DurationVar(grace, "grace", defaultGrace,
		"how long programs have to finish over HTTP after SIGTERM; by default http.grace of the configuration")
	cmd.Flags().DurationVar(delay, "shutdown-delay", 0, "how long after SIGTERM /readyz says no while all goes on "+
		"as before, over HTTP, so that a load balancer notices; by default http.shutdownDelay of the configuration")
	cmd.Flags().StringVar(&o.figures, "diagnostics", "", "serve /metrics for Prometheus, /livez and /readyz at this "+
		"address, such as 127.0.0.1:9464; over HTTP by default diagnostics of the configuration")
	cmd.Flags().StringVar(&o.confine, "confine", "", "give up the rights that are not needed, and give servers what their "+
		"entries name (Linux): --confine, or --confine=best-effort where the system cannot do all of it")
	cmd.Flags().Lookup("confine").NoOptDefVal = "on"
	cmd.Flags().StringVar(&o.page, "console", "", "serve the page where people answer at this address, such as "+
		"127.0.0.1:7391; with --http it is at /console without this flag")
}

// options are the flags of codemode serve.
type options struct {
	set     launch.Settings
	tenants string // file; "" is one service without a name
	session string
	address string         // of HTTP; "" is over stdio
	page    string         // address of the page
	confine string         // "" leaves it to the configuration
	grace   *time.Duration // nil leaves it to the configuration
	delay   *time.Duration // likewise
	figures string         // address of the diagnostics
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

// openTraces makes traces, if the configuration says where they go; else it is nil.
func openTraces(cfg *config.Config, set *launch.Settings, log *slog.Logger) (*tracing.Traces, error) {
	to, err := cfg.Tracing(launch.Env)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	if to.URL == "" {
		return nil, nil
	}
	t := tracing.New(tracing.Options{To: otlp.Collector{URL: to.URL, Headers: to.Headers}, Percent: to.Percent,
		Version: launch.Version(), Log: log})
	set.Observer, set.Trace = recorder.Observers(set.Observer, t.Observer()), t.Call
	return t, nil
}

// SessionVariable names the session that programs run in, where no flag does.
const SessionVariable = "CODEMODE_SESSION"

// SessionOfEnvironment is the session that the variable names. A variable that is empty is an error: whoever set it meant
// a session, and without one nothing is restricted.
func SessionOfEnvironment() (string, error) {
	session, set := os.LookupEnv(SessionVariable)
	if set && strings.TrimSpace(session) == "" {
		return "", cli.UsageError(fmt.Errorf("%s is set and empty: name the session, or unset the variable", SessionVariable))
	}
	return session, nil
}

// checkSession refuses to start in a session that has expired or was never created: each program would be refused.
func checkSession(ctx context.Context, e *codemode.Evaluator, session string, overHTTP bool) error {
	switch {
	case inforce.IsMadeSession(session):
		if _, err := e.Rules().Session(ctx, session); err != nil {
			return cli.UsageError(fmt.Errorf("--session or %s: %w", SessionVariable, err))
		}
	case session != "" && overHTTP:
		return cli.UsageError(fmt.Errorf("--session or %s: over HTTP this has to be a session that was created for a "+
			"role, cms_...; each client also has a session of the protocol", SessionVariable))
	}
	return nil
}

// reattach lets a client on 2026-07-28 come back for a run that started in another process, or in this one before a
// restart.
func reattach(e *codemode.Evaluator) server.Reattacher {
	return func(ctx context.Context, run string, _ []string, r codemode.Request) (*codemode.Response, error) {
		response, err := e.Runs().Reattach(ctx, run, r)
		if errors.Is(err, codemode.ErrNoRun) {
			err = fmt.Errorf("%w: %w", server.ErrNotHere, err)
		}
		return response, err
	}
}

// parkRuns gives up runs that wait for a person, within drainWait.
func parkRuns(ctx context.Context, e *codemode.Evaluator) {
	ctx, cancel := context.WithTimeout(ctx, drainWait)
	defer cancel()
	e.Runs().Drain(ctx)
}

package serve

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
)

// defaultGrace is how long running programs have to finish after the signal to stop.
const defaultGrace = 10 * time.Second

const (
	// drainWait is how long answers have after that to reach their clients.
	drainWait = 10 * time.Second
	// maxHeader is more than any client sends. A browser sends the page all cookies from other ports of this host, some
	// 180 of 4 KiB: with a smaller bound each of those ports could lock people out of the page.
	maxHeader = 1 << 20
)

// options are the flags of codemode serve.
type options struct {
	set     launch.Settings
	tenants string // file; "" is one service without a name
	session string
	surface string         // of profiles; "" leaves it to the configuration
	address string         // of HTTP; "" is over stdio
	page    string         // address of the page
	confine string         // "" leaves it to the configuration
	grace   *time.Duration // nil leaves it to the configuration
	delay   *time.Duration // likewise
	figures string         // address of the diagnostics
}

// flags registers the flags. Two of them count only if they are given.
func (o *options) flags(cmd *cobra.Command, grace, delay *time.Duration) {
	o.set.Flags(cmd)
	o.set.StateFlag(cmd)
	o.set.Record = true
	cmd.Flags().StringVar(&o.session, "session", "",
		"the session that overlays know this connection by, such as one created on the page for a role (cms_...)")
	cmd.Flags().Func("surface", "what clients see of a profile: programs, search or tools (docs/clients.md); by default "+
		"evaluation.surface of the configuration", func(surface string) error {
		if o.surface = surface; !slices.Contains([]string{"auto", "programs", "search", "tools"}, surface) {
			return errors.New("there are auto, programs, search and tools")
		}
		return nil
	})
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

// readStart reads the configuration that the process starts with. It is nil without files, and if a file has a problem:
// opening the Evaluator reports the problem.
func readStart(set *launch.Settings) (*config.Config, error) {
	files, err := set.Files()
	if err != nil || files.None() {
		return nil, cli.UsageError(err)
	}
	cfg, err := files.Load()
	if err != nil {
		return nil, nil
	}
	return cfg, nil
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

// Package doctor is the command "doctor": it checks the configuration, its files, the record, the servers, the clients,
// the sandbox, and whether questions reach a person. Each finding says how to fix it.
package doctor

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// New makes the command "doctor".
func New(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var asJSON bool
	var people approvalsCheck
	var notify bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, the servers and the sandbox",
		Long: `Reads the configuration, checks the record, starts each server once, runs a program, and
prints what is wrong and how to correct it. Exit code 0: nothing is wrong, though there may
be warnings; 2: the configuration is not valid; 5: a server or the sandbox does not work.

With --approvals it also checks whether questions reach a person here: it puts a test
question over every channel (the page and codemode approvals of this user) and prints who
answered and how fast, and whether the user that runs the agent could answer for that
person. With --notifications it sends a test message to each destination of the key
notifications.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return examine(cmd.Context(), s, &set, &wanted{&people, notify, asJSON})
		},
	}
	set.Flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&people.wanted, "approvals", false,
		"put a test question over every channel, and check who else could answer")
	cmd.Flags().BoolVar(&notify, "notifications", false, "send a test message to each destination")
	cmd.Flags().DurationVar(&people.wait, "wait", time.Minute, "with --approvals: how long to wait for an answer")
	cmd.Flags().StringVar(&people.agent, "agent-user", "",
		"with --approvals: the user that runs the agent; this one by default")
	set.StateFlag(cmd)
	return cmd
}

// wanted are the flags of doctor.
type wanted struct {
	people *approvalsCheck
	notify bool
	asJSON bool
}

func examine(ctx context.Context, s cli.Streams, set *launch.Settings, w *wanted) error {
	d := &diagnosis{}
	path := d.file(set)
	if d.code == cli.ExitOK {
		e, err := set.OpenWith(ctx, s.Worker, slog.New(slog.DiscardHandler))
		if err != nil {
			const hint = "running processes keep the last valid rules"
			d.fail(cli.ExitUsage, "configuration", cmp.Or(path, "environment"), hint, "%v", err)
		} else {
			e.Rules().Pins.OnlyLook()
			d.all(ctx, []func(){
				func() { d.configuration(e, path) }, func() { d.powers(set, e) }, func() { d.record(ctx, set, e) },
				func() { d.servers(ctx, s.Err, e) }, func() { d.rules(ctx, e) }, func() { d.answers(e) },
				func() { d.scripts(e) },
				func() { d.clients(e) }, func() { d.signIn(ctx, e) }, func() { d.oauth(ctx, e) }, func() { d.sandbox(ctx, e) },
				func() {
					if w.notify {
						d.notifications(e)
					}
				},
				func() { d.confinement(set, e) },
			})
			if err := launch.Close(ctx, e); err != nil {
				d.fail(cli.ExitInternal, "server", "all", "", "stopping the servers: %v", err)
			}
		}
	}
	d.cache()
	d.name(os.Getenv("PATH"))
	if w.people.wanted && d.code != cli.ExitUsage && ctx.Err() == nil {
		d.people(ctx, set, path, w.people)
	}
	if ctx.Err() != nil {
		d.fail(cli.ExitInterrupted, "doctor", "interrupted", "run it again", "it was ended before all checks were made")
	}
	if w.asJSON {
		if err := cli.PrintJSON(s.Out, map[string]any{"findings": d.findings}); err != nil {
			return err
		}
	} else {
		d.print(s)
	}
	if d.code != cli.ExitOK {
		return cli.WithCode(d.code, nil)
	}
	return nil
}

// servers starts every server and reports its state.
func (d *diagnosis) servers(ctx context.Context, progress io.Writer, e *codemode.Evaluator) {
	start := time.Now()
	launch.Await(ctx, progress, e, launch.ReadyWait)
	for _, st := range e.Tools().Manager.Status() {
		hint := "codemode tools shows its output"
		switch {
		case st.State == "disabled":
			d.ok("server", st.Name, "disabled")
		case st.State == "ready" && st.Tools == 0:
			d.warn("server", st.Name, "", "it started and has no tools")
		case st.State == "ready":
			d.ok("server", st.Name, "%s", strings.TrimRight(cli.Count(st.Tools, "tool")+", "+st.Implementation, ", "))
		case st.Error != "":
			switch {
			case strings.Contains(st.Error, "is not set"):
				hint = "set it where codemode is started, or write ${NAME:-default}"
			case strings.Contains(st.Error, "was not found in PATH"):
				hint = "install it, or write the full path of the command"
			}
			d.fail(cli.ExitInternal, "server", st.Name, hint, "%s", cli.WithoutName(st.Error, st.Name))
		default:
			d.fail(cli.ExitInternal, "server", st.Name, hint, "it is still %s after %v", st.State,
				time.Since(start).Round(time.Second))
		}
		for _, note := range st.Health() {
			d.warn("server", st.Name, "", "%s", note)
		}
		for _, note := range e.Tools().Notes(st.Name) {
			if strings.Contains(note, upstream.LeftOut) { // as somebody wants it
				d.ok("server", st.Name, "%s", note)
			} else {
				d.warn("server", st.Name, "", "%s", note)
			}
		}
	}
	e.Discovery().ComparePrompts(ctx)
	for _, change := range e.Rules().Pins.Changes() {
		d.warn("server", change.Name, "codemode review shows what changed",
			"its definition differs from the one that a person accepted: its calls are asked about")
	}
}

// notifications sends a test message to each destination.
func (d *diagnosis) notifications(e *codemode.Evaluator) {
	tested := e.People().Notifier.Test()
	if len(tested) == 0 {
		d.warn("notifications", "destinations", "docs/notifications.md says how to add one",
			"nobody is notified of questions")
	}
	for _, t := range tested {
		if t.Err != nil {
			d.fail(cli.ExitInternal, "notifications", t.Destination, "", "%v", t.Err)
		} else {
			d.ok("notifications", t.Destination, "it took a test message (%s)", t.Kind)
		}
	}
}

// rules finds profiles that allow more, or less, than they seem to.
func (d *diagnosis) rules(ctx context.Context, e *codemode.Evaluator) {
	cfg := e.Config()
	if cfg == nil {
		return
	}
	exposed := cfg.Names()
	if cfg.Exposes(preflight.BaseTool) && cfg.Default == "" {
		if cfg.Profile("").Unrestricted() && len(exposed) == 0 {
			d.warn("profile", preflight.BaseTool, `write a profile and set "defaultProfile"; codemode init writes one that asks`,
				"it is unrestricted: programs may call every tool without a question")
		}
	}
	for _, name := range exposed {
		if cfg.Profile(name).Unrestricted() {
			d.warn("profile", name, `add rules, or leave it out of "expose"`, "it allows everything, and a model can choose it")
		}
	}
	all, err := e.Discovery().Search(ctx, registry.Query{Profiles: append([]string{""}, cfg.All()...)})
	if err != nil {
		return
	}
	known := e.Tools().Manager.Status()
	for _, name := range cfg.All() {
		dead := 0
		for _, rule := range cfg.Profile(name).Rules() {
			if rule.Profile != name || slices.ContainsFunc(all, func(t *catalog.Tool) bool {
				return rule.Matches(t.Name, t.Server+call.Separator+t.Raw)
			}) {
				continue
			}
			dead++
			d.warn("profile", name, "check the spelling, or remove it",
				"%s:%d: no tool of the connected servers matches %s in the %s",
				filepath.Base(rule.Pos.File), rule.Pos.Line, strings.Join(rule.Patterns, ", "), rule.List)
		}
		if tools, err := e.Discovery().Search(ctx, registry.Query{Profiles: []string{name}}); err == nil && dead == 0 {
			d.ok("profile", name, "%s of %d can be called or asked for", cli.Count(len(tools), "tool"), toolCount(known))
		}
	}
}

// sandbox runs a program without calls.
func (d *diagnosis) sandbox(ctx context.Context, e *codemode.Evaluator) {
	start := time.Now()
	r, err := e.Eval(ctx, codemode.Request{Unrestricted: true, Code: "return 6 * 7"})
	switch {
	case err != nil:
		d.fail(cli.ExitInternal, "sandbox", "guest", "", "a program that only computes did not run: %v", err)
	case string(r.Value) != "42":
		d.fail(cli.ExitInternal, "sandbox", "guest", "", "6 * 7 gave %s", r.Value)
	default:
		d.ok("sandbox", "guest", "it started and ran a program in %v", time.Since(start).Round(time.Millisecond))
	}
}

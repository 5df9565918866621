package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/discovery"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/preflight"
)

func newDoctor(s streams) *cobra.Command {
	var set setting
	var asJSON bool
	var people approvalsCheck
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, the servers and the sandbox",
		Long: `Reads the configuration, looks at the record, starts each server once, runs a program, and says what is
wrong and what to do about it. Exit code 0: nothing is wrong, though there may be
warnings; 2: the configuration must not be used; 5: a server or the sandbox does not work.

With --approvals it also finds out whether questions reach a person here: it puts a test
question over every channel (the page and codemode approvals of this user) and says who
answered and how fast, and whether whoever the agent runs as could answer in that
person's place.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return examine(cmd.Context(), s, &set, &people, asJSON) },
	}
	set.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&people.wanted, "approvals", false, "put a test question over every channel, and see who else could answer")
	cmd.Flags().DurationVar(&people.wait, "wait", time.Minute, "with --approvals: how long to wait for an answer")
	cmd.Flags().StringVar(&people.agent, "agent-user", "", "with --approvals: the user that the agent runs as; this one if left out")
	cmd.Flags().StringVar(&set.state, "state", "", "the folder that codemode serve was given as --state")
	return cmd
}

// A finding is the outcome of one check.
type finding struct {
	Check   string `json:"check"`   // configuration, permissions, record, server, profile, client, sandbox, cache, approvals
	Subject string `json:"subject"` // what was checked
	Level   string `json:"level"`   // ok, warning or failure
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"` // what to do

	lines []string // Text for a terminal
}

// newFinding takes the text of an error, when there is nothing else, in lines as [errorLines] gives them.
func newFinding(check, subject, level, hint, format string, args ...any) finding {
	f := finding{Check: check, Subject: subject, Level: level, Text: fmt.Sprintf(format, args...), Hint: hint}
	f.lines = []string{visible.Line(strings.TrimSpace(f.Text))}
	if format == "%v" {
		if err, ok := args[0].(error); ok {
			f.lines = errorLines(err)
		}
	}
	return f
}

const (
	levelOK      = "ok"
	levelWarning = "warning"
	levelFailure = "failure"
)

// A diagnosis is what doctor has found out so far.
type diagnosis struct {
	findings []finding
	code     int
}

func (d *diagnosis) ok(check, subject, format string, args ...any) {
	d.findings = append(d.findings, newFinding(check, subject, levelOK, "", format, args...))
}

func (d *diagnosis) warn(check, subject, hint, format string, args ...any) {
	d.findings = append(d.findings, newFinding(check, subject, levelWarning, hint, format, args...))
}

// fail notes what is broken; the first code counts.
func (d *diagnosis) fail(code int, check, subject, hint, format string, args ...any) {
	d.findings = append(d.findings, newFinding(check, subject, levelFailure, hint, format, args...))
	if d.code == exitOK {
		d.code = code
	}
}

func examine(ctx context.Context, s streams, set *setting, people *approvalsCheck, asJSON bool) error {
	d := &diagnosis{}
	path := d.file(set)
	if d.code == exitOK {
		e, err := set.open(ctx, slog.New(slog.DiscardHandler))
		if err != nil {
			const hint = "the old rules go on holding where it is in use"
			d.fail(exitUsage, "configuration", cmp.Or(path, "environment"), hint, "%v", err)
		} else {
			d.configuration(e, path)
			d.powers(set, e)
			d.record(ctx, set, e)
			d.servers(ctx, e)
			d.rules(ctx, e)
			d.clients(e)
			d.sandbox(ctx, e)
			if err := closeEvaluator(ctx, e); err != nil {
				d.fail(exitInternal, "server", "all", "", "stopping the servers: %v", err)
			}
		}
	}
	d.cache()
	if people.wanted && d.code != exitUsage {
		d.people(ctx, set, path, people)
	}
	if asJSON {
		if err := printJSON(s.out, map[string]any{"findings": d.findings}); err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	} else {
		d.print(s)
	}
	if d.code != exitOK {
		return &exitError{code: d.code}
	}
	return nil
}

// servers starts every server and says how it is.
func (d *diagnosis) servers(ctx context.Context, e *codemode.Evaluator) {
	start := time.Now()
	e.Tools().Ready(ctx, toolsWait)
	for _, st := range e.Tools().Manager.Status() {
		hint := "codemode tools shows what it printed"
		switch {
		case st.State == "disabled":
			d.ok("server", st.Name, "disabled")
		case st.State == "ready" && st.Tools == 0:
			d.warn("server", st.Name, "", "it started and has no tools")
		case st.State == "ready":
			d.ok("server", st.Name, "%s", strings.TrimRight(count(st.Tools, "tool")+", "+st.Implementation, ", "))
		case st.Error != "":
			switch {
			case strings.Contains(st.Error, "is not set"):
				hint = "set it where codemode is started, or write ${NAME:-default}"
			case strings.Contains(st.Error, "was not found in PATH"):
				hint = "install it, or write the command with its folder"
			}
			d.fail(exitInternal, "server", st.Name, hint, "%s", withoutName(st.Error, st.Name))
		default:
			d.fail(exitInternal, "server", st.Name, hint, "it is still %s after %v", st.State, time.Since(start).Round(time.Second))
		}
		for _, note := range st.Health() {
			d.warn("server", st.Name, "", "%s", note)
		}
	}
	for _, collision := range e.Tools().Catalog.Withheld() {
		d.warn("server", "names", "", "%s", collision.Error())
	}
}

// withoutName takes the server's name off a message that stands behind it.
func withoutName(text, server string) string {
	text = strings.TrimPrefix(text, fmt.Sprintf("server %q", server))
	return strings.TrimPrefix(strings.TrimPrefix(text, ": "), " ")
}

// rules looks for profiles that let through more, or less, than it seems.
func (d *diagnosis) rules(ctx context.Context, e *codemode.Evaluator) {
	cfg := e.Config()
	if cfg == nil {
		return
	}
	exposed := cfg.Names()
	if cfg.Exposes(preflight.BaseTool) && cfg.Default == "" {
		if cfg.Profile("").Unrestricted() && len(exposed) == 0 {
			d.warn("profile", preflight.BaseTool, `write a profile and set "defaultProfile"; codemode init makes one that asks`,
				"it is unrestricted: programs may call every tool without a question")
		}
	}
	for _, name := range exposed {
		if cfg.Profile(name).Unrestricted() {
			d.warn("profile", name, `add rules, or leave it out of "expose"`, "it allows everything, and a model may choose it")
		}
	}
	all, err := e.Discovery().Search(ctx, discovery.Query{Profiles: append([]string{""}, cfg.All()...)})
	if err != nil {
		return
	}
	known := e.Tools().Manager.Status()
	for _, name := range cfg.All() {
		dead := 0
		for _, rule := range cfg.Profile(name).Rules() {
			if rule.Profile != name || slices.ContainsFunc(all, func(t *catalog.Tool) bool {
				return rule.Matches(call.Name(t.Server, t.Raw), t.Server+call.Separator+t.Raw)
			}) {
				continue
			}
			dead++
			d.warn("profile", name, "check the spelling, or remove it", "%s:%d: no tool that is connected now fits %s in the %s",
				base(rule.Pos.File), rule.Pos.Line, strings.Join(rule.Patterns, ", "), rule.List)
		}
		if tools, err := e.Discovery().Search(ctx, discovery.Query{Profiles: []string{name}}); err == nil && dead == 0 {
			d.ok("profile", name, "%s of %d can be called or asked for", count(len(tools), "tool"), toolCount(known))
		}
	}
}

// sandbox runs a program that needs nothing.
func (d *diagnosis) sandbox(ctx context.Context, e *codemode.Evaluator) {
	start := time.Now()
	r, err := e.Eval(ctx, codemode.Request{Profile: "", Code: "return 6 * 7"})
	switch {
	case err != nil:
		d.fail(exitInternal, "sandbox", "guest", "", "a program that only computes did not run: %v", err)
	case string(r.Value) != "42":
		d.fail(exitInternal, "sandbox", "guest", "", "6 * 7 gave %s", r.Value)
	default:
		d.ok("sandbox", "guest", "it was prepared and ran a program in %v", time.Since(start).Round(time.Millisecond))
	}
}

func (d *diagnosis) print(s streams) {
	marks := map[string]string{levelOK: "ok", levelWarning: "warning", levelFailure: "FAILURE"}
	failures, warnings := 0, 0
	for _, f := range d.findings {
		switch f.Level {
		case levelFailure:
			failures++
		case levelWarning:
			warnings++
		}
		visible.Fprintf(s.out, "%-8s %s %s: ", marks[f.Level], f.Check, f.Subject)
		fmt.Fprintln(s.out, strings.Join(f.lines, "\n            "))
		if f.Hint != "" {
			visible.Fprintf(s.out, "            %s\n", f.Hint)
		}
	}
	fmt.Fprintf(s.out, "\n%s, %s\n", count(failures, "failure"), count(warnings, "warning"))
}

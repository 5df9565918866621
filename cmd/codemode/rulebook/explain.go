package rulebook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// explaining holds the flags of explain: the properties of a call besides tool and arguments.
type explaining struct {
	set         launch.Settings
	annotations string
	offline     bool
	tainted     bool
	changed     bool
	at          string
	subject     config.Subject
	all         bool
	asJSON      bool
}

// NewExplain makes the command "explain".
func NewExplain(s cli.Streams) *cobra.Command {
	var x explaining
	cmd := &cobra.Command{
		Use:   "explain PROFILE TOOL [ARGS]",
		Short: "Explain how a call would be decided",
		Long: `Decides one call and prints the verdict, the rules behind it with file and line, every
rule that was considered, and which changes lead to a milder verdict. ARGS is a JSON object,
or @FILE. PROFILE "-" is the base tool. Nothing runs, and nobody is asked.

Annotations of the tool, and marks such as codemode/approval in its _meta, can change the
verdict. codemode remembers them for every tool that it has seen. For another tool of a
configured server it starts the servers to read them, unless a deny rule decides anyway;
--offline starts none, and --annotations gives them instead.

  codemode explain supervised github__create_issue '{"owner": "acme", "repo": "web"}'`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd.Context(), s, args) },
	}
	x.set.FileFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.annotations, "annotations", "", `the tool's annotations, such as '{"readOnlyHint": true}'`)
	x.set.RootFlag(cmd)
	x.set.StateFlag(cmd)
	f.BoolVar(&x.offline, "offline", false, "start no server to read the annotations of the tool")
	f.BoolVar(&x.tainted, "tainted", false, "the run has read data that is not trusted")
	f.BoolVar(&x.changed, "changed", false, "the definition of the tool has changed since the review")
	f.StringVar(&x.at, "at", "", "the time of the call, such as 2026-12-31T18:00:00Z; now by default")
	subjectFlags(cmd, &x.subject)
	f.BoolVar(&x.all, "all", false, "show the rules about other tools too, however many there are")
	f.BoolVar(&x.asJSON, "json", false, "print one JSON object")
	return cmd
}

// subjectFlags describe the run, for overlays.
func subjectFlags(cmd *cobra.Command, to *config.Subject) {
	f := cmd.Flags()
	f.StringVar(&to.Session, "session", "", "for overlays: the id of the session")
	f.StringVar(&to.Principal, "principal", "", "for overlays: who calls, or the fingerprint of the token")
	f.StringVar(&to.Role, "role", "", "for overlays: the role of the session")
	f.StringVar(&to.Program, "program", "", "for overlays: the digest of the program, sha256:...")
	f.StringVar(&to.Script, "script", "", "for overlays: the name of the saved program")
}

func (x *explaining) run(ctx context.Context, s cli.Streams, args []string) error {
	cfg, err := x.set.Load()
	if err != nil {
		return err
	}
	c, err := x.call(cfg, args)
	if err != nil {
		return cli.UsageError(err)
	}
	p, err := profileOf(cfg, args[0], x.subject, c.Time)
	if err != nil {
		return err
	}
	if x.annotations == "" && !settled(p.Decide(c)) {
		why, err := x.learn(ctx, s, cfg, &c)
		if err != nil {
			return cli.UsageError(err)
		}
		if why != "" {
			visible.Fprintf(s.Err,
				"codemode: the annotations of %s are not known: %s. They may change the verdict; --annotations gives them.\n",
				c.Name, why)
		}
	}
	e := p.Explain(c)
	if x.asJSON {
		return cli.PrintJSON(s.Out, e.Explained(p.Name(), c.Name))
	}
	explainer{profile: args[0], call: c, x: e, all: x.all,
		answers: launch.WhoAnswers(cfg, p.Ask().Channels, e.Decision.Risk)}.write(s.Out)
	return nil
}

// settled reports whether no annotation changes a decision.
func settled(d call.Decision) bool {
	return d.Verdict == call.Deny && slices.Contains([]string{"denylist", "arguments"}, d.Lead().List)
}

// learn fills in the annotations of the tool. The result says why they are not known; "" means that they are, or that
// no configured server has the name. An error says that the call is most likely misspelt.
func (x *explaining) learn(ctx context.Context, s cli.Streams, cfg *config.Config, c *profiles.Call) (why string, _ error) {
	servers := []string{"time", "filesystem"}
	for _, server := range cfg.Servers {
		servers = append(servers, server.Name)
	}
	if !slices.Contains(servers, c.Server) {
		if near := visible.Nearest(c.Server, servers); near != "" {
			return "", fmt.Errorf("no server has the name %.80q; did you mean %s?", c.Server, call.Name(near, c.Tool))
		}
		return "", nil
	}
	if dir, err := x.set.StateFolder(); err == nil {
		if seen, ok := registry.SeenTool(dir, cfg, c.Server, c.Tool); ok {
			c.Tool, c.Name, c.Annotations = seen.Tool, seen.Name, seen.Annotations
			return "", nil
		}
	}
	if x.offline {
		return "codemode has not seen it yet, and --offline starts no server", nil
	}
	e, err := x.set.Open(ctx, s, slog.LevelError)
	if err != nil {
		return err.Error(), nil
	}
	defer launch.Close(ctx, e)
	e.Tools().Ready(ctx, learnWait)
	t, err := e.Tools().Catalog.Find(call.Part(c.Server) + call.Separator + c.Tool)
	if err == nil {
		c.Tool, c.Name, c.Annotations = t.Raw, t.Name, t.Hints
		return "", nil
	}
	if withheld, ok := errors.AsType[*catalog.WithheldError](err); ok {
		return withheld.Error(), nil
	}
	var tools []string
	for _, t := range e.Tools().ToolInfos() {
		if t.Server == c.Server {
			tools = append(tools, t.Tool)
		}
	}
	for _, status := range e.Tools().Manager.Status() {
		if status.Name == c.Server && status.Error != "" {
			return status.Error, nil
		}
	}
	if near := visible.Nearest(c.Tool, tools); near != "" {
		return "", fmt.Errorf("the server %s has no tool %.80q; did you mean %s?", c.Server, c.Tool, call.Name(c.Server, near))
	}
	return "no server has such a tool", nil
}

// learnWait is how long explain waits for servers to list their tools.
const learnWait = 10 * time.Second

func (x *explaining) call(cfg *config.Config, args []string) (profiles.Call, error) {
	c := cfg.Call(args[1], nil)
	if len(args) > 2 {
		raw, err := argumentText(args[2])
		if err != nil {
			return c, err
		}
		var broken *json.SyntaxError
		if err := json.Unmarshal(raw, new(any)); errors.As(err, &broken) {
			return c, fmt.Errorf(`the arguments are not JSON: %w, at byte %d; ARGS is an object such as {"path": "a.md"}`, err,
				broken.Offset)
		}
		c.Args = call.Unread(raw)
	}
	if x.annotations != "" {
		if err := json.Unmarshal([]byte(x.annotations), &c.Annotations); err != nil {
			return c, fmt.Errorf(`--annotations must be a JSON object such as {"readOnlyHint": true}: %w`, err)
		}
	}
	c.Tainted, c.DefinitionChanged, c.Time = x.tainted, x.changed, time.Now()
	if x.at != "" {
		var err error
		if c.Time, err = time.Parse(time.RFC3339, x.at); err != nil {
			return c, errors.New("--at must be a time in RFC 3339, such as 2026-12-31T18:00:00Z")
		}
	}
	return c, nil
}

// argumentText returns the arguments unchecked: the profile judges them.
func argumentText(arg string) (json.RawMessage, error) {
	if path, ok := strings.CutPrefix(arg, "@"); ok {
		return os.ReadFile(path)
	}
	return json.RawMessage(arg), nil
}

// profileOf finds a profile by name; "-" is the base tool.
func profileOf(cfg *config.Config, name string, who config.Subject, now time.Time) (*profiles.Profile, error) {
	if name == "-" {
		name = ""
	}
	if p := cfg.Narrowed(name, who, now); p != nil {
		return p, nil
	}
	err := error(&inforce.UnknownProfileError{Name: name, Names: cfg.All()})
	for _, w := range cfg.Warnings {
		if strings.Contains(w.Message, fmt.Sprintf("the profile %q", name)) {
			err = errors.Join(err, config.Problems{w})
		}
	}
	return nil, cli.UsageError(err)
}

// explainer writes an explanation for people.
type explainer struct {
	profile string
	call    profiles.Call
	x       profiles.Explanation
	all     bool
	answers string // who can answer
}

// maxOthers is how many rules about other tools are listed one by one.
const maxOthers = 12

func (e explainer) write(w io.Writer) {
	out := func(format string, args ...any) { visible.Fprintf(w, format, args...) }
	d := &e.x.Decision
	under := "under the profile " + e.profile
	if e.profile == "-" {
		under = "with the base tool"
	}
	out("%s: %s %s\n", strings.ToUpper(d.Verdict.String()), e.call.Name, under)
	out("\nBecause\n")
	for _, r := range d.Reasons {
		out("  %s\n", because(r))
		for _, o := range r.Conditions {
			out("      %s\n", condition(o))
		}
	}
	for _, line := range consequences(d) {
		out("  %s\n", line)
	}
	if d.Verdict == call.Ask {
		out("  %s\n", e.answers)
	}
	if len(e.x.Changes) > 0 {
		out("\nTo make it milder\n")
		for _, c := range e.x.Changes {
			out("  - %s\n", relative(c))
		}
	}
	e.considered(out)
}

func (e explainer) considered(out func(string, ...any)) {
	var others []call.Reason
	out("\nConsidered, in the order of the lists\n")
	about := 0
	for _, r := range e.x.Considered {
		if r.Result == "other tool" {
			others = append(others, r)
			continue
		}
		about++
		out("  %-7s  %s\n", outcomeWord(r.Result), ruleLine(r))
		if r.Result == "ignored" {
			out("             %s\n", r.Text)
		}
		for _, o := range r.Conditions {
			out("             %s\n", condition(o))
		}
	}
	switch {
	case e.x.Decision.Code == call.CodeBadArguments:
		out("  no rule: ambiguous arguments are denied first\n")
	case about == 0:
		out("  no rule is about this tool\n")
	}
	if len(others) == 0 {
		return
	}
	if len(others) > maxOthers && !e.all {
		out("  and %d rules about other tools (--all lists them)\n", len(others))
		return
	}
	for _, r := range others {
		out("  other    %s\n", ruleLine(r))
	}
}

// because writes one reason in a line.
func because(r call.Reason) string {
	switch {
	case r.Rule == "" && r.Pos.Line == 0:
		return r.Text
	case r.Rule == "":
		return fmt.Sprintf("%s (%s)", r.Text, place(r.Pos))
	}
	return fmt.Sprintf("%s: %s", ruleLine(r), r.Text)
}

func ruleLine(r call.Reason) string {
	line := fmt.Sprintf("%s  %s in the %s", place(r.Pos), r.Rule, r.List)
	if r.Profile != "" {
		line += " of " + r.Profile
	}
	if r.Layer != "" {
		line += " (" + r.Layer + ")"
	}
	if r.Soft {
		line += ", unless allowed"
	}
	if len(r.Unless) > 0 {
		line += ", unless allowed by " + strings.Join(r.Unless, " or ")
	}
	return line
}

func condition(o call.Condition) string {
	mark := map[string]string{"true": "yes", "false": "no", "unknown": "?"}[o.Result]
	return fmt.Sprintf("%-4s %s", mark, o.Text)
}

func outcomeWord(result string) string {
	return cmp.Or(map[string]string{"true": "holds", "false": "not", "unknown": "unknown"}[result], result)
}

// consequences lists what else follows if the verdict is ask.
func consequences(d *call.Decision) []string {
	if d.Verdict != call.Ask {
		return nil
	}
	lines := []string{"risk: " + string(d.Risk)}
	switch {
	case d.Unknown:
		lines = append(lines, "a rule cannot be evaluated, so codemode asks about each such call")
	case d.Firm:
		lines = append(lines, "no earlier answer is used for this call")
	case len(d.Remember.Scopes) > 0:
		lines = append(lines, "an answer can be remembered for: "+strings.Join(d.Remember.Scopes, ", "))
	}
	return lines
}

// place is file:line, relative to the current folder.
func place(pos call.Position) string {
	if pos.Line == 0 {
		return relative(pos.File)
	}
	return fmt.Sprintf("%s:%d", relative(pos.File), pos.Line)
}

// relative shortens paths below the current folder in a text.
func relative(text string) string {
	here, err := os.Getwd()
	if err != nil {
		return text
	}
	return strings.ReplaceAll(text, here+string(filepath.Separator), "")
}

package main

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
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/registry"
)

// explaining holds the flags of explain: what a call may be besides tool and arguments.
type explaining struct {
	set         setting
	annotations string
	offline     bool
	tainted     bool
	changed     bool
	at          string
	subject     config.Subject
	all         bool
	asJSON      bool
}

func newExplain(s streams) *cobra.Command {
	var x explaining
	cmd := &cobra.Command{
		Use:   "explain PROFILE TOOL [ARGS]",
		Short: "Say how a call would be decided, and why",
		Long: `Decides one call and shows the verdict, the rules it rests on with file and line, every
rule that was considered, and what would have to change for a milder verdict. ARGS is a
JSON object, or @FILE. PROFILE "-" is the base tool. Nothing runs, and nobody is asked.

What the tool's server says of it (annotations, and marks such as codemode/approval in its
_meta) can make the verdict stricter. It is known of every tool that codemode has seen. For
another tool of a configured server the servers are started to learn it, unless the verdict is
deny anyway; --offline starts none, and --annotations says it instead.

  codemode explain supervised github__create_issue '{"owner": "acme", "repo": "web"}'`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd.Context(), s, args) },
	}
	x.set.fileFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.annotations, "annotations", "", `what the tool's annotations say, such as '{"readOnlyHint": true}'`)
	f.StringVar(&x.set.root, "root", "", "directory that the built-in filesystem server may use")
	f.StringVar(&x.set.state, "state", "", "folder of what codemode remembers of tools; a usual one if left out")
	f.BoolVar(&x.offline, "offline", false, "start no server to learn what it says of the tool")
	f.BoolVar(&x.tainted, "tainted", false, "the run has read something that is not trusted")
	f.BoolVar(&x.changed, "changed", false, "the tool is no longer what was reviewed")
	f.StringVar(&x.at, "at", "", "the time of the call, such as 2026-12-31T18:00:00Z; now if left out")
	subjectFlags(cmd, &x.subject)
	f.BoolVar(&x.all, "all", false, "show the rules about other tools too, however many there are")
	f.BoolVar(&x.asJSON, "json", false, "print one JSON object")
	return cmd
}

// subjectFlags say whose run it would be, for overlays.
func subjectFlags(cmd *cobra.Command, to *config.Subject) {
	f := cmd.Flags()
	f.StringVar(&to.Session, "session", "", "for overlays: the id of the session")
	f.StringVar(&to.Principal, "principal", "", "for overlays: who calls, or the fingerprint of the token")
	f.StringVar(&to.Role, "role", "", "for overlays: the role that the session was made for")
	f.StringVar(&to.Program, "program", "", "for overlays: the digest of the program, sha256:...")
	f.StringVar(&to.Script, "script", "", "for overlays: the name of the saved program")
}

func (x *explaining) run(ctx context.Context, s streams, args []string) error {
	cfg, err := x.set.load()
	if err != nil {
		return err
	}
	c, err := x.call(cfg, args)
	if err != nil {
		return usage(err)
	}
	p, err := profileOf(cfg, args[0], x.subject, c.Time)
	if err != nil {
		return err
	}
	if x.annotations == "" && p.Decide(c).Verdict != call.Deny {
		if why := x.learn(ctx, s, cfg, &c); why != "" {
			visible.Fprintf(s.err, "codemode: what the server says of %s is not known: %s. A hint or a mark of it may make the verdict stricter; --annotations says what it is.\n", c.Name, why)
		}
	}
	e := p.Explain(c)
	if x.asJSON {
		return printed(s, explanationJSON(p, c, e))
	}
	explainer{profile: args[0], call: c, x: e, all: x.all}.write(s.out)
	return nil
}

// learn fills in what the tool's server says of it. The result says why it is not known, "" if it is or if no server is
// configured that could say it.
func (x *explaining) learn(ctx context.Context, s streams, cfg *config.Config, c *profiles.Call) (why string) {
	configured := c.Server == "time" || c.Server == "filesystem"
	for _, server := range cfg.Servers {
		configured = configured || server.Name == c.Server
	}
	if !configured {
		return ""
	}
	if dir, err := x.set.stateFolder(); err == nil {
		if seen, ok := registry.SeenTool(dir, cfg, c.Server, c.Tool); ok {
			c.Annotations = seen.Annotations
			return ""
		}
	}
	if x.offline {
		return "codemode has not seen it yet, and --offline starts no server"
	}
	x.set.worker = s.worker
	e, err := x.set.open(ctx, x.set.logger(s, slog.LevelError))
	if err != nil {
		return err.Error()
	}
	defer closeEvaluator(ctx, e)
	e.Tools().Ready(ctx, learnWait)
	for _, t := range e.Tools().ToolInfos() {
		if call.Name(t.Server, t.Tool) == c.Name {
			c.Annotations = t.Annotations
			return ""
		}
	}
	for _, status := range e.Tools().Manager.Status() {
		if status.Name == c.Server && status.Error != "" {
			return status.Error
		}
	}
	return "no server has such a tool"
}

// learnWait is how long explain waits for servers to say which tools they have.
const learnWait = 10 * time.Second

func (x *explaining) call(cfg *config.Config, args []string) (profiles.Call, error) {
	c := cfg.Call(args[1], nil)
	if len(args) > 2 {
		raw, err := argumentText(args[2])
		if err != nil {
			return c, err
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
			return c, errors.New("--at must be a time as RFC 3339 has it, such as 2026-12-31T18:00:00Z")
		}
	}
	return c, nil
}

// argumentText gives the arguments as they are, for the profile to judge.
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
	return nil, usage(err)
}

// explainer writes an explanation for people.
type explainer struct {
	profile string
	call    profiles.Call
	x       profiles.Explanation
	all     bool
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
	out("\nConsidered, in the order in which the lists are asked\n")
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
		out("  no rule: what cannot be read in one way only is denied first\n")
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

// because says one reason in a line.
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

// consequences says what else follows from a question.
func consequences(d *call.Decision) []string {
	if d.Verdict != call.Ask {
		return nil
	}
	lines := []string{"risk: " + string(d.Risk)}
	switch {
	case d.Unknown:
		lines = append(lines, "a rule cannot be judged, so each such call is asked about")
	case d.Floor:
		lines = append(lines, "no earlier answer stands in for this one")
	case len(d.Remember.Scopes) > 0:
		lines = append(lines, "an answer may be remembered for: "+strings.Join(d.Remember.Scopes, ", "))
	}
	return lines
}

// place is file:line, as short as it can be from here.
func place(pos call.Position) string {
	if pos.Line == 0 {
		return relative(pos.File)
	}
	return fmt.Sprintf("%s:%d", relative(pos.File), pos.Line)
}

// relative shortens the paths below the current folder in a text.
func relative(text string) string {
	here, err := os.Getwd()
	if err != nil {
		return text
	}
	return strings.ReplaceAll(text, here+string(filepath.Separator), "")
}

// explanationJSON is an explanation for programs.
func explanationJSON(p *profiles.Profile, c profiles.Call, x profiles.Explanation) any {
	type outcome struct {
		Pointer string `json:"pointer,omitempty"`
		Result  string `json:"result"`
		Text    string `json:"text"`
	}
	type reason struct {
		Rule       string    `json:"rule,omitempty"`
		List       string    `json:"list"`
		At         string    `json:"at,omitempty"`
		Profile    string    `json:"profile,omitempty"`
		Layer      string    `json:"layer,omitempty"`
		Result     string    `json:"result"`
		Text       string    `json:"text"`
		Conditions []outcome `json:"conditions,omitempty"`
	}
	reasons := func(all []call.Reason) []reason {
		out := []reason{}
		for _, r := range all {
			one := reason{r.Rule, r.List, r.Pos.String(), r.Profile, r.Layer, r.Result, r.Text, nil}
			for _, o := range r.Conditions {
				one.Conditions = append(one.Conditions, outcome(o))
			}
			out = append(out, one)
		}
		return out
	}
	return struct {
		Profile    string   `json:"profile"`
		Tool       string   `json:"tool"`
		Verdict    string   `json:"verdict"`
		Code       string   `json:"code,omitempty"`
		Risk       string   `json:"risk,omitempty"`
		Unknown    bool     `json:"unknown,omitempty"`
		Reasons    []reason `json:"reasons"`
		Considered []reason `json:"considered"`
		Changes    []string `json:"changes,omitempty"`
	}{
		p.Name(), c.Name, x.Decision.Verdict.String(), x.Decision.Code, string(x.Decision.Risk), x.Decision.Unknown,
		reasons(x.Decision.Reasons), reasons(x.Considered), x.Changes,
	}
}

// printed prints the answer of a command as JSON.
func printed(s streams, v any) error {
	if err := printJSON(s.out, v); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	return nil
}

package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/config"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// Text renders a plan for whoever sent the program.
func (p *Plan) Text() string {
	var b strings.Builder
	if p.Stale != "" {
		visible.Fprintf(&b, "Note: %s\n\n", p.Stale)
	}
	if len(p.Problems) > 0 {
		fmt.Fprintf(&b, "This program cannot run.\n%s\n", analysis.Problems(p.Problems).Error())
		return b.String()
	}
	p.writeCalls(&b)
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
		}
		for i, line := range lines {
			if i == planLines {
				fmt.Fprintf(&b, "  - (%d more)\n", len(lines)-i)
				break
			}
			visible.Fprintf(&b, "  - %s\n", line)
		}
	}
	list("Warnings:", p.Warnings)
	list("What to change in the program:", p.Suggestions)
	list("What the person who looks after the rules could change:", p.Requests)
	if p.Link != "" {
		visible.Fprintf(&b, "  Link for that person: %s\n", p.Link)
	}
	if p.Reply != "" {
		visible.Fprintf(&b, "\nReply to paste:\n  %s\n", p.Reply)
	}
	p.writeToken(&b)
	if p.Asked != nil {
		b.WriteString(p.Asked.Text())
	}
	return b.String()
}

// planLines is how much of a list is shown.
const planLines = 100

func (p *Plan) writeCalls(b *strings.Builder) {
	what := "This program"
	if p.Script != "" {
		what = fmt.Sprintf("The saved program %s", visible.Short(p.Script, 200))
	}
	under := "without a profile"
	if p.Profile != "" {
		under = "under the profile " + p.Profile
	}
	switch {
	case len(p.Calls) == 0 && len(p.Dynamic) == 0:
		visible.Fprintf(b, "%s runs %s. No call can be seen in it.\n", what, under)
	case len(p.Calls) > 0:
		visible.Fprintf(b, "%s runs %s: %s. Calls seen in its text (each is decided again when it is made):\n", what, under, p.outcome())
	default:
		visible.Fprintf(b, "%s runs %s.\n", what, under)
	}
	for i, c := range p.Calls {
		if i == planLines {
			fmt.Fprintf(b, "  (%d more)\n", len(p.Calls)-i)
			break
		}
		visible.Fprintf(b, "  %d:%d %s: %s\n", c.Line, c.Column, visible.Short(c.Tool, 80), c.summary())
	}
	for i, d := range p.Dynamic {
		if i == planLines {
			fmt.Fprintf(b, "  (%d more)\n", len(p.Dynamic)-i)
			break
		}
		fmt.Fprintf(b, "  %d:%d a call whose name only the running program knows; it is decided when it is made\n", d.Line, d.Column)
	}
}

// outcome is the verdict on all calls in a few words.
func (p *Plan) outcome() string {
	asked := 0
	for i := range p.Calls {
		if !p.Calls[i].Refused() && p.Calls[i].Verdict == call.Ask.String() {
			asked++
		}
	}
	if n := p.Denied(); n > 0 {
		return fmt.Sprintf("%d of %s would not get through", n, count(len(p.Calls)))
	}
	if asked > 0 {
		return fmt.Sprintf("nothing that can be seen would be refused, and a person would be asked about %s", count(asked))
	}
	if slices.ContainsFunc(p.Calls, func(c PlannedCall) bool { return c.Verdict == VerdictDepends }) || len(p.Dynamic) > 0 {
		return "nothing that can be seen would be refused, but not all can be seen"
	}
	return "nothing would be refused"
}

func count(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

func (c *PlannedCall) summary() string {
	text := c.Verdict
	if c.Verdict == VerdictDepends {
		text = alternatives(c.Verdicts)
		for i, d := range c.Depends {
			if i == 3 {
				text += fmt.Sprintf("; and on %d more rules", len(c.Depends)-i)
				break
			}
			text += "; " + visible.Short(d, sentenceRunes)
		}
	}
	if c.Risk != "" && c.Verdict == call.Ask.String() {
		text += ", risk " + c.Risk
	}
	if c.How == analysis.Value && c.Verdict != call.Allow.String() {
		text += ", if it is called"
	}
	if source := c.source(); source != "" {
		text += " (" + source + ")"
	}
	if c.Reason != "" && c.Verdict != call.Allow.String() && !strings.HasPrefix(c.Reason, "the profile ") { // that goes without saying
		text += ": " + visible.Short(c.Reason, sentenceRunes)
	}
	if c.Problem != "" {
		text += ". " + sentence(visible.Short(c.Problem, sentenceRunes))
	}
	if unknown := c.dynamic(); unknown != "" && c.Verdict != VerdictUnknownTool && c.Verdict != VerdictDepends {
		text += ". " + unknown
	}
	return text
}

// source is what the verdict comes from: a rule and where it stands, and what
// narrows the profile if that decided. "" is the profile itself, without a rule.
func (c *PlannedCall) source() string {
	var parts []string
	if c.Rule != "" && c.At != "" {
		parts = append(parts, "rule "+visible.Short(c.Rule, 80))
	}
	if c.At != "" && (c.Rule != "" || c.Layer != "") {
		parts = append(parts, c.At)
	}
	if c.Layer != "" {
		parts = append(parts, visible.Short(c.Layer, 80))
	}
	return strings.Join(parts, ", ")
}

// dynamic says which arguments the text does not show.
func (c *PlannedCall) dynamic() string {
	if len(c.Unknown)+len(c.Open) == 0 {
		return ""
	}
	if slices.Contains(c.Unknown, "") {
		return "Its arguments are not known before it runs"
	}
	var parts []string
	if len(c.Unknown) > 0 {
		parts = append(parts, strings.Join(c.Unknown, ", "))
	}
	for _, at := range c.Open {
		parts = append(parts, "other members of "+cmp.Or(at, "the argument"))
	}
	return visible.Short("Not known before it runs: "+strings.Join(parts, "; "), sentenceRunes)
}

// writeToken says what to do with the token.
func (p *Plan) writeToken(b *strings.Builder) {
	if p.Token == "" || p.tool == "" {
		return
	}
	need := "Pre-flight token"
	if p.Required {
		need = "Pre-flight token, without which the program is not started"
	}
	fmt.Fprintf(b, "\n%s (give it to %s as preflight, with this very program; it counts until %s, while the rules stay as they are):\n%s\n",
		need, p.tool, p.Expires.UTC().Format(time.TimeOnly+" UTC"), p.Token)
}

// refused lists the calls that the rules are sure to refuse.
func (p *Plan) refused() []PlannedCall {
	return slices.DeleteFunc(slices.Clone(p.Calls), func(c PlannedCall) bool { return c.Verdict != call.Deny.String() })
}

// advise fills in what could be changed, and by whom.
func (p *Plan) advise(saved bool) {
	seen := map[string]bool{}
	for i := range p.Calls {
		c := &p.Calls[i]
		at, tool := fmt.Sprintf("line %d", c.Line), visible.Short(c.Tool, 80)
		switch {
		case c.Verdict == VerdictUnknownTool && len(c.Nearest) > 0:
			p.suggest("%s: there is no %s; did you mean %s?", at, tool, alternatives(c.Nearest))
		case c.Verdict == VerdictUnknownTool:
			p.suggest("%s: there is no %s; search_tools finds the tools that there are", at, tool)
		case c.Verdict == call.Deny.String():
			p.suggest("%s: leave %s out, or catch ToolCallDeniedError and go on without it", at, tool)
			if request := c.request(p.Profile); c.Refused() && !seen[request] {
				seen[request] = true
				p.Requests = append(p.Requests, request)
			}
		case c.Problem != "":
			p.suggest("%s: %s; get_tools([%q]) shows what %s takes", at, visible.Short(c.Problem, sentenceRunes), tool, tool)
		case c.Verdict == VerdictDepends && c.Verdicts[0] == call.Deny.String():
			p.suggest("%s: write the arguments that the rules look at in the text, and the verdict of %s is known", at, tool)
		}
	}
	for _, d := range p.Dynamic {
		p.suggest("line %d: write the tool's name in the text (codemode.server__tool), and the call can be checked", d.Line)
	}
	if saved {
		p.Suggestions = nil // nobody who runs it can change it
	}
	p.Reply = p.reply()
}

func (p *Plan) suggest(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.Suggestions, text) {
		p.Suggestions = append(p.Suggestions, text)
	}
}

// request is what would have to change so that a denied call gets through.
func (c *PlannedCall) request(profile string) string {
	tool, under := visible.Short(c.Tool, 80), "without a profile"
	if profile != "" {
		under = "under the profile " + profile
	}
	switch source := c.source(); {
	case c.Rule != "" && source != "":
		return fmt.Sprintf("to allow %s %s: narrow or remove the %s, which denies it", tool, under, source)
	case c.Layer != "":
		return fmt.Sprintf("to allow %s %s: add it to the allowlist of the %s as well (%s)", tool, under, visible.Short(c.Layer, 80), c.At)
	}
	return fmt.Sprintf("to allow %s %s: add it to the allowlist there, or to the asklist to be asked each time", tool, under)
}

// reply is what the model can say to the person it works for.
func (p *Plan) reply() string {
	denied, asked := map[string]bool{}, map[string]bool{}
	var refused, questions, perhaps []string
	for i := range p.Calls {
		c := &p.Calls[i]
		tool := visible.Short(c.Tool, 80)
		switch {
		case c.Verdict == call.Deny.String() && !c.Refused(): // perhaps nobody calls it
		case c.Verdict == call.Deny.String() && !denied[tool]:
			denied[tool] = true
			why := ""
			if source := c.source(); source != "" {
				why = " (" + source + ")"
			}
			refused = append(refused, tool+why)
		case !c.Refused() && c.Verdict == call.Ask.String() && !asked[tool]:
			asked[tool] = true
			questions = append(questions, tool)
		case !c.Refused() && c.Verdict == VerdictDepends && !slices.Contains(perhaps, tool):
			perhaps = append(perhaps, tool)
		}
	}
	denies := "the rules deny"
	if p.Profile != "" {
		denies = fmt.Sprintf("the profile %s denies", p.Profile)
	}
	var text []string
	if len(refused) > 0 {
		text = append(text, fmt.Sprintf("My program would call %s, which %s. If you want it to happen, the rules have to be changed; otherwise I go on without it.", listed(refused), denies))
	}
	if len(questions) > 0 {
		text = append(text, fmt.Sprintf("My program is going to call %s; you will be asked before that happens.", listed(questions)))
	}
	if len(perhaps) > 0 {
		text = append(text, fmt.Sprintf("Whether %s goes through, or is asked about, depends on what the program finds.", listed(perhaps)))
	}
	return strings.Join(text, " ")
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// alternatives joins words as a sentence does that leaves open which.
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// listed joins words as a sentence does.
func listed(words []string) string {
	const most = 10
	if n := len(words) - most; n > 0 {
		words = append(slices.Clone(words[:most]), fmt.Sprintf("%d others", n))
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// adminLink is an absolute link to where the rules are changed, with what is
// wanted in it: at the address in the configuration, or else at the page that this
// process serves. Without either a caller at this machine gets one to the file. ""
// means that nobody said where.
func (c *Checker) adminLink(r *Submission, profile *profiles.Profile, refused []PlannedCall) string {
	cfg := c.Rules.Config()
	if cfg == nil || profile == nil {
		return ""
	}
	admin := cfg.AdminURL
	if page := c.page.Load(); admin == "" && page != nil {
		admin = *page
	}
	if admin != "" {
		values := url.Values{"profile": {profile.Name()}, "program": {inforce.ProgramHash(r.Code)}}
		for _, one := range refused {
			if !slices.Contains(values["allow"], one.Tool) && len(values["allow"]) < planLines {
				values.Add("allow", one.Tool)
			}
		}
		return admin + "?" + values.Encode()
	}
	pos := profile.Pos()
	if len(refused) > 0 && refused[0].pos.Line > 0 {
		pos = refused[0].pos
	}
	if !r.Local || pos.File == "" {
		return ""
	}
	path, err := filepath.Abs(pos.File)
	if err != nil {
		return ""
	}
	link := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}
	if pos.Line > 0 {
		link.Fragment = fmt.Sprintf("L%d", pos.Line)
	}
	return link.String()
}

func UnreturnedHint(at analysis.Position) string {
	return fmt.Sprintf("line %d: the value of the last statement is not returned; write return in front of it if it is the result", at.Line)
}

// staleText says that the file is broken, with the first place; the folders
// around the file are not the caller's business.
func staleText(err error) string {
	problem := "it cannot be used"
	if problems, ok := errors.AsType[config.Problems](err); ok && len(problems) > 0 {
		problem = problems[0].Position.Short() + ": " + problems[0].Message
		if problems[0].Hint != "" {
			problem += " (" + problems[0].Hint + ")"
		}
		if n := len(problems) - 1; n > 0 {
			problem += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return "the configuration file was changed and is not in force, because it is broken; the rules of its last good version hold. " + visible.Short(problem, sentenceRunes)
}

// A PlanAnswer is what became of the question whether the plan of a program is allowed.
type PlanAnswer struct {
	Allowed bool      `json:"allowed"`
	Calls   []string  `json:"calls,omitempty"` // what was asked about, a line each
	Until   time.Time `json:"until,omitzero"`  // with Allowed: by when the program has to be run
	By      string    `json:"by,omitempty"`
	Channel string    `json:"channel,omitempty"`
	// Reason and Detail, a sentence, say why it is not Allowed: elicitation_declined, timeout, no_approver ...; without a
	// Reason nobody was asked.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Text tells whoever sent the program.
func (a *PlanAnswer) Text() string {
	switch {
	case a.Allowed:
		text := fmt.Sprintf("\nA person allowed these calls for one run of this program, byte for byte, until %s:\n",
			a.Until.Format("15:04:05 MST"))
		for _, c := range a.Calls {
			text += "  - " + visible.Line(c) + "\n"
		}
		return text
	case a.Reason == "":
		return "\nNobody was asked to allow the calls beforehand: " + visible.Line(a.Detail) + ".\n"
	}
	return "\nThe calls were not allowed beforehand (" + a.Reason + "): " + visible.Line(a.Detail) + ".\n"
}

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/visible"
)

// advise fills in the changes that the author of the program and the administrator of the rules could make.
func (p *Plan) advise(saved bool) {
	seen := map[string]bool{}
	for i := range p.Calls {
		c := &p.Calls[i]
		at, tool := fmt.Sprintf("line %d", c.Line), visible.Short(c.Tool, 80)
		switch {
		case c.Verdict == VerdictUnknownTool && c.withheld:
			p.suggest("%s: leave %s out: it exists, and cannot be called", at, tool)
		case c.Verdict == VerdictUnknownTool && len(c.Nearest) > 0:
			p.suggest("%s: there is no %s; did you mean %s?", at, tool, alternatives(c.Nearest))
		case c.Verdict == VerdictUnknownTool:
			p.suggest("%s: there is no %s; search_tools finds the tools that there are", at, tool)
		case c.Verdict == VerdictStarting:
			p.suggest("%s: check again in a moment: the server of %s is still starting", at, tool)
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
		p.Suggestions = nil // those who run it cannot change it
	}
	p.Reply = p.reply()
}

func (p *Plan) suggest(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.Suggestions, text) {
		p.Suggestions = append(p.Suggestions, text)
	}
}

// request is the change that would let a denied call through.
func (c *PlannedCall) request(profile string) string {
	tool, under := visible.Short(c.Tool, 80), "without a profile"
	if profile != "" {
		under = "under the profile " + profile
	}
	switch source := c.source(); {
	case c.Rule != "" && source != "":
		return fmt.Sprintf("to allow %s %s: narrow or remove the %s, which denies it", tool, under, source)
	case c.Layer != "":
		return fmt.Sprintf("to allow %s %s: add it to the allowlist of the %s as well (%s)",
			tool, under, visible.Short(c.Layer, 80), c.At)
	}
	return fmt.Sprintf("to allow %s %s: add it to the allowlist there, or to the asklist to be asked each time",
		tool, under)
}

// reply is what the model can tell the person it works for.
func (p *Plan) reply() string {
	denied, asked := map[string]bool{}, map[string]bool{}
	var refused, questions, perhaps []string
	for i := range p.Calls {
		c := &p.Calls[i]
		tool := visible.Short(c.Tool, 80)
		switch {
		case c.Verdict == call.Deny.String() && !c.Refused(): // perhaps nothing calls it
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
		text = append(text, fmt.Sprintf("My program would call %s, which %s. If you want it to happen, the rules have to be "+
			"changed; otherwise I go on without it.", listed(refused), denies))
	}
	if len(questions) > 0 {
		text = append(text,
			fmt.Sprintf("My program is going to call %s; you will be asked before that happens.", listed(questions)))
	}
	if len(perhaps) > 0 {
		text = append(text,
			fmt.Sprintf("Whether %s goes through, or is asked about, depends on what the program finds.", listed(perhaps)))
	}
	return strings.Join(text, " ")
}

// listed joins words with commas and "and".
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

// UnawaitedHint says where a program does not wait for what it starts.
func UnawaitedHint(u analysis.Unawaited) string {
	return fmt.Sprintf("line %d, column %d: %s", u.Line, u.Column, u.Text)
}

package bench

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/isolation"
)

func (c *Case) checkNeeds() error {
	for i, need := range c.Needs {
		switch {
		case !slices.Contains(isolation.Claims, need):
			return fmt.Errorf("the claim %q in needs is none of %v", need, isolation.Claims)
		case slices.Contains(c.Needs[:i], need):
			return fmt.Errorf("needs has %q twice", need)
		}
	}
	return nil
}

// What a program uses if its text mentions it: the console and the timers outside of quotes, as a name in quotes may be
// one that the program only looks for. Calls count within quotes too, as those are often code for eval.
var (
	quoted      = regexp.MustCompile(`'[^'\n]*'|"[^"\n]*"`)
	usesCalls   = regexp.MustCompile(`\bcodemode\b`)
	usesTimers  = regexp.MustCompile(`\b(set|clear)(Timeout|Interval)\b`)
	usesConsole = regexp.MustCompile(`\bconsole\b`)
)

// addNeeds adds the claims that the outcome and the text of the program show, and puts all in the order of claims.
func (c *Case) addNeeds() {
	need := map[string]bool{"time": c.Outcome == Timeout, "memory": c.Outcome == Memory}
	code := c.code()
	need["calls"] = usesCalls.MatchString(code)
	if c.Language == JavaScript {
		code = quoted.ReplaceAllString(code, "")
		need["timers"], need["console"] = usesTimers.MatchString(code), usesConsole.MatchString(code)
	}
	for _, claim := range c.Needs {
		need[claim] = true
	}
	c.Needs = inOrder(need)
}

// addNeedsOfBefore adds what the cases before it need: an engine that cannot run those cannot run this one.
func (c *Case) addNeedsOfBefore() {
	need := map[string]bool{}
	for _, each := range append([]*Case{c}, c.before...) {
		for _, claim := range each.Needs {
			need[claim] = true
		}
	}
	c.Needs = inOrder(need)
}

func inOrder(need map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(isolation.Claims), func(claim string) bool { return !need[claim] })
}

// code is the program without the lines that are comments.
func (c *Case) code() string {
	mark := "//"
	if c.Language == Python {
		mark = "#"
	}
	var code strings.Builder
	for line := range strings.Lines(c.source) {
		if !strings.HasPrefix(strings.TrimSpace(line), mark) {
			code.WriteString(line)
		}
	}
	return code.String()
}

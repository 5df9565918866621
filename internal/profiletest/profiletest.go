// Package profiletest has what tests of profiles share: how they say what a profile decides, and the words in which an
// oracle decides a second time.
package profiletest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// In is a configuration with one profile, from the text between its braces.
func In(body string) string {
	return `{"evaluation": {"profiles": {"p": {` + body + `}}}}`
}

// Described writes a decision for a failure message.
func Described(d call.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (risk %q, code %q)", d.Verdict, d.Risk, d.Code)
	for _, r := range d.Reasons {
		fmt.Fprintf(&b, "\n    %s %s at %s is %s: %s", r.List, r.Rule, r.Pos, r.Result, r.Text)
	}
	return b.String()
}

// Want decides calls, written as "tool args", by one profile. Each row begins with the verdict.
func Want(t *testing.T, p *profiles.Profile, rows ...string) {
	t.Helper()
	for _, row := range rows {
		want, rest, _ := strings.Cut(row, " ")
		tool, args, _ := strings.Cut(rest, " ")
		server, name, _ := strings.Cut(tool, "__")
		if d := p.Decide(profiles.Call{Server: server, Tool: name,
			Args: call.Unread(json.RawMessage(args))}); d.Verdict.String() != want {
			t.Errorf("%s %s: got %s\nwant %s", tool, args, Described(d), want)
		}
	}
}

// globs keeps the regular expressions that Glob makes.
var globs = map[string]*regexp.Regexp{}

// Glob matches a pattern by a regular expression. It shares nothing with the product.
func Glob(pattern, s string) bool {
	if re := globs[pattern]; re != nil {
		return re.MatchString(s)
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '[':
			end := i + strings.IndexByte(pattern[i:], ']')
			b.WriteString(strings.Replace(pattern[i:end+1], "[!", "[^", 1))
			i = end
		case '{':
			b.WriteString(`(?:`)
		case '}':
			b.WriteString(`)`)
		case ',':
			b.WriteString(`|`)
		case '\\':
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	globs[pattern] = regexp.MustCompile(b.String() + `\z`)
	return globs[pattern].MatchString(s)
}

// Strictest is the strictest of some verdicts.
func Strictest(verdicts ...string) string {
	for _, v := range []string{"deny", "ask"} {
		if slices.Contains(verdicts, v) {
			return v
		}
	}
	return "allow"
}

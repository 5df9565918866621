package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"
)

// An ExpectedCall is a call with the expected decision: a row of a table.
type ExpectedCall struct {
	Pos     settings.Position
	Source  string // the row
	Profile string
	Verdict call.Verdict
	Tool    string // canonical, or server.tool
	Args    json.RawMessage
	Rule    string // the expected deciding rule; "" = any
}

// ParseCalls reads a table of calls, one to a line:
//
//	# what the table is about
//	profile supervised
//	allow github__create_issue {"owner": "acme", "repo": "web"}
//	deny  fs__read_file {"path": "/etc/passwd"}  # no-etc
//	ask   github__get_issue
//
// The arguments are JSON; a row without them has no arguments. The expected deciding rule follows #. A row belongs to
// the nearest profile line above it; without one, to the base tool. The error is [Problems].
func ParseCalls(file string, data []byte) ([]ExpectedCall, error) {
	var calls []ExpectedCall
	var problems settings.Problems
	profile := ""
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		row := strings.TrimSpace(line)
		pos := settings.Position{File: file, Line: i + 1, Column: 1 + strings.Index(line, row)}
		if row == "" || row[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(row, " ")
		if word == "profile" {
			profile = strings.TrimSpace(rest)
			continue
		}
		c := ExpectedCall{Pos: pos, Source: row, Profile: profile}
		message, hint := c.read(word, rest)
		if message != "" {
			problems = append(problems, settings.Problem{Position: pos, Length: len([]rune(row)), Message: message, Source: line,
				Hint: hint})
			continue
		}
		calls = append(calls, c)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return calls, nil
}

func (c *ExpectedCall) read(verdict, rest string) (message, hint string) {
	switch verdict {
	case "allow":
		c.Verdict = call.Allow
	case "ask":
		c.Verdict = call.Ask
	case "deny":
		c.Verdict = call.Deny
	default:
		return fmt.Sprintf("a row begins with a verdict, not with %q", verdict),
			"write allow, ask or deny, then the tool, then its arguments"
	}
	rest = strings.TrimSpace(rest)
	if i := strings.IndexAny(rest, " \t{"); i >= 0 {
		c.Tool, rest = rest[:i], strings.TrimSpace(rest[i:])
	} else {
		c.Tool, rest = rest, ""
	}
	if c.Tool == "" || strings.HasPrefix(c.Tool, "#") {
		return "a row without a tool", "write the tool after the verdict: allow server__tool"
	}
	if rest != "" && rest[0] != '#' {
		d := json.NewDecoder(strings.NewReader(rest))
		if err := d.Decode(&c.Args); err != nil {
			return "the arguments are not JSON", `write them as {"name": "value"}, on one line`
		}
		rest = strings.TrimSpace(rest[d.InputOffset():])
	}
	rule, ok := strings.CutPrefix(rest, "#")
	if rest != "" && !ok {
		return fmt.Sprintf("%q after the arguments", rest), "the rule that should decide stands after #"
	}
	c.Rule = strings.TrimSpace(rule)
	return "", ""
}

// Call is the call of the row, for a configuration with known servers.
func (c *Config) Call(tool string, args json.RawMessage) profiles.Call {
	if server, name, ok := strings.Cut(tool, "."); ok && !strings.Contains(tool, "__") {
		return profiles.Call{Server: server, Tool: name, Name: call.Name(server, name), Args: call.Unread(args)}
	}
	for _, s := range c.Servers {
		if name, ok := strings.CutPrefix(tool, s.Name+"__"); ok {
			return profiles.Call{Server: s.Name, Tool: name, Name: call.Name(s.Name, name), Args: call.Unread(args)}
		}
		if name, ok := strings.CutPrefix(tool, call.Part(s.Name)+"__"); ok {
			return profiles.Call{Server: s.Name, Tool: name, Name: call.Name(s.Name, name), Args: call.Unread(args)}
		}
	}
	server, name, _ := strings.Cut(tool, "__")
	return profiles.Call{Server: server, Tool: name, Name: call.Part(tool), Args: call.Unread(args)}
}

// A RowResult is a row and the profile's decision on it.
type RowResult struct {
	ExpectedCall
	Decision call.Decision
	Failure  string // "" = as expected
}

// Try decides the rows of a table.
func (c *Config) Try(calls []ExpectedCall) []RowResult {
	results := make([]RowResult, len(calls))
	for i, row := range calls {
		results[i] = c.try(row)
	}
	return results
}

func (c *Config) try(row ExpectedCall) RowResult {
	r := RowResult{ExpectedCall: row}
	p := c.Profile(row.Profile)
	if p == nil {
		r.Failure = fmt.Sprintf("there is no profile %q", row.Profile)
		return r
	}
	r.Decision = p.Decide(c.Call(row.Tool, row.Args))
	wanted := func(r call.Reason) bool { return r.Rule == row.Rule }
	switch {
	case r.Decision.Verdict != row.Verdict:
		r.Failure = fmt.Sprintf("got %s, want %s", r.Decision.Verdict, row.Verdict)
	case row.Rule != "" && !slices.ContainsFunc(r.Decision.Reasons, wanted):
		r.Failure = fmt.Sprintf("got %s as wanted, but not for the rule %q", r.Decision.Verdict, row.Rule)
	}
	return r
}

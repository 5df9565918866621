package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/visible"
)

const sessionToolName = "codemode_session"

var sessionSchema = newSchema(`{"type":"object","properties":{"action":{"type":"string","enum":["list","show","fork","rollback","delete"]},` +
	`"name":{"type":"string"},"version":{"type":"integer"},"as":{"type":"string","description":"name of the fork"}},"required":["action"],"additionalProperties":false}`)

// either returns the schema of a tool at this moment.
func (e *exposure) either(without, with *schema) *schema {
	if e.hasSessions() {
		return with
	}
	return without
}

// sessionTool lists and changes the sessions of the caller.
func (s *toolset) sessionTool() *tool {
	return &tool{
		Tool: mcp.Tool{
			Name: sessionToolName, Title: "Sessions of programs",
			Description: "Lists your sessions; shows one: versions, one for each program, and what is declared; forks one; rolls one back to a version; deletes one.",
			Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(false)},
		},
		schema: sessionSchema, serve: s.session,
	}
}

func (s *toolset) session(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
	if err := checkAction(a); err != nil {
		return nil, err
	}
	r, err := s.request(c, a)
	if err != nil {
		return nil, err
	}
	all, err := s.evaluator.Runs().Sessions.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	may := func(profile string) bool { return s.exposed.mayUseSessions(ctx, c.from.reach, profile) }
	text, version := "", int64(0)
	if a.Version != nil {
		version = int64(*a.Version)
	}
	switch a.Action {
	case "list":
		text, err = listSessions(ctx, all.Within(may), r.Principal)
	case "show":
		text, err = showSession(ctx, all.Within(may), r.Principal, a.Name, version)
	default:
		text, err = s.evaluator.Runs().ChangeSession(ctx, &r, runs.SessionChange{Action: runs.SessionAction(a.Action),
			Name: a.Name, Version: version, As: a.As, Within: may})
	}
	if err != nil {
		return nil, err
	}
	return textOf(text), nil
}

// checkAction makes sure that an action has the arguments that it needs, and no others: "delete" of a version must not
// delete the session.
func checkAction(a *arguments) error {
	given := map[string]bool{"name": a.Name != "", "version": a.Version != nil, "as": a.As != ""}
	needs, takes := []string{"name"}, []string{"name"}
	switch a.Action {
	case "list":
		needs, takes = nil, nil
	case "show":
		takes = []string{"name", "version"}
	case "fork":
		needs, takes = []string{"name", "as"}, []string{"name", "version", "as"}
	case "rollback":
		needs, takes = []string{"name", "version"}, []string{"name", "version"}
	case "delete":
	default:
		return mustBe("action", "list, show, fork, rollback or delete")
	}
	for _, name := range []string{"name", "version", "as"} {
		switch {
		case !given[name] && slices.Contains(needs, name):
			return fmt.Errorf("the action %q needs the argument %q", a.Action, name)
		case given[name] && !slices.Contains(takes, name):
			return fmt.Errorf("the action %q takes no argument %q", a.Action, name)
		}
	}
	return nil
}

func listSessions(ctx context.Context, all *sessions.Sessions, principal string) (string, error) {
	mine, err := all.List(ctx, principal)
	if err != nil {
		return "", err
	}
	if len(mine) == 0 {
		return "There are no sessions: a program with a session begins one.", nil
	}
	var b strings.Builder
	for _, one := range mine {
		summary := sessions.Summarize(one)
		b.WriteString("- " + sessionLine(&summary) + "\n")
	}
	return b.String(), nil
}

// sessionLine describes a session, whose name and profile are words of codemode.
func sessionLine(one *sessions.Summary) string {
	line := one.Name
	if one.Profile != "" {
		line += " (profile " + one.Profile + ")"
	}
	line += fmt.Sprintf(": %s, %s; used %s, ends %s", versionsText(one.Versions), kibibytes(one.Bytes),
		moment(one.Used), moment(one.Expires))
	if one.Run != "" {
		line += "; the program of " + one.Run + " goes on in it"
	}
	return line
}

const (
	shownVersions = 50
	shownNames    = 200
	shownName     = 120 // runes of a declaration
)

// showSession describes a session, and what is declared in one of its versions; 0 is the current one.
func showSession(ctx context.Context, all *sessions.Sessions, principal, name string, number int64) (string, error) {
	one, err := all.Find(ctx, principal, name)
	if err != nil {
		return "", err
	}
	d, err := sessions.DescribeAt(ctx, one, number)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(sessionLine(&d.Summary) + "\n")
	if d.At == 0 {
		b.WriteString("No program has ended in it.\n")
		return b.String(), nil
	}
	b.WriteString("\nVersions:\n")
	for i, v := range slices.Backward(d.Versions) {
		if shown := len(d.Versions) - 1 - i; shown == shownVersions {
			fmt.Fprintf(&b, "(%d older)\n", i+1)
			break
		}
		b.WriteString(versionLine(&v) + "\n")
	}
	fmt.Fprintf(&b, "\nDeclared at version %d:\n", d.At)
	b.WriteString(declared(d))
	return b.String(), nil
}

func versionLine(v *sessions.DescribedVersion) string {
	line := fmt.Sprintf("- %d: %s, %s", v.Version, moment(v.Created), kibibytes(v.Bytes))
	if v.Run != "" {
		line += ", run " + v.Run
	}
	if v.Note != "" {
		line += ", " + visible.Line(v.Note)
	}
	return line
}

// declared lists what the next program can use. The names and types come from the guest.
func declared(d *sessions.Description) string {
	switch {
	case d.Unlisted:
		return "(the session does not say)\n"
	case len(d.Names) == 0:
		return "(nothing)\n"
	}
	var b strings.Builder
	for _, n := range d.Names[max(0, len(d.Names)-shownNames):] {
		b.WriteString("- " + visible.Short(sessions.Describe(n), shownName) + "\n")
	}
	if more := len(d.Names) - shownNames; more > 0 {
		fmt.Fprintf(&b, "(%d older)\n", more)
	}
	return b.String()
}

func versionsText(n int) string {
	if n == 1 {
		return "1 version"
	}
	return fmt.Sprintf("%d versions", n)
}

func kibibytes(n int64) string { return fmt.Sprintf("%d KiB", (n+1023)>>10) }

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

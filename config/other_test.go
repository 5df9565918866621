package config

import (
	"fmt"
	"testing"
)

// A profile that wants somebody other than the caller to approve needs to know who the callers are.
func TestP39_10LintWantsTokensOrSignIn(t *testing.T) {
	const rules = `"evaluation": {"profiles": {"p": {"asklist": ["a__*"], "ask": {"approver": "other"}},
		"child": {"extends": ["p"]}, "any": {"ask": {"approver": "any"}}}}`
	const token = `"http": {"tokens": [{"token": "sha256:` + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" +
		`", "principal": "anna"%s}]},`
	for _, row := range []struct {
		title, settings string
		findings, notes int
	}{
		{"nothing else", ``, 1, 0},
		{"tokens of callers", fmt.Sprintf(token, ``), 0, 0},
		{"a token that only answers", fmt.Sprintf(token, `, "answers": true`), 1, 0},
		{"sign-in of callers", `"http": {"oauth": {"resource": "https://codemode.example/mcp",
			"issuers": {"acme": {"issuer": "https://login.example", "profiles": {"p": {"scope": "x"}}}}}},`, 0, 0},
		{"people on the page", `"console": {"people": {"ben": {"answersFor": ["*"]}}},`, 0, 1},
	} {
		findings, notes := 0, 0
		for _, f := range parse(t, "{"+row.settings+rules+"}").Lint(nil) {
			switch {
			case f.Kind != "nobody-else":
			case !contains(f.Message, `"p" needs tokens or sign-in`):
				t.Errorf("%s: %s", row.title, f.Message)
			case f.Note:
				notes++
			default:
				findings++
			}
		}
		if findings != row.findings || notes != row.notes {
			t.Errorf("%s: %d findings and %d notes, want %d and %d", row.title, findings, notes, row.findings, row.notes)
		}
	}
}

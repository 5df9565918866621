package importtable

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/profiles"
)

// parse loads a configuration that has to be good.
func parse(t testing.TB, content string) *config.Config {
	t.Helper()
	c, err := config.Parse("codemode.json", []byte(content))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, content)
	}
	return c
}

// described writes a decision for a failure message.
func described(d call.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (risk %q, code %q)", d.Verdict, d.Risk, d.Code)
	for _, r := range d.Reasons {
		fmt.Fprintf(&b, "\n    %s %s at %s is %s: %s", r.List, r.Rule, r.Pos, r.Result, r.Text)
	}
	return b.String()
}

func contains(s, part string) bool { return strings.Contains(s, part) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type object = map[string]any

// oracleGlobs keeps the regular expressions that oracleGlob makes.
var oracleGlobs = map[string]*regexp.Regexp{}

// oracleGlob turns a pattern into a regular expression.
func oracleGlob(pattern, s string) bool {
	if re := oracleGlobs[pattern]; re != nil {
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
	oracleGlobs[pattern] = regexp.MustCompile(b.String() + `\z`)
	return oracleGlobs[pattern].MatchString(s)
}

// A maker makes random profiles and calls out of few words, so that they often meet.
type maker struct{ *rand.Rand }

func pick[T any](m maker, all ...T) T { return all[m.IntN(len(all))] }

const pairs = 100_000 // names that are decided by a table and by what becomes of it

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

func strictest(verdicts ...string) string {
	for _, v := range []string{"deny", "ask"} {
		if slices.Contains(verdicts, v) {
			return v
		}
	}
	return "allow"
}

// verdicts decides calls, written as "tool args", by one profile.
func wantVerdicts(t *testing.T, p *profiles.Profile, rows ...string) {
	t.Helper()
	for _, row := range rows {
		want, rest, _ := strings.Cut(row, " ")
		tool, args, _ := strings.Cut(rest, " ")
		server, name, _ := strings.Cut(tool, "__")
		if d := p.Decide(profiles.Call{Server: server, Tool: name,
			Args: call.Unread(json.RawMessage(args))}); d.Verdict.String() != want {
			t.Errorf("%s %s: got %s\nwant %s", tool, args, described(d), want)
		}
	}
}

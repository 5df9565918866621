package config

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"
)

// surrounded loads a user's file, "" for none, beside variables.
func surrounded(user string, variables ...string) (*Config, error) {
	var sources []Source
	if user != "" {
		sources = append(sources, Source{File: "user.json", Standing: User, Data: []byte(user)})
	}
	return ParseAll(nil, append(sources, ReadEnvironment(variables)...)...)
}

// TestS39WithoutAFileTheEnvironmentIsTheConfiguration: as the profile environment, which codemode_eval has too.
func TestS39WithoutAFileTheEnvironmentIsTheConfiguration(t *testing.T) {
	for _, row := range []struct {
		variables string
		want      string // verdicts of s__a, s__b, s__c
	}{
		{"CODEMODE_DENYLIST=s__a", "deny allow allow"},
		{"CODEMODE_DENYLIST=s__a, s__b", "deny deny allow"},
		{"CODEMODE_DENYLIST=s__a\ns__c", "deny allow deny"},
		{"CODEMODE_DENYLIST=s__{a,b}", "deny deny allow"},
		{"CODEMODE_DENYLIST=s__[a,b],", "deny deny allow"},
		{`CODEMODE_DENYLIST=s__\a`, "deny allow allow"},
		{"CODEMODE_ASKLIST=s__*", "ask ask ask"},
		{"CODEMODE_ALLOWLIST=s__a", "allow deny deny"},
		{"CODEMODE_ALLOWLIST=s__a|CODEMODE_UNMATCHED=ask", "allow ask ask"},
		{"CODEMODE_ALLOWLIST=s__a|CODEMODE_UNMATCHED= allow ", "allow allow allow"},
		{"CODEMODE_ALLOWLIST=s__*|CODEMODE_ASKLIST=s__b|CODEMODE_DENYLIST=s__c", "allow ask deny"},
		{"CODEMODE_UNMATCHED=deny", "deny deny deny"},
		{"CODEMODE_ASK_TIMEOUT=5m", "allow allow allow"},
		{"PATH=/bin|CODEMODE_CONFIG=x|CODEMODE_STATE=/x|CODEMODE_NPM_SERVERS=y|CODEMODE_UNMATCHED=ask", "ask ask ask"},
	} {
		c, err := surrounded("", strings.Split(row.variables, "|")...)
		must(t, err)
		for _, name := range []string{"environment", ""} {
			var got []string
			for _, tool := range []string{"a", "b", "c"} {
				got = append(got, c.Profile(name).Decide(callOf("s "+tool, "{}")).Verdict.String())
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("%s: %q decides %v, want %s", row.variables, name, got, row.want)
			}
		}
		if c.Default != environmentProfile || !slices.Equal(c.Names(), []string{"environment"}) {
			t.Errorf("%s: the default is %q, and the profiles are %v", row.variables, c.Default, c.Names())
		}
	}
	c, err := surrounded("", "CODEMODE_ASK_TIMEOUT=90s")
	must(t, err)
	if got := c.Profile("environment").Ask().Timeout; got != 90*time.Second {
		t.Errorf("a question waits %s", got)
	}
	if none := ReadEnvironment([]string{"PATH=/bin", "CODEMODE_STATE=/x", "CODEMODE_TEST_AS=codemode"}); none != nil {
		t.Errorf("variables that say nothing about calls: %v", none)
	}
}

// TestS39TheEnvironmentSaysWhichVariableDecided, and where in it.
func TestS39TheEnvironmentSaysWhichVariableDecided(t *testing.T) {
	for _, user := range []string{"", `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`} {
		c, err := surrounded(user, "CODEMODE_DENYLIST=s__x, s__a", "CODEMODE_ALLOWLIST=s__b")
		must(t, err)
		for tool, want := range map[string]string{"a": "CODEMODE_DENYLIST:1:7", "c": "CODEMODE_ALLOWLIST:1:1"} {
			d := c.Profile("").Decide(callOf("s "+tool, "{}"))
			if r := d.Reasons[0]; d.Verdict != call.Deny || r.Pos.String() != want ||
				(r.Layer == "environment") != (user != "") || r.Profile != "environment" {
				t.Errorf("beside %q: %s: %s", user, tool, described(d))
			}
		}
		variables, note := c.EnvironmentNote()
		if !slices.Equal(variables, []string{"CODEMODE_DENYLIST", "CODEMODE_ALLOWLIST"}) ||
			contains(note, "binds") != (user != "") {
			t.Errorf("beside %q: %v, %s", user, variables, note)
		}
		if found := c.Lint(nil); !slices.ContainsFunc(found, func(f Finding) bool {
			return f.Kind == findingEnvironment && f.Note && f.File == "CODEMODE_DENYLIST" && f.Message == note
		}) {
			t.Errorf("lint says nothing of it: %v", found)
		}
		if text := c.Profile("").Text(); !contains(text, "CODEMODE_DENYLIST:1") {
			t.Errorf("show says\n%s", text)
		}
	}
	c, err := surrounded("", "CODEMODE_ASKLIST=s__*", "CODEMODE_ALLOWLIST=s__a time_now")
	must(t, err)
	for _, want := range []string{"CODEMODE_ALLOWLIST:1:1: the rule \"s__a\" has no effect", "CODEMODE_UNMATCHED=ask",
		"CODEMODE_ALLOWLIST:1:6: the pattern \"time_now\" fits no tool"} {
		if got := settings.Problems(c.Warnings).Error(); !contains(got, want) {
			t.Errorf("%q is not in the warnings:\n%s", want, got)
		}
	}
}

// TestS39AMalformedVariableIsAnErrorThatNamesIt, with the way out, and all of them at once.
func TestS39AMalformedVariableIsAnErrorThatNamesIt(t *testing.T) {
	for _, row := range []struct {
		variables string
		want      []string
	}{
		{"CODEMODE_DENYLIST=!s__a", []string{"CODEMODE_DENYLIST:1:1: a pattern cannot be negated", "name what is meant"}},
		{"CODEMODE_ASKLIST=s__a s__[", []string{"CODEMODE_ASKLIST:1:6:"}},
		{"CODEMODE_ALLOWLIST=s__{a", []string{"CODEMODE_ALLOWLIST:1:1:", "close it with }"}},
		{`CODEMODE_DENYLIST={"tool": "s__a"}`, []string{"CODEMODE_DENYLIST:1:1:"}},
		{`CODEMODE_DENYLIST=["s__a", "s__b"]`, []string{"CODEMODE_DENYLIST:1:1: a quotation mark", "without quotes"}},
		{`CODEMODE_ASKLIST=s__b 's__a'`, []string{"CODEMODE_ASKLIST:1:6: a quotation mark", "without quotes"}},
		{"CODEMODE_DENYLIST=", []string{"CODEMODE_DENYLIST:1:1: CODEMODE_DENYLIST is set, and is empty", "unset it"}},
		{"CODEMODE_ALLOWLIST= , ", []string{"is empty", "CODEMODE_UNMATCHED=deny"}},
		{"CODEMODE_UNMATCHED=dny", []string{"CODEMODE_UNMATCHED:1:1: CODEMODE_UNMATCHED must be", `did you mean "deny"?`}},
		{"CODEMODE_UNMATCHED=Deny", []string{`did you mean "deny"?`}},
		{"CODEMODE_ASK_TIMEOUT=30", []string{"CODEMODE_ASK_TIMEOUT:1:1: CODEMODE_ASK_TIMEOUT is not a duration", `"90s"`}},
		{"CODEMODE_ASK_TIMEOUT=-1s", []string{"CODEMODE_ASK_TIMEOUT"}},
		{"CODEMODE_DENYLIST=s__a\xff", []string{"CODEMODE_DENYLIST", "UTF-8"}},
		{"CODEMODE_DENYLST=s__a", []string{"CODEMODE_DENYLST", "did you mean CODEMODE_DENYLIST?"}},
		{"CODEMODE_DENY=s__a", []string{"codemode knows no variable CODEMODE_DENY", "did you mean CODEMODE_DENYLIST?"}},
		{"CODEMODE_DEFAULT=deny", []string{"did you mean CODEMODE_UNMATCHED?"}},
		{"CODEMODE_UNMATCHED=x|CODEMODE_DENYLIST=!a|CODEMODE_ALOWLIST=a",
			[]string{"CODEMODE_UNMATCHED:1:1", "CODEMODE_DENYLIST:1:1", "CODEMODE_ALOWLIST:1:1"}},
	} {
		for _, user := range []string{"", `{}`} {
			c, err := surrounded(user, strings.Split(row.variables, "|")...)
			for _, want := range row.want {
				if c != nil || err == nil || !contains(err.Error(), want) {
					t.Errorf("%q: %q is not in\n%v", row.variables, want, err)
				}
			}
		}
	}
}

// TestS39AProfileThatIsCalledEnvironment is the user's own, and no variable adds a tool beside a file.
func TestS39AProfileThatIsCalledEnvironment(t *testing.T) {
	c, err := surrounded(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": ["s__b"]}, "environment": {"denylist": ["s__c"]}}}}`, "CODEMODE_ALLOWLIST=s__a s__b s__c")
	must(t, err)
	if got := c.Profile("environment").Decide(callOf("s c", "{}")); got.Verdict != call.Deny ||
		got.Reasons[0].Layer != "" {
		t.Error(described(got))
	}
	if got := c.Profile("environment").Decide(callOf("s d", "{}")); got.Verdict != call.Deny ||
		got.Reasons[0].Layer != "environment" {
		t.Error(described(got))
	}
	c, err = surrounded(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": ["s__b"]}}}}`,
		"CODEMODE_ALLOWLIST=s__a s__b")
	must(t, err)
	if c.Profile("environment") != nil || c.Default != "p" || c.Path != "user.json" ||
		!slices.Equal(c.Names(), []string{"p"}) {
		t.Errorf("a profile that a model could choose instead: %v, default %q, %s", c.Names(), c.Default, c.Path)
	}
	for _, file := range []string{`{"evaluation": {"profiles": {"q": {"extends": ["environment"]}}}}`,
		`{"evaluation": {"defaultProfile": "environment"}}`} {
		if _, err := surrounded(file, "CODEMODE_ALLOWLIST=s__a"); err == nil {
			t.Errorf("%s is accepted", file)
		}
	}
}

// TestS39AProjectCannotLoosenTheEnvironment, trusted or not.
func TestS39AProjectCannotLoosenTheEnvironment(t *testing.T) {
	environment := ReadEnvironment([]string{"CODEMODE_DENYLIST=s__a", "CODEMODE_ALLOWLIST=s__a s__b"})
	project := `{"evaluation": {"defaultProfile": "environment", "profiles": {"environment": {"allowlist": ["*"], "denylist": ["s__b"], "unmatched": "allow"}, "own": {"allowlist": ["*"]}}}}`
	for _, standing := range []Standing{Trusted, Untrusted} {
		c, err := ParseAll(nil, append(slices.Clone(environment), Source{File: "project.json", Data: []byte(project),
			Standing: standing})...)
		must(t, err)
		for _, name := range []string{"", "environment", "own"} {
			p := c.Profile(name)
			if p == nil && name == "own" && standing == Untrusted {
				continue
			}
			for _, tool := range []string{"a", "b", "c"} {
				if want := tool == "b" && name == "own"; (p.Decide(callOf("s "+tool, "{}")).Verdict != call.Deny) != want {
					t.Errorf("%s: %q decides %s about s__%s", standing, name, described(p.Decide(callOf("s "+tool, "{}"))), tool)
				}
			}
		}
	}
}

// TestS39BesideAFileNoVariableLoosens goes through random files, variables and calls.
func TestS39BesideAFileNoVariableLoosens(t *testing.T) {
	random := rand.New(rand.NewPCG(39, 3))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	list := func(join string) string {
		var all []string
		for range 1 + random.IntN(3) {
			all = append(all, pick("s__a", "s__b", "t__*", "*", "s__{a,c}", "*__b", "t__[ab]"))
		}
		return strings.Join(all, join)
	}
	rules := func() string {
		var keys []string
		for _, name := range []string{"allowlist", "asklist", "denylist"} {
			if random.IntN(2) == 0 {
				keys = append(keys, fmt.Sprintf("%q: [\"%s\"]", name, list(`", "`)))
			}
		}
		if random.IntN(2) == 0 {
			keys = append(keys, fmt.Sprintf(`"unmatched": %q`, pick("allow", "ask", "deny")))
		}
		if random.IntN(3) == 0 {
			keys = append(keys, fmt.Sprintf(`"ask": {"timeout": %q}`, pick("1s", "5m", "1h")))
		}
		keys = append(keys, `"remember": {"scopes": ["run", "time"]}`, `"elicitationFallback": "allow"`)
		return "{" + strings.Join(keys, ", ") + "}"
	}
	tighter := 0
	for range 3000 {
		user := fmt.Sprintf(`{"evaluation": {%s"profiles": {"p": %s, "environment": %s}}}`,
			pick("", `"defaultProfile": "p", `, `"floor": "p", `), rules(), rules())
		var variables []string
		for _, name := range []string{"CODEMODE_ALLOWLIST", "CODEMODE_ASKLIST", "CODEMODE_DENYLIST"} {
			if random.IntN(2) == 0 {
				variables = append(variables, name+"="+list(pick(" ", ",", "\n")))
			}
		}
		if random.IntN(2) == 0 {
			variables = append(variables, "CODEMODE_UNMATCHED="+pick("allow", "ask", "deny"))
		}
		if random.IntN(2) == 0 {
			variables = append(variables, "CODEMODE_ASK_TIMEOUT="+pick("1s", "5m", "24h"))
		}
		without, err := surrounded(user)
		must(t, err)
		with, err := surrounded(user, variables...)
		must(t, err)
		if !slices.Equal(with.Names(), without.Names()) || with.Default != without.Default || with.Floor != without.Floor {
			t.Fatalf("%v beside\n%s\nlists %v, default %q", variables, user, with.Names(), with.Default)
		}
		for _, name := range []string{"", "p", "environment"} {
			before, after := without.Profile(name), with.Profile(name)
			if most := func(a profiles.Asking) time.Duration {
				if a.Timeout == 0 {
					return 2 * time.Minute
				}
				return a.Timeout
			}; most(after.Ask()) > most(before.Ask()) {
				t.Fatalf("%v beside\n%s\nlets questions of %q wait %s", variables, user, name, after.Ask().Timeout)
			}
			for _, tool := range []string{"s a", "s b", "s c", "t a", "t b", "u x"} {
				c := callOf(tool, "{}")
				a, b := before.Decide(c), after.Decide(c)
				if b.Verdict > a.Verdict || b.Verdict == a.Verdict && len(b.Remember.Scopes) > len(a.Remember.Scopes) ||
					b.Risk.Compare(a.Risk) < 0 && b.Verdict == a.Verdict {
					t.Fatalf("%v beside\n%s\n%q decides about %s %s\ninstead of %s", variables, user, name, tool, described(b),
						described(a))
				}
				if b.Verdict < a.Verdict {
					tighter++
				}
			}
		}
	}
	if tighter == 0 {
		t.Error("no variable ever made anything stricter")
	}
}

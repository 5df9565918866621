package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// TestLongTextsAreFoldedOnce decides a call with a long text against many constants and rules, and lints a schema whose
// references double. To fold the text for each constant, and to follow each reference, takes minutes and longer.
func TestLongTextsAreFoldedOnce(t *testing.T) {
	var constants, rules []string
	for i := range 2000 {
		constants = append(constants, fmt.Sprintf(`"ä%d"`, i))
	}
	for i := range 200 {
		rules = append(rules, fmt.Sprintf(`{"tool":"a__b","when":{"/x":{"prefix":"ö%d"}}}`, i))
	}
	c := parse(t, fmt.Sprintf(`{"evaluation":{"profiles":{"p":{"unmatched":"allow","denylist":[{"tool":"a__b","when":{"/x":{"in":[%s]}}},%s]}}}}`,
		strings.Join(constants, ","), strings.Join(rules, ",")))
	args := `{"x":"` + strings.Repeat("Ä", 400<<10) + `"}`
	began := time.Now()
	if d := c.Profile("p").Decide(profiles.Call{Server: "a", Tool: "b", Name: "a__b",
		Args: call.Unread([]byte(args))}); d.Verdict != call.Allow {
		t.Errorf("got %v", d)
	}
	c = parse(t, `{"evaluation":{"profiles":{"p":{"denylist":[{"tool":"a__b","when":{"/x":{"eq":1}}}]}}}}`)
	schema := `{"allOf":[{"$ref":"#"},{"$ref":"#"}],"patternProperties":{` + strings.Repeat(`"(x{1000}){1}":{},`, 3) +
		`"y":{}}}`
	c.Lint([]ToolInfo{{Server: "a", Tool: "b", Input: []byte(schema)}})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

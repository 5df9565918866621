package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

var checkSchema, checkSchemaInSession = newSchemas(`{"type":"object","properties":{"code":{"type":"string"},`+
	`"profile":{"type":"string","description":"left out, that of codemode_eval"},`+
	`"script":{"type":"string","description":"a saved program, instead of code"},%s`+
	`"ask":{"type":"boolean"}},"additionalProperties":false}`,
	`"session":{"type":"string"},`)

// checkTool says what a program would do. The profile of a check decides nothing, so a model may name any offered
// profile. With ask, it asks people to allow the calls before the program runs.
func (s *toolset) checkTool() *tool {
	return &tool{
		Tool: mcp.Tool{
			Name: "codemode_check",
			Description: "Says what a program would do without running it: mistakes, each call with verdict " +
				"(allow, ask, deny) and rule, what to change, a pre-flight token. With ask, a person allows its calls now.",
			Annotations: readOnly(),
		},
		schema: s.exposed.either(checkSchema, checkSchemaInSession),
		asks:   func(a *arguments) bool { return a.Ask }, serve: s.check,
	}
}

func (s *toolset) check(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
	r, err := s.toCheck(c, a)
	if err != nil {
		return nil, err
	}
	if a.Ask {
		c.asksFor(&r)
	}
	plan, err := s.evaluator.Check(ctx, r)
	if err != nil {
		return nil, err
	}
	if a.Ask && plan.Allowed { // ask nobody about a program that would be refused
		if plan.Asked, err = s.evaluator.Runs().AllowPlan(ctx, r); err != nil {
			return nil, err
		}
	}
	return textOf(plan.Text()), nil
}

// toCheck is the request to run the checked program.
func (s *toolset) toCheck(c *conversation, a *arguments) (r codemode.Request, err error) {
	if r, err = s.request(c, a); err != nil {
		return r, err
	}
	r.Script, r.Code = a.Script, a.Code
	profile := a.Profile
	switch offered := s.exposed.offered(c.from.reach); {
	case a.Script == "" && a.Code == "":
		return r, errors.New(`the argument "code" is missing`)
	case a.Script != "" && a.Code != "":
		return r, errors.New("there is a program in code and one named by script; give one of them")
	case a.Script != "" && profile != "":
		return r, errors.New("a saved program runs under the profile that was chosen for it; leave profile out")
	case a.Script != "":
		r.Tool = scriptToolName
		return r, s.exposed.placeScript(c.from.reach, &r)
	case profile == "" && len(offered) > 0:
		profile = offered[0]
	}
	if profile = s.exposed.profileNamed(c.from.reach, profile); !s.exposed.mayUse(c.from.reach, profile) {
		return r, fmt.Errorf("there is no profile %q here; there are: %s", profile,
			strings.Join(evalNames(s.exposed.listed(c.from.reach)), ", "))
	}
	r.Profile, r.Tool = profile, evalName(profile)
	return r, nil
}

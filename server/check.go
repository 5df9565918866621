package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
)

const checkTool = "codemode_check"

// check tells what a program would do. Its profile decides nothing, so a model
// may name any that is offered here.
func (s *Server) check(ctx context.Context, req *mcp.CallToolRequest, a arguments) (string, error) {
	r, err := s.toCheck(req, a)
	if err != nil {
		return "", err
	}
	if _, err := a.flag("ask"); err != nil {
		return "", err
	}
	plan, err := s.evaluator.Check(ctx, r)
	if err != nil {
		return "", err
	}
	return plan.Text(), nil
}

// checkAndAsk is check for a program whose calls people are to allow before it runs. Nobody is asked about one that
// would be refused.
func (s *Server) checkAndAsk(ctx context.Context, c *conversation) *mcp.CallToolResult {
	args, err := readArguments(c.request.Params.Arguments, checkArguments)
	if err != nil {
		return failed(err)
	}
	r, err := s.toCheck(c.request, args)
	if err != nil {
		return failed(err)
	}
	r.Channels, r.Caller = []approvals.Channel{&elicitation{c, s}}, c.caller()
	c.profile = &r.Profile
	plan, err := s.evaluator.Check(ctx, r)
	if err != nil {
		return failed(err)
	}
	if plan.Allowed {
		if plan.Asked, err = s.evaluator.Runs().AllowPlan(ctx, r); err != nil {
			return failed(err)
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: plan.Text()}}}
}

// toCheck is the program that a check is asked for.
func (s *Server) toCheck(req *mcp.CallToolRequest, a arguments) (r codemode.Request, err error) {
	if r, err = s.request(req, a); err != nil {
		return r, err
	}
	if r.Script, err = a.text("script", false); err != nil {
		return r, err
	}
	if r.Code, err = a.text("code", r.Script == ""); err != nil {
		return r, err
	}
	if r.Script != "" && r.Code != "" {
		return r, errors.New("there is a program in code and one named by script; give one of them")
	}
	profile, err := a.text("profile", false)
	if err != nil {
		return r, err
	}
	v := visitorOf(req)
	switch offered := s.offered(v); {
	case r.Script != "" && profile != "":
		return r, errors.New("a saved program runs under the profile that was chosen for it; leave profile out")
	case r.Script != "":
		r.Tool = scriptTool
		return r, s.placeScript(v, &r)
	case profile == "" && len(offered) > 0:
		profile = offered[0]
	}
	if profile = s.profileNamed(v, profile); !s.mayUse(v, profile) {
		return r, fmt.Errorf("there is no profile %q here; there are: %s", profile, strings.Join(s.runTools(v), ", "))
	}
	r.Profile, r.Tool = profile, evalName(profile)
	return r, nil
}

// profileNamed reads the name of a profile, or that of the tool bound to it: a
// model knows the tools.
func (s *Server) profileNamed(v *visitor, name string) string {
	if s.mayUse(v, name) {
		return name
	}
	if profile, ok := s.evalTool(name); ok && s.mayUse(v, profile) {
		return profile
	}
	if cfg := s.evaluator.Config(); cfg != nil && name == cfg.Default && s.mayUse(v, "") {
		return "" // what codemode_eval runs programs under
	}
	return name
}

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// check tells what a program would do. Its profile decides nothing, so a model
// may name any that is offered here.
func (s *Server) check(ctx context.Context, req *mcp.CallToolRequest, a arguments) (string, error) {
	r, err := s.request(req, a)
	if err != nil {
		return "", err
	}
	if r.Script, err = a.text("script", false); err != nil {
		return "", err
	}
	if r.Code, err = a.text("code", r.Script == ""); err != nil {
		return "", err
	}
	if r.Script != "" && r.Code != "" {
		return "", errors.New("there is a program in code and one named by script; give one of them")
	}
	profile, err := a.text("profile", false)
	if err != nil {
		return "", err
	}
	v := visitorOf(req)
	switch offered := s.offered(v); {
	case r.Script != "":
		return s.checkScript(ctx, v, r, profile)
	case profile == "" && len(offered) > 0:
		profile = offered[0]
	}
	if profile = s.profileNamed(v, profile); !s.mayUse(v, profile) {
		return "", fmt.Errorf("there is no profile %q here; there are: %s", profile, strings.Join(s.runTools(v), ", "))
	}
	r.Profile, r.Tool = profile, evalName(profile)
	plan, err := s.evaluator.Check(ctx, r)
	if err != nil {
		return "", err
	}
	return plan.Text(), nil
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

func (s *Server) checkScript(ctx context.Context, v *visitor, r codemode.Request, profile string) (string, error) {
	if profile != "" {
		return "", errors.New("a saved program runs under the profile that was chosen for it; leave profile out")
	}
	if err := s.placeScript(v, &r); err != nil {
		return "", err
	}
	r.Tool = scriptTool
	plan, err := s.evaluator.Check(ctx, r)
	if err != nil {
		return "", err
	}
	return plan.Text(), nil
}

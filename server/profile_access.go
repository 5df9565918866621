package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/runs/inforce"
)

// A reach is the set of profiles that a caller may use. The zero value is empty.
type reach struct {
	all   bool     // every profile
	names []string // these profiles, unless all
	bound string   // the only profile, named by the path; "" names none
}

// everyProfile is the reach of the person who started the server, and of an embedding program.
var everyProfile = reach{all: true}

// reachOf returns the reach of a request's caller.
func reachOf(req mcp.Request) reach {
	if h := httpRequestOf(req); h != nil {
		return h.reach
	}
	return everyProfile
}

// holds reports whether a profile is within reach. "" is the base tool; its profile is byDefault, or none at all.
func (r reach) holds(profile, byDefault string) bool {
	if profile == "" {
		if r.bound != "" {
			return false
		}
		if r.all {
			return true
		}
		profile = byDefault
	}
	return profile != "" && (r.all || slices.Contains(r.names, profile)) && (r.bound == "" || r.bound == profile)
}

// reaches reports whether a profile is within the reach of a caller. It ignores whether the server offers the profile.
// Use it for programs that already run, and for saved programs: a person chose their profile.
func (s *Server) reaches(by reach, profile string) bool {
	byDefault := ""
	if cfg := s.evaluator.Config(); cfg != nil {
		byDefault = cfg.Default
	}
	return by.holds(profile, byDefault)
}

// mayUse reports whether a caller may run new programs under a profile at this moment: the configuration has it and
// exposes it, nobody started the server for another one, and it is within the caller's reach. "" is the base tool. This
// function decides for every way to name a profile: a path, the name of a tool, and an argument.
func (s *Server) mayUse(by reach, profile string) bool {
	cfg := s.evaluator.Config()
	switch only := s.options.Profile; {
	case cfg == nil:
		if profile != "" || only != "" {
			return false
		}
	case cfg.Profile(profile) == nil:
		return false
	case only != "": // the person who started the server named it
		if profile != only {
			return false
		}
	case !cfg.Exposes(evalName(profile)):
		return false
	}
	return s.reaches(by, profile)
}

// offered lists the profiles that a caller may use; "" is the base tool.
func (s *Server) offered(by reach) []string {
	names := []string{""}
	if cfg := s.evaluator.Config(); cfg != nil {
		names = append(names, cfg.All()...)
	}
	return slices.DeleteFunc(names, func(profile string) bool { return !s.mayUse(by, profile) })
}

// mayUseSessions reports whether a caller may see and change sessions of a profile: those in which it could run a
// program, with the profile's own tool, the base tool, or a saved program.
func (s *Server) mayUseSessions(ctx context.Context, by reach, profile string) bool {
	cfg := s.evaluator.Config()
	if s.mayUse(by, profile) || cfg != nil && cfg.Default == profile && s.mayUse(by, "") {
		return true
	}
	return s.offersScripts() && slices.ContainsFunc(s.evaluator.Rules().SavedScripts(ctx), func(script inforce.Script) bool {
		of, ok := s.profileOf(by, script)
		return ok && of == profile
	})
}

// scriptsProfile chooses the profile of a saved program when the program's rule names none. It takes the profile of the
// path or the server, or the default profile (a person chose it for such programs, exposed or not), or the only one
// that the caller may use. ok is false if the caller has none of them.
func (s *Server) scriptsProfile(by reach) (profile string, ok bool) {
	if only := cmp.Or(by.bound, s.options.Profile); only != "" {
		return only, s.mayUse(by, only)
	}
	if cfg := s.evaluator.Config(); cfg != nil && cfg.Default != "" && s.reaches(by, cfg.Default) {
		return cfg.Default, true
	}
	if offered := s.offered(by); len(offered) == 1 {
		return offered[0], true
	}
	return "", false
}

package server

import (
	"cmp"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A reach is the set of profiles that a caller may use. The zero value is empty.
type reach struct {
	all   bool     // every profile
	names []string // these profiles, unless all
	bound string   // the one profile that the path names; "" names none
}

// everyProfile is the reach of the person who started the server, and of the program that embeds it.
var everyProfile = reach{all: true}

// reachOf is the reach of the caller of a request.
func reachOf(req mcp.Request) reach {
	if h := httpRequestOf(req); h != nil {
		return h.reach
	}
	return everyProfile
}

// holds reports whether a profile is within reach. "" is the base tool, whose profile is byDefault, or none at all.
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

// reaches reports whether a profile is within the reach of a caller. It says nothing about whether the profile is
// offered: that is for programs that run already, and for saved programs, whose profile a person chose.
func (s *Server) reaches(by reach, profile string) bool {
	byDefault := ""
	if cfg := s.evaluator.Config(); cfg != nil {
		byDefault = cfg.Default
	}
	return by.holds(profile, byDefault)
}

// mayUse reports whether a caller may run new programs under a profile at this moment: the configuration has it and
// exposes it, the server was not started for another one, and it is within the caller's reach. "" is the base tool.
// Every way to name a profile is decided here: a path, the name of a tool, and an argument.
func (s *Server) mayUse(by reach, profile string) bool {
	cfg := s.evaluator.Config()
	switch only := s.options.Profile; {
	case cfg == nil:
		if profile != "" || only != "" {
			return false
		}
	case cfg.Profile(profile) == nil:
		return false
	case only != "": // whoever started the server named it
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

// scriptsProfile is the profile of a saved program whose rule names none: that of the path or the server, or the
// default profile, which a person chose for such programs whether it is exposed or not, or the only one that the caller
// may use. ok is false if there is none of them for the caller.
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

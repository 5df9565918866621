package server

import (
	"cmp"
	"slices"
)

// A reach says which profiles a caller may use, as far as it depends on who the caller is. The zero value reaches none.
type reach struct {
	all   bool     // every profile
	names []string // these profiles, unless all
	bound string   // the one profile that the path names; "" names none
}

// reachOf returns the reach of who sent a request. Without a visitor that is whoever started the server, or embeds it.
func reachOf(v *visitor) reach {
	if v == nil {
		return reach{all: true}
	}
	return v.reach
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

// reaches reports whether a profile is within the reach of a visitor. It says nothing about whether the profile is offered:
// that is for programs that run already, and for saved programs, whose profile a person chose.
func (s *Server) reaches(v *visitor, profile string) bool {
	byDefault := ""
	if cfg := s.evaluator.Config(); cfg != nil {
		byDefault = cfg.Default
	}
	return reachOf(v).holds(profile, byDefault)
}

// mayUse reports whether a visitor may run new programs under a profile at this moment: the configuration has it and exposes
// it, the server was not started for another one, and it is within the visitor's reach. "" is the base tool. Every way to name
// a profile is decided here: a path, the name of a tool, and an argument.
func (s *Server) mayUse(v *visitor, profile string) bool {
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
	return s.reaches(v, profile)
}

// offered lists the profiles that a visitor may use; "" is the base tool. A nil visitor is whoever started the server.
func (s *Server) offered(v *visitor) []string {
	names := []string{""}
	if cfg := s.evaluator.Config(); cfg != nil {
		names = append(names, cfg.All()...)
	}
	return slices.DeleteFunc(names, func(profile string) bool { return !s.mayUse(v, profile) })
}

// scriptsProfile is the profile of a saved program whose rule names none: that of the path or the server, or the default profile,
// which a person chose for such programs whether it is exposed or not, or the only one that the visitor may use. ok is false if
// there is none of them for the visitor.
func (s *Server) scriptsProfile(v *visitor) (profile string, ok bool) {
	if only := cmp.Or(reachOf(v).bound, s.options.Profile); only != "" {
		return only, s.mayUse(v, only)
	}
	if cfg := s.evaluator.Config(); cfg != nil && cfg.Default != "" && s.reaches(v, cfg.Default) {
		return cfg.Default, true
	}
	if offered := s.offered(v); len(offered) == 1 {
		return offered[0], true
	}
	return "", false
}

package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/profiles"
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

// An exposure says what callers may use at this moment, and describes it. That depends on the configuration, on the
// caller's reach, and on the profile that the server was started for.
type exposure struct {
	evaluator *codemode.Evaluator
	only      string // the one profile that is offered; "" is all that the configuration exposes
}

// byDefault is the profile of the base tool; "" is none.
func (e *exposure) byDefault() string {
	if cfg := e.evaluator.Config(); cfg != nil {
		return cfg.Default
	}
	return ""
}

// profile finds a profile; nil if there is none. "" is that of the base tool.
func (e *exposure) profile(name string) *profiles.Profile {
	if cfg := e.evaluator.Config(); cfg != nil {
		return cfg.Profile(name)
	}
	return nil
}

// exposes reports whether the configuration lists a tool.
func (e *exposure) exposes(tool string) bool {
	cfg := e.evaluator.Config()
	return cfg == nil || cfg.Exposes(tool)
}

// needsCheck reports whether a profile runs only programs with a pre-flight token.
func (e *exposure) needsCheck(profile string) bool {
	p := e.profile(profile)
	return p != nil && p.RequirePreflight()
}

// reaches reports whether a profile is within the reach of a caller. It ignores whether the server offers the profile.
// Use it for programs that already run, and for saved programs: a person chose their profile.
func (e *exposure) reaches(by reach, profile string) bool {
	return by.holds(profile, e.byDefault())
}

// mayUse reports whether a caller may run new programs under a profile at this moment: the configuration has it and
// exposes it, nobody started the server for another one, and it is within the caller's reach. "" is the base tool. This
// function decides for every way to name a profile: a path, the name of a tool, and an argument.
func (e *exposure) mayUse(by reach, profile string) bool {
	cfg := e.evaluator.Config()
	switch only := e.only; {
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
	return e.reaches(by, profile)
}

// offered lists the profiles that a caller may use; "" is the base tool.
func (e *exposure) offered(by reach) []string {
	names := []string{""}
	if cfg := e.evaluator.Config(); cfg != nil {
		names = append(names, cfg.All()...)
	}
	return slices.DeleteFunc(names, func(profile string) bool { return !e.mayUse(by, profile) })
}

// mayUseSessions reports whether a caller may see and change sessions of a profile: those in which it could run a
// program, with the profile's own tool, the base tool, or a saved program.
func (e *exposure) mayUseSessions(ctx context.Context, by reach, profile string) bool {
	if e.mayUse(by, profile) || e.byDefault() == profile && e.mayUse(by, "") {
		return true
	}
	runs := func(script inforce.Script) bool {
		of, ok := e.profileOf(by, script)
		return ok && of == profile
	}
	return e.offersScripts() && slices.ContainsFunc(e.evaluator.Rules().SavedScripts(ctx), runs)
}

// scriptsProfile chooses the profile of a saved program when the program's rule names none. It takes the profile of the
// path or the server, or the default profile (a person chose it for such programs, exposed or not), or the only one
// that the caller may use. ok is false if the caller has none of them.
func (e *exposure) scriptsProfile(by reach) (profile string, ok bool) {
	if only := cmp.Or(by.bound, e.only); only != "" {
		return only, e.mayUse(by, only)
	}
	if name := e.byDefault(); name != "" && e.reaches(by, name) {
		return name, true
	}
	if offered := e.offered(by); len(offered) == 1 {
		return offered[0], true
	}
	return "", false
}

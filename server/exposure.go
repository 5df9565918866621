package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/tools/registry"
)

// A caller is the owner of a token.
type caller struct {
	principal string
	reach     reach
	answers   bool // the token answers questions on the page and runs nothing, see [Answerers]
}

// A reach is the set of profiles that a caller may use. The zero value is empty.
type reach struct {
	all   bool     // every profile
	names []string // these profiles, unless all
	bound string   // the only profile, named by the path; "" names none
}

// everyProfile is the reach of the person who started the server, and of an embedding program.
var everyProfile = reach{all: true}

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
	surface   string // of profiles; "" leaves it to the configuration
}

// byDefault is the profile of the base tool; "" is none.
func (e *exposure) byDefault() string {
	if cfg := e.evaluator.Config(); cfg != nil {
		return cfg.Default
	}
	return ""
}

// exposes reports whether the configuration lists a tool.
func (e *exposure) exposes(tool string) bool {
	cfg := e.evaluator.Config()
	return cfg == nil || cfg.Exposes(tool)
}

// needsCheck reports whether a profile runs only programs with a pre-flight token.
func (e *exposure) needsCheck(profile string) bool {
	cfg := e.evaluator.Config()
	return cfg != nil && cfg.Profile(profile) != nil && cfg.Profile(profile).RequirePreflight()
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
	switch {
	case cfg == nil:
		if profile != "" || e.only != "" {
			return false
		}
	case cfg.Profile(profile) == nil:
		return false
	case e.only != "": // the person who started the server named it
		if profile != e.only {
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

// listed returns the profiles that a caller sees as tools; "" is the base tool. It does not list the base tool's
// profile again under its own name, but calls by that name work.
func (e *exposure) listed(by reach) []string {
	offered, byDefault := e.offered(by), e.byDefault()
	if byDefault == "" || !slices.Contains(offered, "") {
		return offered
	}
	return slices.DeleteFunc(offered, func(profile string) bool { return profile == byDefault })
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

// profileNamed reads the name of a profile, or that of the tool bound to it: a model knows the tools.
func (e *exposure) profileNamed(by reach, name string) string {
	if e.mayUse(by, name) {
		return name
	}
	if profile, ok := evalProfile(name); ok && e.mayUse(by, profile) {
		return profile
	}
	if name == e.byDefault() && e.mayUse(by, "") {
		return "" // the profile of codemode_eval
	}
	return name
}

// offersScripts reports whether this server may have saved programs.
func (e *exposure) offersScripts() bool {
	cfg := e.evaluator.Config()
	return cfg != nil && cfg.Scripts != nil && cfg.Exposes(scriptToolName)
}

// placeScript chooses the profile of a saved program for a caller: the one that the program's rule names, else the
// caller's own. The program runs under no other profile, even if its rule changes meanwhile.
func (e *exposure) placeScript(by reach, r *codemode.Request) error {
	saved, err := e.evaluator.Rules().Script(r.Script)
	if err != nil {
		return err
	}
	script := saved.Script
	r.Bound = true
	if profile, ok := e.profileOf(by, script); ok {
		r.Profile = profile
		return nil
	}
	if e.only != "" && script.Profile != "" {
		return fmt.Errorf("the saved program %.80q runs under the profile %s, and only %s is offered here", r.Script,
			script.Profile, e.only)
	}
	if script.Profile == "" {
		return fmt.Errorf("the saved program %.80q has no profile here: its rule in the configuration names none, and the default profile is not for you", r.Script)
	}
	return fmt.Errorf("the saved program %.80q would run under a profile that is not for you", r.Script)
}

// profileOf is the profile that a saved program runs under for a caller. ok is false if the caller may use none.
func (e *exposure) profileOf(by reach, script inforce.Script) (profile string, ok bool) {
	if script.Profile == "" {
		return e.scriptsProfile(by)
	}
	return script.Profile, e.reaches(by, script.Profile) && (e.only == "" || e.only == script.Profile)
}

// powers are the annotations of the tool that runs programs under a profile: what its programs can do at most, at this
// moment.
func (e *exposure) powers(profile string) *mcp.ToolAnnotations {
	return hintsOf(e.evaluator.Discovery().Powers(profile))
}

func hintsOf(p registry.Powers) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: !p.Write, DestructiveHint: &p.Destroy, OpenWorldHint: &p.Reach}
}

// hasSessions reports whether clients are offered sessions at this moment.
func (e *exposure) hasSessions() bool {
	rules := e.evaluator.Runs().SessionRules()
	return rules.Offered && !rules.Off
}

// evalPrefix begins the names of profile-bound tools.
const evalPrefix = preflight.BaseTool + "_"

const scriptToolName, callToolName, collectToolName = "codemode_run_script", "call_tool", "codemode_collect"

// evalName is the tool that runs programs under a profile.
func evalName(profile string) string {
	if profile == "" {
		return preflight.BaseTool
	}
	return evalPrefix + profile
}

func evalNames(profiles []string) (tools []string) {
	for _, profile := range profiles {
		tools = append(tools, evalName(profile))
	}
	return tools
}

// evalProfile returns the profile that a tool runs programs under; ok is false if it runs none.
func evalProfile(tool string) (profile string, ok bool) {
	if tool == preflight.BaseTool {
		return "", true
	}
	profile, ok = strings.CutPrefix(tool, evalPrefix)
	return profile, ok && profile != ""
}

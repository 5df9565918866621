package preflight

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// maxPlanned is how many calls one check decides.
const maxPlanned = 1000

// A Checker says what programs would do. It signs a token for each program that it checked, and verifies such tokens.
type Checker struct {
	Rules    *inforce.Rules
	Tools    *registry.Registry
	Programs *Programs
	Tokens   *Tokens
	page     atomic.Pointer[string] // see SetPage; nil: there is none
}

// A Submission is a program to check, or a program that comes with the token of a check.
type Submission struct {
	inforce.Wish
	Tool  string // the MCP tool through which the caller runs programs, for messages
	Token string // of a check
	Local bool   // the caller is at this machine: links may name its files

	InSession *Declared // nil for a program without a session
}

// Check says what a program would do under a policy. saved is nil if the request brings its own program.
func (c *Checker) Check(
	ctx context.Context, r *Submission, policy *inforce.Policy, saved *inforce.SavedProgram,
) (*Plan, error) {
	plan := &Plan{
		Profile: cmp.Or(r.Profile, policy.ProfileName()), Script: r.Script, Program: inforce.ProgramHash(r.Code),
		Calls: []PlannedCall{}, tool: r.Tool,
	}
	if err := c.Rules.Now().Stale; err != nil {
		plan.Stale = staleText(err)
	}
	profile := policy.Profile()
	plan.Required = profile != nil && profile.RequirePreflight()
	limits, _ := c.Rules.Limits(profile, "")
	if len(r.Code) > limits.ProgramBytes {
		return nil, fmt.Errorf("the program has %d bytes, the limit is %d", len(r.Code), limits.ProgramBytes)
	}
	program, err := c.read(ctx, r, policy, plan)
	if err != nil {
		return nil, err
	}
	if len(plan.Problems) > 0 {
		return plan, nil
	}
	foresight, done := NewForesight(ctx, c.Tools, policy)
	defer done()
	foresight.Look(program)
	for i, call := range program.Calls {
		if len(plan.Calls) == maxPlanned {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf(
				"line %d: this call and what follows it, %d in all, were not checked: one check looks at %d calls at most",
				call.Line, len(program.Calls)-i, maxPlanned))
			break
		}
		foresight.foresee(plan, call)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for _, u := range program.Unawaited {
		plan.Warnings = append(plan.Warnings, UnawaitedHint(u))
	}
	plan.Allowed = plan.Denied() == 0
	plan.advise(saved != nil)
	if !plan.Allowed {
		plan.Link = c.adminLink(r, profile, plan.refused())
	}
	now := policy.Now()
	plan.Token, plan.Expires = c.token(r.Code, policy, now)
	plan.OnlyHere = c.Tokens.Ephemeral
	return plan, nil
}

// read compiles a program. In a session, a name that nobody declares is a problem.
func (c *Checker) read(
	ctx context.Context, r *Submission, policy *inforce.Policy, plan *Plan,
) (program *analysis.Program, err error) {
	file := cmp.Or(r.Name, "program.ts")
	program, plan.Problems, err = c.Programs.Read(ctx, r.Owner(), file, r.Code)
	if err == nil && len(plan.Problems) == 0 {
		plan.Problems = program.Nothing(file, r.InSession != nil)
	}
	if err != nil || len(plan.Problems) > 0 {
		return nil, err
	}
	if len(program.Calls)+len(program.Perhaps) > 0 {
		c.Tools.Ready(ctx, registry.CheckWait)
	}
	program = Meant(ctx, c.Tools, policy, program, r.InSession, true)
	plan.Dynamic = slices.Clone(program.Dynamic) // the program is shared
	plan.Warnings = partWarnings(c.Tools, program)
	if r.InSession == nil {
		plan.Warnings = append(plan.Warnings, undeclared(program)...)
		return program, nil
	}
	var used []string
	for _, use := range program.Free {
		if slices.Contains(r.InSession.Names, use.Name) && len(used) < planLines {
			used = append(used, visible.Short(use.Name, 40))
		}
	}
	if len(used) > 0 {
		plan.Warnings = append(plan.Warnings, "the program uses "+strings.Join(used, ", ")+" of its session: calls that "+
			"functions of the session make are not listed, and are decided when they are made")
	}
	program, problems := program.InSession(file, r.InSession.Names)
	if r.InSession.Known {
		plan.Problems = problems
	}
	return program, nil
}

// token signs that a program was checked under the current policy.
func (c *Checker) token(code string, p *inforce.Policy, now time.Time) (token string, expires time.Time) {
	// A token holds whole seconds.
	issued := now.Truncate(time.Second)
	expires = issued.Add(c.Rules.PreflightLife())
	return c.Tokens.sign(checked{
		Version: preflightVersion, Issued: issued.Unix(), Expires: expires.Unix(),
		Program: inforce.ProgramHash(code), Profile: p.ProfileName(), Digest: p.Digest(),
	}), expires
}

// CheckedBefore refuses a run without a valid token where the profile requires one. A token does not count once the
// profile has changed, because the check decided by the old rules.
func (c *Checker) CheckedBefore(r *Submission, p *inforce.Policy) error {
	profile := p.Profile()
	if profile == nil || !profile.RequirePreflight() {
		return nil
	}
	said, refusal := c.Tokens.read(r.Token, p.Now())
	switch {
	case refusal != nil:
	case said.Program != inforce.ProgramHash(r.Code):
		refusal = &Error{Code: OtherProgram, Detail: "the pre-flight token is for another program; " +
			"a program that is changed, if only by a space, is another one"}
	case said.Profile != profile.Name():
		refusal = &Error{Code: OtherProfile, Detail: fmt.Sprintf(
			"the pre-flight token is for %s, and the program is to run under %s",
			profileWords(said.Profile), profileWords(profile.Name()))}
	case said.Digest != p.Digest():
		refusal = &Error{Code: ProfileChanged, Detail: "the rules of the profile have changed since the program was checked"}
	default:
		return nil
	}
	refusal.Profile, refusal.Script, refusal.Tool, refusal.Life = profile.Name(), r.Script, r.Tool, c.Rules.PreflightLife()
	refusal.Link = c.adminLink(r, profile, nil)
	return refusal
}

func profileWords(name string) string {
	if name == "" {
		return "no profile"
	}
	return fmt.Sprintf("the profile %s", visible.Short(name, 40))
}

// adminLink returns an absolute link to the page where people change the rules, with the wanted tools as parameters. It
// uses the address in the configuration, else the page of this process, else, for a caller at this machine, the file.
// "" means that there is none.
func (c *Checker) adminLink(r *Submission, profile *profiles.Profile, refused []PlannedCall) string {
	cfg := c.Rules.Config()
	if cfg == nil || profile == nil {
		return ""
	}
	admin := cfg.AdminURL
	if page := c.page.Load(); admin == "" && page != nil {
		admin = *page
	}
	if admin != "" {
		values := url.Values{"profile": {profile.Name()}, "program": {inforce.ProgramHash(r.Code)}}
		for _, one := range refused {
			if !slices.Contains(values["allow"], one.Tool) && len(values["allow"]) < planLines {
				values.Add("allow", one.Tool)
			}
		}
		return admin + "?" + values.Encode()
	}
	pos := profile.Pos()
	if len(refused) > 0 && refused[0].pos.Line > 0 {
		pos = refused[0].pos
	}
	if !r.Local || pos.File == "" {
		return ""
	}
	path, err := filepath.Abs(pos.File)
	if err != nil {
		return ""
	}
	link := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}
	if pos.Line > 0 {
		link.Fragment = fmt.Sprintf("L%d", pos.Line)
	}
	return link.String()
}

// maxReading is how many programs of one owner wait to be compiled.
const maxReading = 256

// Programs compiles programs before they run.
type Programs struct {
	turns  *fair.Budget // bounds how many are compiled at once
	Reader analysis.Reader
}

// NewPrograms returns Programs that compile as many programs at once as there may be workers.
func NewPrograms() *Programs {
	return &Programs{turns: fair.New("programs that are read at once", int64(analysis.MostWorkers()), maxReading)}
}

// Reading returns how many programs are read at this moment, and how many wait for that.
func (p *Programs) Reading() fair.Use { return p.turns.Use() }

// Read compiles a program. It waits for its owner's turn.
func (p *Programs) Read(ctx context.Context, owner, name, code string) (*analysis.Program, []analysis.Problem, error) {
	if err := p.turns.Acquire(ctx, owner, 1); err != nil {
		return nil, nil, fmt.Errorf("not started: %w", err)
	}
	defer p.turns.Release(owner, 1)
	return p.Reader.Compile(ctx, name, code)
}

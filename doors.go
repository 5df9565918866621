package codemode

import (
	"context"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/preflight"
	"github.com/codemode-project/codemode/recorder"
)

// What other parts of a program need of an Evaluator, beside running programs.

// Scripts lists the saved programs that may be run, by name.
func (e *Evaluator) Scripts(ctx context.Context) []inforce.Script { return e.rules.SavedScripts(ctx) }

// Script is the saved program of that name, as it is now. The error is a [*ScriptError] if nobody allowed it.
func (e *Evaluator) Script(name string) (inforce.Script, error) {
	saved, err := e.rules.Script(name)
	if err != nil {
		return inforce.Script{}, err
	}
	return saved.Script, nil
}

// NewSession makes a session for a role, for 10 minutes, an hour or a day.
// Its id is a secret of those it is made for.
func (e *Evaluator) NewSession(role string, life time.Duration) (inforce.Session, error) {
	return e.rules.NewSession(e.life.ctx, role, life)
}

// EndSession ends a session before its time; nothing more is run in it.
func (e *Evaluator) EndSession(id string) error { return e.rules.EndSession(e.life.ctx, id) }

// MadeSession finds a session that was made for a role, by this process or by another one that shares the store. The
// error is [ErrSessionOver] if there is none, or not any more.
func (e *Evaluator) MadeSession(ctx context.Context, id string) (inforce.Session, error) {
	return e.rules.Session(ctx, id)
}

// Became waits until the record says how a call ended that a person allowed, and says it in a few words. It gives "" if
// the record does not say so before ctx ends, or if there is no record. It is made for [approvals.Queue.Outcome].
func (e *Evaluator) Became(ctx context.Context, r *prompt.Request) string {
	return e.record.Became(ctx, r)
}

// Journal is the record that the Evaluator keeps by itself; nil when
// Options.Recorder keeps it.
func (e *Evaluator) Journal() *recorder.Journal {
	j, _ := e.record.To.(*recorder.Journal)
	return j
}

// Check says what a program would do under a profile.
func (e *Evaluator) Check(ctx context.Context, r Request) (*preflight.Plan, error) {
	if err := e.life.enter(); err != nil {
		return nil, err
	}
	defer e.life.running.Done()
	policy, saved, err := prepare(e.life.ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	return e.checker.Check(ctx, program(&r), policy, saved)
}

// SetRulesPage says where people find the page of this process on which the rules are
// changed. Links lead there unless the configuration has an address of its own.
func (e *Evaluator) SetRulesPage(address string) { e.checker.Page.Store(&address) }

// Note says what a caller should know about the rules before anything else:
// that the file is broken, and its last good version holds. "" is nothing.
func (e *Evaluator) Note() string {
	if err := e.Stale(); err != nil {
		return preflight.StaleText(err)
	}
	return ""
}

// PreflightWarning says what is weak about the secret that tokens are signed
// with, once a profile depends on it; "" is nothing.
func (e *Evaluator) PreflightWarning() string {
	cfg := e.rules.Config()
	if cfg == nil {
		return ""
	}
	required := cfg.Profile("").RequirePreflight()
	for _, name := range cfg.All() {
		required = required || cfg.Profile(name).RequirePreflight()
	}
	switch {
	case !required:
		return ""
	case !cfg.Exposes("codemode_check"):
		return `programs have to be checked before they run, and "expose" leaves out codemode_check: none can run`
	case e.checker.Tokens.Ephemeral:
		return preflight.SecretVariable + " is not set: pre-flight tokens are signed with a secret of this process, and count for nothing once it ends or in another one"
	}
	return ""
}

package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/codemode-project/codemode/call"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs/sessions"
)

// A SessionAction is what may be done to a session besides running programs in it.
type SessionAction string

const (
	Fork     SessionAction = "fork"
	Rollback SessionAction = "rollback"
	Delete   SessionAction = "delete"
)

// A SessionChange is one change of a session of a principal.
type SessionChange struct {
	Action  SessionAction
	Name    string
	Version int64  // for a fork or a rollback; 0 is the current one
	As      string // the name of the fork

	By *call.DecidedBy // the person who wants it; nil for a client
	// Within reports whether the caller may see sessions of a profile: no others exist for it. Nil is every profile.
	Within func(profile string) bool
}

// sessionStates are the words of the record for what was done.
var sessionStates = map[SessionAction]string{Fork: "forked", Rollback: "rolled_back", Delete: "deleted"}

// SessionRules are the rules for sessions.
func (e *Executor) SessionRules() config.Sessions { return e.rules.Config().Sessions() }

// ChangeSession changes a session of the principal of r, and records that. It returns what was done, in a sentence. The
// error is [*sessions.ErrBusy] while a program goes on in the session.
func (e *Executor) ChangeSession(ctx context.Context, r *Request, c SessionChange) (done string, err error) {
	if err := e.record.Full(r.Owner()); err != nil {
		return "", err
	}
	all, err := e.Sessions.Sessions(ctx)
	if err != nil {
		return "", err
	}
	if c.Within != nil {
		all = all.Within(c.Within)
	}
	done, err = Change(ctx, all, r.Principal, c, e.SessionRules())
	if err != nil {
		return "", err
	}
	if err := e.record.Write(ctx, SessionEntry(r, c, done)); err != nil {
		return done, fmt.Errorf("%s But the record could not take it: %w", done, err)
	}
	return done, nil
}

// Change makes a change. The caller records it, see [SessionEntry].
func Change(ctx context.Context, all *sessions.Sessions, principal string, c SessionChange, rules config.Sessions) (
	done string, err error) {
	switch c.Action {
	case Fork:
		fork, err := all.Fork(ctx, principal, c.Name, c.Version, c.As, rules)
		if err != nil {
			return "", err
		}
		state, err := sessions.Read(ctx, fork.Versions[0])
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("The session %s is %s.", fork.Name, state.Note), nil
	case Rollback:
		v, err := all.Rollback(ctx, principal, c.Name, c.Version, rules)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("The session %s is as it was at version %d; that is its version %d.", c.Name, c.Version,
			v.Number), nil
	case Delete:
		if err := all.Delete(ctx, principal, c.Name); err != nil {
			return "", err
		}
		return fmt.Sprintf("The session %s is deleted, with all its versions.", c.Name), nil
	}
	return "", fmt.Errorf("%.40q is nothing that can be done to a session: fork, rollback or delete", string(c.Action))
}

// SessionEntry is the entry of the record for a change that was made.
func SessionEntry(r *Request, c SessionChange, done string) call.Entry {
	of := map[string]any{"name": c.Name}
	if c.Version != 0 {
		of["version"] = c.Version
	}
	if c.As != "" {
		of["as"] = c.As
	}
	data, _ := json.Marshal(map[string]any{"session": of}) // texts and numbers always encode
	return call.Entry{Kind: audit.Session, State: sessionStates[c.Action], Principal: r.Principal, Owner: r.Owner(),
		Client: r.Client, Session: r.ClientSession, DecidedBy: c.By, Detail: done, Data: data}
}

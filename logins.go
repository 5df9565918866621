package codemode

import (
	"context"
	"path/filepath"

	"github.com/codemode-project/codemode/upstream"
)

// Login logs a person in at an upstream over HTTP that wants it, and keeps the
// tokens in [Options.StateDir], where every Evaluator of the same user finds them.
func (e *Evaluator) Login(ctx context.Context, server string, o upstream.LoginOptions) error {
	if err := e.life.Enter(); err != nil {
		return err
	}
	defer e.life.Running.Done()
	return e.tools.Manager.Login(ctx, server, o)
}

// Logout forgets the tokens of an upstream. It reports whether there were any.
func (e *Evaluator) Logout(server string) (bool, error) { return e.tools.Manager.Logout(server) }

// loginsIn is where tokens are kept below a state directory.
func loginsIn(stateDir string) string {
	if stateDir == "" {
		return ""
	}
	return filepath.Join(stateDir, "logins")
}

package approvals

import (
	"context"
	"errors"

	"github.com/codemode-project/codemode/call"
)

// LoginChannel is the channel of the answers of [Desk.Connected].
const LoginChannel = "login"

// Connected ends the open questions that ask a principal to connect its account at a server, in whichever process they
// are asked. Call it when the login is kept and recorded. Only Connected answers these questions with a yes, and only a
// [SharedStore] has them: where nothing is stored, no login is.
func (d *Desk) Connected(ctx context.Context, principal, server string) error {
	store, ok := d.store().(SharedStore)
	if !ok {
		return nil
	}
	open, err := store.Open(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, p := range open {
		w, err := readStored(p)
		if err != nil || w.Request.Kind() != "account" || w.Request.Principal != principal || w.Request.Server != server {
			continue
		}
		a := &ask{store: store, request: w.Request}
		got := reply{source: source{name: LoginChannel}, Answer: call.Answer{Allowed: true, By: principal}}
		err = a.keep(ctx, p.ID, p.Digest, got.toStore(true, ""))
		if !errors.Is(err, ErrTaken) { // else it is over
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

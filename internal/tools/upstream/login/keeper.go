package login

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// A keeper keeps the credential of one account, for all processes that use it.
type keeper interface {
	// read returns the credential, nil if nobody has logged in.
	read(ctx context.Context) (*credential, error)
	// change calls f while nobody else changes the credential, nil if nobody has logged in, and keeps what f returns. Nil
	// says that the login is over. After an error it stays as it was.
	change(ctx context.Context, f func(*credential) (*credential, error)) error
	// put keeps the credential of a new login.
	put(ctx context.Context, c *credential) error
}

// A turn is for one goroutine at a time. Its capacity is 1.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) end() { <-t }

// A fileKeeper keeps the operator's login in a file. It follows the file: another process may log in, or renew the
// token, at any time.
type fileKeeper struct {
	path string
	busy turn // while somebody changes the file

	mu    sync.Mutex
	stamp fileStamp
	cred  *credential // nil: nobody has logged in
}

// A fileStamp tells versions of a file apart.
type fileStamp struct {
	at   time.Time
	size int64
}

func newFileKeeper(path string) *fileKeeper {
	return &fileKeeper{path: path, busy: make(turn, 1)}
}

func (k *fileKeeper) read(context.Context) (*credential, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		k.cred, k.stamp = nil, fileStamp{}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading its login: %w", err)
	}
	stamp := fileStamp{info.ModTime(), info.Size()}
	if stamp == k.stamp && k.cred != nil {
		return k.cred, nil
	}
	c, err := readCredential(k.path)
	if err != nil {
		return nil, err
	}
	k.cred, k.stamp = c, stamp
	return c, nil
}

func (k *fileKeeper) change(ctx context.Context, f func(*credential) (*credential, error)) error {
	if err := k.busy.take(ctx); err != nil {
		return err
	}
	defer k.busy.end()
	unlock, err := lockFile(ctx, k.path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	c, err := k.read(ctx)
	if err != nil {
		return err
	}
	next, err := f(c)
	if err != nil || next == nil || next == c { // the file of a login that is over has the scopes for the next one
		return err
	}
	return next.write(k.path)
}

func (k *fileKeeper) put(_ context.Context, c *credential) error { return c.write(k.path) }

// A rowKeeper keeps the login of a principal in the store, which all replicas share.
type rowKeeper struct {
	db func(context.Context) (*store.DB, error)
	// expired is called when a login is over.
	expired func(ctx context.Context, principal, server string)

	principal, server, url string
	account                string // the only login that counts; "" is that of the moment

	busy turn // so that one goroutine of this process waits for other processes
}

var (
	// errOtherAddress says that a login is for an earlier address of the server.
	errOtherAddress = errors.New("its login is for another address than the configured one")
	// errOtherLogin says that the principal has logged in again. What began with the earlier login, such as a session of
	// the server, may be another user's.
	errOtherLogin = errors.New("the principal has logged in anew: repeat the call")
)

func (k *rowKeeper) read(ctx context.Context) (*credential, error) {
	db, err := k.db(ctx)
	if err != nil {
		return nil, err
	}
	row, err := db.Logins.Of(ctx, k.principal, k.server)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the login: %w", err)
	}
	return k.parse(row)
}

func (k *rowKeeper) parse(row *store.Login) (*credential, error) {
	c := new(credential)
	if err := json.Unmarshal(row.Body, c); err != nil {
		return nil, errors.New("the stored login is damaged")
	}
	c.account = row.Account
	if k.account != "" && c.account != k.account {
		return nil, errOtherLogin
	}
	if c.URL != k.url { // the token is for that server alone
		return nil, errOtherAddress
	}
	return c, nil
}

func (k *rowKeeper) change(ctx context.Context, f func(*credential) (*credential, error)) error {
	if err := k.busy.take(ctx); err != nil {
		return err
	}
	defer k.busy.end()
	db, err := k.db(ctx)
	if err != nil {
		return err
	}
	over := false
	err = db.Logins.Renew(ctx, k.principal, k.server, func(row *store.Login) ([]byte, error) {
		c, err := k.parse(row)
		if err != nil {
			return nil, err
		}
		next, err := f(c)
		if err != nil {
			return nil, err
		}
		if over = next == nil; over {
			return nil, nil
		}
		return json.Marshal(next)
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		_, err = f(nil)
	case over && err == nil:
		k.expired(ctx, k.principal, k.server)
	}
	return err
}

func (k *rowKeeper) put(ctx context.Context, c *credential) error {
	db, err := k.db(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return db.Logins.Put(ctx, &store.Login{Principal: k.principal, Server: k.server, Account: rand.Text(), Body: body})
}

package login

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/replace"
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

// A credential is the result of a login at one server. Only its owner can read its file.
type credential struct {
	Server   string `json:"server"` // its name in the configuration
	URL      string `json:"url"`    // of the server
	Resource string `json:"resource"`

	TokenURL     string           `json:"tokenUrl"`
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	AuthStyle    oauth2.AuthStyle `json:"authStyle"`

	Wanted []string `json:"wanted,omitempty"` // scopes that the server required beyond those it names at first

	Access  string    `json:"accessToken"`
	Refresh string    `json:"refreshToken,omitempty"`
	Expiry  time.Time `json:"expiry,omitzero"` // zero: not said

	account string // of a principal's login: random

	// get gets an access token, not with a refresh token: exchange says how in exchange for that of the caller, which is
	// in Refresh then. Nil: Refresh is a refresh token.
	get      func(ctx context.Context, c *credential) (*oauth2.Token, error)
	exchange *servers.Exchange
}

// early is how long before its expiry we stop using a token.
const early = 30 * time.Second

func (c *credential) fresh(now time.Time) bool {
	return c.Access != "" && (c.Expiry.IsZero() || now.Before(c.Expiry.Add(-early)))
}

// readCredential reads the file; the error is fs.ErrNotExist if there is none.
func readCredential(path string) (*credential, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() || runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the file with its login, %s, can be read by others (%v): remove it and log in again",
			path, mode)
	}
	c := new(credential)
	if err := json.NewDecoder(f).Decode(c); err != nil {
		return nil, fmt.Errorf("the file with its login, %s, is damaged: log in again", path)
	}
	return c, nil
}

// write replaces the file in one step.
func (c *credential) write(path string) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keeping the login: %w", err)
	}
	if err := replace.File(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("keeping the login: %w", err)
	}
	return nil
}

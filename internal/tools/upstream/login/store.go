package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/store"
)

// A Store keeps logins: those of the operator in the files of a directory, those of principals in the database that all
// replicas share.
type Store struct {
	o    Options
	page atomic.Pointer[string] // nil is nowhere

	mu       sync.Mutex
	accounts map[string]*Account // of the operator, by file
}

// Options are what a [Store] needs from outside.
type Options struct {
	Dir           string // of the operator's logins; "" stores none
	Name, Version string // how we introduce ourselves to authorization servers

	// DB is the database of the logins of principals; nil stores none.
	DB func(context.Context) (*store.DB, error)
	// Expired is called when the login of a principal is removed because its authorization server no longer accepts it.
	// May be nil.
	Expired func(ctx context.Context, principal, server string)
}

// NewStore returns a store.
func NewStore(o Options) *Store {
	if o.DB == nil {
		o.DB = func(context.Context) (*store.DB, error) {
			return nil, errors.New("there is no database to keep logins in")
		}
	}
	if o.Expired == nil {
		o.Expired = func(context.Context, string, string) {}
	}
	return &Store{o: o, accounts: map[string]*Account{}}
}

// SetPage gives the address at which principals log in, for errors.
func (s *Store) SetPage(address string) { s.page.Store(&address) }

func (s *Store) pageAddress() string {
	if page := s.page.Load(); page != nil {
		return *page
	}
	return ""
}

// file is the path of the credential for a server at an address.
func (s *Store) file(server, url string) string {
	sum := sha256.Sum256([]byte(server + "\n" + url))
	return filepath.Join(s.o.Dir, hex.EncodeToString(sum[:12])+".json")
}

// Account returns the operator's login at a server, which may not exist yet; nil if the store has no directory.
func (s *Store) Account(server, url string) *Account {
	if s.o.Dir == "" {
		return nil
	}
	path := s.file(server, url)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accounts[path] == nil {
		s.accounts[path] = &Account{server: server, keeper: newFileKeeper(path)}
	}
	return s.accounts[path]
}

// Of returns the login of a principal at a server, which may not exist yet. The principal is not "". id is the only
// login that counts, see [Account.ID]; "" is that of each moment.
func (s *Store) Of(principal, server, url, id string) *Account {
	return &Account{server: server, principal: principal, page: s.pageAddress,
		keeper: s.ofPrincipal(principal, server, url, id)}
}

func (s *Store) ofPrincipal(principal, server, url, id string) *rowKeeper {
	return &rowKeeper{busy: make(turn, 1), db: s.o.DB, principal: principal, server: server, url: url, account: id,
		expired: s.o.Expired}
}

// Logins lists the logins of a principal, or with "" of all.
func (s *Store) Logins(ctx context.Context, principal string) ([]*store.Login, error) {
	db, err := s.o.DB(ctx)
	if err != nil {
		return nil, err
	}
	return db.Logins.List(ctx, principal)
}

// LogOutOf deletes the login of a principal at a server. It reports whether there was one.
func (s *Store) LogOutOf(ctx context.Context, principal, server string) (found bool, err error) {
	db, err := s.o.DB(ctx)
	if err != nil {
		return false, err
	}
	return db.Logins.Drop(ctx, principal, server)
}

// LogOut deletes the operator's tokens of the server of that name, at all addresses that
// it had. It reports whether there were any.
func (s *Store) LogOut(server string) (found bool, err error) {
	if s.o.Dir == "" {
		return false, nil
	}
	files, err := filepath.Glob(filepath.Join(s.o.Dir, "*.json"))
	if err != nil {
		return false, err
	}
	for _, path := range files {
		var c credential
		data, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(data, &c) != nil || c.Server != server {
			continue // of another server, or of none
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
		found = true
	}
	return found, nil
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

	// exchange says how to get an access token in exchange for that of the caller, which is in Refresh then; nil: Refresh
	// is a refresh token.
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

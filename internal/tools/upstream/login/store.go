package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

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

package login

import (
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
	"time"

	"golang.org/x/oauth2"

	"github.com/codemode-project/codemode/internal/replace"
)

// A Store keeps logins in the files of a directory.
type Store struct {
	dir           string // "" stores none
	name, version string // how we introduce ourselves to authorization servers

	mu       sync.Mutex
	accounts map[string]*Account // by file
}

// NewStore returns the store in dir; "" stores nothing. name and version
// introduce us to authorization servers.
func NewStore(dir, name, version string) *Store {
	return &Store{dir: dir, name: name, version: version, accounts: map[string]*Account{}}
}

// file is the path of the credential for a server at an address.
func (s *Store) file(server, url string) string {
	sum := sha256.Sum256([]byte(server + "\n" + url))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:12])+".json")
}

// Account returns our login at a server, which may not exist yet; nil if the store has no directory.
func (s *Store) Account(server, url string) *Account {
	if s.dir == "" {
		return nil
	}
	path := s.file(server, url)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accounts[path] == nil {
		s.accounts[path] = &Account{server: server, path: path, renewing: make(chan struct{}, 1)}
	}
	return s.accounts[path]
}

// LogOut deletes the tokens of the server of that name, at all addresses that
// it had. It reports whether there were any.
func (s *Store) LogOut(server string) (found bool, err error) {
	if s.dir == "" {
		return false, nil
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
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

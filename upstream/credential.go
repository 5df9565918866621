package upstream

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
	"time"

	"golang.org/x/oauth2"

	"github.com/codemode-project/codemode/internal/replace"
)

// A credential is what a login at one server has given us. It is kept in a
// file of its own that nobody but its owner can read, and sent to the address
// it was given for and to no other.
type credential struct {
	Server   string `json:"server"` // as the configuration calls it
	URL      string `json:"url"`    // of the server
	Resource string `json:"resource"`

	TokenURL     string           `json:"tokenUrl"`
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	AuthStyle    oauth2.AuthStyle `json:"authStyle"`

	Wanted []string `json:"wanted,omitempty"` // scopes that the server has asked for beyond those it names at first

	Access  string    `json:"accessToken"`
	Refresh string    `json:"refreshToken,omitempty"`
	Expiry  time.Time `json:"expiry,omitzero"` // zero: not said
}

// early is how long before its end a token is no longer used.
const early = 30 * time.Second

func (c *credential) fresh(now time.Time) bool {
	return c.Access != "" && (c.Expiry.IsZero() || now.Before(c.Expiry.Add(-early)))
}

// credentialFile is where the credential for a server at an address is kept.
func credentialFile(dir, server, url string) string {
	sum := sha256.Sum256([]byte(server + "\n" + url))
	return filepath.Join(dir, hex.EncodeToString(sum[:12])+".json")
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
		return nil, fmt.Errorf("the file with its login, %s, can be read by others (%v): remove it and log in again", path, mode)
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

// Logout forgets what logins at the server of that name have given us, at all
// addresses that it had. It reports whether there was anything.
func (m *Manager) Logout(server string) (bool, error) {
	if m.o.Logins == "" {
		return false, nil
	}
	return forget(m.o.Logins, server)
}

func forget(dir, server string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return false, err
	}
	found := false
	for _, path := range files {
		var c credential
		data, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(data, &c) != nil || c.Server != server {
			continue // another's, or nobody's
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
		found = true
	}
	return found, nil
}

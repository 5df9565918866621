package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/store"
)

// TestLogins opens one database of each kind in two processes, and the databases of two tenants.
func TestLogins(t *testing.T) {
	keys := [][]byte{bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 32)} // each tenant has its own
	t.Run("SQLite", func(t *testing.T) {
		dir := t.TempDir()
		of := func(tenant int) (store.Options, func(string) error) {
			o := store.Options{Path: filepath.Join(dir, fmt.Sprint(tenant)), SealKey: keys[tenant]}
			return o, func(statement string) error {
				db, err := sql.Open("sqlite", o.Path)
				if err != nil {
					return err
				}
				defer db.Close()
				_, err = db.Exec(statement)
				return err
			}
		}
		testLogins(t, of)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		server := pgtest.Start(t)
		testLogins(t, func(tenant int) (store.Options, func(string) error) {
			name := fmt.Sprintf("tenant%d", tenant)
			return store.Options{URL: server.URL(name), SealKey: keys[tenant]}, func(statement string) error {
				_, err := server.SQL(name, statement)
				return err
			}
		})
	})
}

func testLogins(t *testing.T, of func(tenant int) (store.Options, func(sql string) error)) {
	options, attack := of(0)
	one, two := open(t, options), open(t, options)
	put := func(d *store.DB, principal, server, body string) {
		t.Helper()
		if err := d.Logins.Put(t.Context(), &store.Login{Principal: principal, Server: server, Account: "a-" + principal,
			Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	reads := func(d *store.DB, principal, server, want string) {
		t.Helper()
		if l, err := d.Logins.Of(t.Context(), principal, server); err != nil || string(l.Body) != want || l.Created.IsZero() {
			t.Errorf("%s at %s: %+v, %v; want %s", principal, server, l, err, want)
		}
	}
	put(one, "anna", "linear", "token of anna")
	put(one, "ben", "linear", "token of ben")
	put(one, "anna", "notion", "another token of anna")
	reads(two, "anna", "linear", "token of anna")
	reads(two, "ben", "linear", "token of ben")
	if _, err := two.Logins.Of(t.Context(), "ben", "notion"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a login that nobody has: %v", err)
	}
	all, err := two.Logins.List(t.Context(), "anna")
	if err != nil || len(all) != 2 || all[0].Body != nil {
		t.Errorf("the logins of anna: %+v, %v", all, err)
	}

	// A refresh token works once: of many that renew at the same moment, one does, and the others see what it got.
	var renewed int
	var alone sync.Mutex
	var done sync.WaitGroup
	for i := range 20 {
		done.Go(func() {
			d := []*store.DB{one, two}[i%2]
			err := d.Logins.Renew(t.Context(), "anna", "linear", func(l *store.Login) ([]byte, error) {
				if !alone.TryLock() {
					t.Error("two renew at the same moment")
					return nil, nil
				}
				defer alone.Unlock()
				runtime.Gosched()
				if string(l.Body) == "token of anna" {
					renewed++
				}
				return []byte("new token of anna"), nil
			})
			if err != nil {
				t.Errorf("renewing: %v", err)
			}
		})
	}
	done.Wait()
	if renewed != 1 {
		t.Errorf("the old token was used %d times, want once", renewed)
	}
	reads(one, "anna", "linear", "new token of anna")
	failed := errors.New("the authorization server is away")
	if err := two.Logins.Renew(t.Context(), "anna", "linear", func(*store.Login) ([]byte, error) {
		return nil, failed
	}); !errors.Is(err, failed) {
		t.Errorf("a renewal that fails: %v", err)
	}
	reads(one, "anna", "linear", "new token of anna")
	if err := one.Logins.Renew(t.Context(), "anna", "linear", func(*store.Login) ([]byte, error) {
		put(two, "anna", "linear", "token of a later login") // wins over the renewal
		return []byte("late"), nil
	}); !errors.Is(err, store.ErrTaken) {
		t.Errorf("a renewal beside a login: %v", err)
	}
	reads(one, "anna", "linear", "token of a later login")
	if err := one.Logins.Renew(t.Context(), "anna", "notion", func(*store.Login) ([]byte, error) {
		return nil, nil
	}); err != nil {
		t.Error(err)
	}
	if found, err := two.Logins.Drop(t.Context(), "anna", "notion"); found || err != nil {
		t.Errorf("a login that a renewal removed: %t, %v", found, err)
	}

	// Attack: somebody who can write to the database, and has no key, gives ben the login of anna.
	other, _ := of(1)
	third := open(t, other)
	for name, statement := range map[string]string{
		"the body of another principal": `UPDATE logins SET body = (SELECT body FROM logins WHERE principal = 'anna'),
			account = 'a-anna' WHERE principal = 'ben'`,
		"the whole row under another name": `UPDATE logins SET principal = 'eve' WHERE principal = 'anna'`,
		"the row for another server":       `UPDATE logins SET server = 'evil' WHERE principal = 'eve'`,
	} {
		put(one, "anna", "linear", "token of anna")
		put(one, "ben", "linear", "token of ben")
		put(one, "eve", "linear", "token of eve")
		if name == "the whole row under another name" {
			_, _ = one.Logins.Drop(t.Context(), "eve", "linear")
		}
		if err := attack(statement); err != nil {
			t.Fatal(err)
		}
		for _, place := range [][2]string{{"ben", "linear"}, {"eve", "linear"}, {"eve", "evil"}} {
			if l, err := two.Logins.Of(t.Context(), place[0], place[1]); err == nil && string(l.Body) != "token of "+place[0] {
				t.Errorf("%s: %v opens %s", name, place, l.Body)
			}
		}
		_, _ = one.Logins.Drop(t.Context(), "eve", "linear")
		_, _ = one.Logins.Drop(t.Context(), "eve", "evil")
	}
	put(one, "anna", "linear", "token of anna")
	// Attack: a row of one tenant does not open at another, with its key or with that of the first.
	put(third, "anna", "linear", "of another tenant")
	reads(third, "anna", "linear", "of another tenant")
	reads(one, "anna", "linear", "token of anna")
	other.SealKey = options.SealKey
	if l, err := open(t, other).Logins.Of(t.Context(), "anna", "linear"); err == nil {
		t.Errorf("with the key of another tenant a login opens: %s", l.Body)
	}
	options.SealKey = nil
	if err := open(t, options).Logins.Put(t.Context(), &store.Login{Principal: "p", Server: "s"}); !errors.Is(err,
		store.ErrUnsealed) {
		t.Errorf("without a key a token is stored: %v", err)
	}
}

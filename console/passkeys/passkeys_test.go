package passkeys

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/authenticator"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/store"
)

const (
	party  = "codemode.example.com"
	origin = "https://codemode.example.com"
)

// A place is a page with passkeys, and what its people do.
type place struct {
	*Passkeys
	t     *testing.T
	clock time.Time
}

func newPlace(t *testing.T, o store.Options) *place {
	t.Helper()
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	keys, err := New([]string{origin, "http://127.0.0.1:7391"}, func(context.Context) (*store.DB, error) { return db, nil })
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Passkeys: keys, t: t, clock: time.Now()}
	p.now = func() time.Time { return p.clock }
	return p
}

func holder(person string, session byte) Holder { return Holder{person, [sha256.Size]byte{session}} }

var anna, ben = holder("local:anna", 1), holder("acme:ben", 2)

func subject(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// add registers a passkey.
func (p *place) add(h Holder, name string, change ...func(*authenticator.Key)) *authenticator.Key {
	p.t.Helper()
	k := authenticator.New(p.t, party, origin)
	for _, f := range change {
		f(k)
	}
	if _, err := p.tryAdd(h, name, k); err != nil {
		p.t.Fatal(err)
	}
	return k
}

func (p *place) tryAdd(h Holder, name string, k *authenticator.Key) (string, error) {
	p.t.Helper()
	options, err := p.BeginAdd(p.t.Context(), h, name)
	if err != nil {
		return "", err
	}
	return p.Add(p.t.Context(), h, []byte(k.Create(options)), func(string) error { return nil })
}

func (p *place) begin(h Holder, what string) []byte {
	p.t.Helper()
	options, err := p.BeginUse(p.t.Context(), h, subject(what))
	if err != nil {
		p.t.Fatal(err)
	}
	return options
}

// use confirms a subject, and returns the kind of the refusal; "" is none.
func (p *place) use(h Holder, what, response string) string {
	p.t.Helper()
	_, err := p.Use(p.t.Context(), h, subject(what), []byte(response))
	return kindOf(p.t, err)
}

func kindOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	no, ok := errors.AsType[*Refusal](err)
	if !ok {
		t.Fatalf("%v is no refusal", err)
	}
	return no.Kind
}

// onBoth runs a test with each kind of database.
func onBoth(t *testing.T, test func(t *testing.T, p *place)) {
	t.Run("SQLite", func(t *testing.T) {
		test(t, newPlace(t, store.Options{Path: filepath.Join(t.TempDir(), "codemode.db")}))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		test(t, newPlace(t, store.Options{URL: pgtest.Start(t).URL("passkeys")}))
	})
}

func TestAPasskeyIsAddedUsedAndRemoved(t *testing.T) {
	onBoth(t, func(t *testing.T, p *place) {
		if _, err := p.BeginUse(t.Context(), anna, subject("a")); !errors.Is(err, ErrNone) {
			t.Errorf("without a passkey: %v", err)
		}
		k := p.add(anna, "laptop")
		synced := p.add(anna, "phone", func(k *authenticator.Key) { k.Eligible, k.Counts, k.Counter = true, false, 0 })
		for what, k := range map[string]*authenticator.Key{"a": k, "b": synced, "c": synced} {
			if got := p.use(anna, what, k.Get(p.begin(anna, what))); got != "" {
				t.Errorf("%s: %s", what, got)
			}
		}
		synced.BackedUp = true
		if got := p.use(anna, "d", synced.Get(p.begin(anna, "d"))); got != "" {
			t.Errorf("a passkey that was copied since: %s", got)
		}
		all, err := p.List(t.Context(), anna.Person)
		if err != nil || len(all) != 2 || all[0].Name != "laptop" || all[0].Synced || !all[1].Synced || all[1].LastUsed.IsZero() {
			t.Fatalf("the list is %+v, %v", all, err)
		}
		if _, err := p.Remove(t.Context(), ben.Person, all[0].ID); !errors.Is(err, store.ErrTaken) {
			t.Errorf("ben removes a passkey of anna: %v", err)
		}
		options := p.begin(anna, "e")
		if name, err := p.Remove(t.Context(), anna.Person, all[0].ID); err != nil || name != "laptop" {
			t.Errorf("removing it: %q, %v", name, err)
		}
		if got := p.use(anna, "e", k.Get(options)); got != "unknown_passkey" {
			t.Errorf("a removed passkey: %q", got)
		}
		if got := p.use(anna, "f", k.Get(p.begin(anna, "f"))); got != "unknown_passkey" {
			t.Errorf("a removed passkey, asked for anew: %q", got)
		}
	})
}

// Each row is an attack on one answer of anna; the question is always asked in her session 1.
func TestWhatDoesNotCount(t *testing.T) {
	onBoth(t, func(t *testing.T, p *place) {
		k, other := p.add(anna, "laptop"), p.add(ben, "laptop of ben")
		for _, x := range []struct {
			name, kind string
			attack     func() string // "" is that it counted
		}{
			{"the same answer", "", func() string { return p.use(anna, "a", k.Get(p.begin(anna, "a"))) }},
			{"another answer", "other_answer", func() string { return p.use(anna, "b", k.Get(p.begin(anna, "a"))) }},
			{"the right answer, after another one was tried with it", "used_challenge", func() string {
				said := k.Get(p.begin(anna, "a"))
				p.use(anna, "b", said)
				return p.use(anna, "a", said)
			}},
			{"a replay", "used_challenge", func() string {
				said := k.Get(p.begin(anna, "a"))
				p.use(anna, "a", said)
				return p.use(anna, "a", said)
			}},
			{"after two minutes", "late", func() string {
				said := k.Get(p.begin(anna, "a"))
				p.clock = p.clock.Add(useLife)
				return p.use(anna, "a", said)
			}},
			{"in another session of the same person", "other_session", func() string {
				return p.use(holder(anna.Person, 9), "a", k.Get(p.begin(anna, "a")))
			}},
			{"a challenge that nobody asked for", "unknown_challenge", func() string {
				return p.use(anna, "a", k.Get([]byte(`{"challenge":"`+strings.Repeat("A", 86)+`"}`)))
			}},
			{"the passkey of somebody else", "unknown_passkey", func() string {
				return p.use(anna, "a", other.Get(p.begin(anna, "a")))
			}},
			{"a passkey that was never added", "unknown_passkey", func() string {
				return p.use(anna, "a", authenticator.New(t, party, origin).Get(p.begin(anna, "a")))
			}},
			{"a made-up key under the ID of the passkey", "bad_signature", func() string {
				forged := authenticator.New(t, party, origin)
				forged.ID, forged.User, forged.Counter = k.ID, k.User, 1000
				return p.use(anna, "a", forged.Get(p.begin(anna, "a")))
			}},
			{"nonsense", "malformed", func() string { return p.use(anna, "a", `{"id":"x"}`) }},
			{"the answer of a registration", "malformed", func() string { return p.use(anna, "a", k.Create(p.begin(anna, "a"))) }},
		} {
			t.Run(x.name, func(t *testing.T) {
				if got := x.attack(); got != x.kind {
					t.Errorf("got %q, want %q", got, x.kind)
				}
			})
		}
		if got := p.use(anna, "a", k.Get(p.begin(anna, "a"))); got != "" {
			t.Fatal(got)
		}
		for _, x := range []struct {
			name, kind string
			change     func(*authenticator.Key)
		}{
			{"on another page", "wrong_origin", func(k *authenticator.Key) { k.Origin = "https://evil.example.com" }},
			{"on another port", "wrong_origin", func(k *authenticator.Key) { k.Origin += ":8443" }},
			{"without TLS", "wrong_origin", func(k *authenticator.Key) { k.Origin = "http://codemode.example.com" }},
			{"at the address without a name", "wrong_origin", func(k *authenticator.Key) { k.Origin = "http://127.0.0.1:7391" }},
			{"in a frame of another page", "wrong_origin", func(k *authenticator.Key) { k.CrossOrigin = true }},
			{"of another page", "wrong_relying_party", func(k *authenticator.Key) { k.RP = "example.com" }},
			{"that nobody touched", "not_present", func(k *authenticator.Key) { k.Present = false }},
			{"without user verification", "not_verified", func(k *authenticator.Key) { k.Verified = false }},
			{"for a registration", "wrong_ceremony", func(k *authenticator.Key) { k.Type = "webauthn.create" }},
			{"that can be copied now", "wrong_backup_flags", func(k *authenticator.Key) { k.Eligible = true }},
			{"that is a copy and cannot be copied", "wrong_backup_flags", func(k *authenticator.Key) { k.BackedUp = true }},
			{"with the counter of the last use", "counter_regression", func(k *authenticator.Key) { k.Counter-- }},
			{"with an older counter", "counter_regression", func(k *authenticator.Key) { k.Counter = 1 }},
			{"without a counter", "counter_regression", func(k *authenticator.Key) { k.Counter = 0 }},
		} {
			t.Run("a passkey "+x.name, func(t *testing.T) {
				changed := *k
				x.change(&changed)
				if got := p.use(anna, "a", changed.Get(p.begin(anna, "a"))); got != x.kind {
					t.Errorf("got %q, want %q", got, x.kind)
				}
			})
		}
		if got := p.use(anna, "a", k.Get(p.begin(anna, "a"))); got != "" {
			t.Errorf("afterwards the passkey does not count: %q", got)
		}
	})
}

func TestPasskeysThatAreNotAdded(t *testing.T) {
	p := newPlace(t, store.Options{Path: filepath.Join(t.TempDir(), "codemode.db")})
	for _, x := range []struct {
		name, kind string
		change     func(*authenticator.Key)
	}{
		{"on another page", "wrong_origin", func(k *authenticator.Key) { k.Origin = "https://evil.example.com" }},
		{"without user verification", "not_verified", func(k *authenticator.Key) { k.Verified = false }},
		{"of another page", "bad_registration", func(k *authenticator.Key) { k.RP = "example.com" }},
		{"that is a copy and cannot be copied", "bad_registration", func(k *authenticator.Key) { k.BackedUp = true }},
		{"with another challenge", "unknown_challenge", func(k *authenticator.Key) { k.Challenge = "AAAA" }},
		{"with the answer of a use", "bad_registration", func(k *authenticator.Key) { k.Type = "webauthn.get" }},
	} {
		k := authenticator.New(t, party, origin)
		x.change(k)
		if _, err := p.tryAdd(anna, "laptop", k); kindOf(t, err) != x.kind {
			t.Errorf("a passkey %s: %v, want %s", x.name, err, x.kind)
		}
	}
	k := p.add(anna, "laptop")
	if _, err := p.tryAdd(ben, "laptop", k); kindOf(t, err) != "taken" {
		t.Errorf("a passkey of somebody else: %v", err)
	}
	for _, name := range []string{"", " ", strings.Repeat("a", longestName+1), "a\u202eb", "a\nb", "\xff"} {
		if _, err := p.BeginAdd(t.Context(), anna, name); kindOf(t, err) != "wrong_name" {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	options, err := p.BeginAdd(t.Context(), anna, "phone")
	if err != nil {
		t.Fatal(err)
	}
	said := authenticator.New(t, party, origin).Create(options)
	none := func(string) error { return errors.New("the disk is full") }
	if _, err := p.Add(t.Context(), anna, []byte(said), none); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("a passkey that cannot be recorded: %v", err)
	}
	if _, err := p.Add(t.Context(), anna, []byte(said), none); kindOf(t, err) != "used_challenge" {
		t.Errorf("the same registration again: %v", err)
	}
	for i := range most - 1 {
		p.add(anna, fmt.Sprint("key ", i))
	}
	if _, err := p.BeginAdd(t.Context(), anna, "one more"); kindOf(t, err) != "too_many" {
		t.Errorf("one passkey more than a person may have: %v", err)
	}
}

// The signature covers the subject: the challenge ends with it. Options name the passkeys of the person and no others.
func TestOptions(t *testing.T) {
	p := newPlace(t, store.Options{Path: filepath.Join(t.TempDir(), "codemode.db")})
	k := p.add(anna, "laptop")
	p.add(ben, "laptop of ben")
	var use, add struct {
		Challenge              string
		RPID                   string
		Timeout                int
		UserVerification       string
		AllowCredentials       []struct{ ID string }
		User                   struct{ ID, Name string }
		Attestation            string
		AuthenticatorSelection struct{ UserVerification string }
		ExcludeCredentials     []struct{ ID string }
	}
	read := func(options []byte, to any) {
		t.Helper()
		if err := json.Unmarshal(options, to); err != nil {
			t.Fatalf("%s: %v", options, err)
		}
	}
	bytes := func(text string) []byte {
		t.Helper()
		data, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	read(p.begin(anna, "a"), &use)
	digest := subject("a")
	signed := bytes(use.Challenge)
	if len(signed) != 64 || string(signed[32:]) != string(digest[:]) || use.RPID != party ||
		use.UserVerification != "required" || len(use.AllowCredentials) != 1 || use.Timeout != 120_000 {
		t.Errorf("the options of a use are %+v", use)
	}
	options, err := p.BeginAdd(t.Context(), anna, "phone")
	if err != nil {
		t.Fatal(err)
	}
	read(options, &add)
	if len(bytes(add.Challenge)) != 32 || add.User.Name != anna.Person || add.Attestation != "none" || len(add.ExcludeCredentials) != 1 ||
		add.AuthenticatorSelection.UserVerification != "required" || len(k.User) != 32 {
		t.Errorf("the options of a registration are %+v", add)
	}
	if strings.Contains(string(k.User), "anna") {
		t.Error("the user handle names the person")
	}
}

// A session fills its own memory of challenges and nobody else's.
func TestChallengesAreBounded(t *testing.T) {
	p := newPlace(t, store.Options{Path: filepath.Join(t.TempDir(), "codemode.db")})
	k, other := p.add(anna, "laptop"), p.add(ben, "laptop")
	mine := p.begin(anna, "a")
	for range 3 * maxOpen {
		p.clock = p.clock.Add(time.Millisecond)
		p.begin(ben, "b")
	}
	if got := p.use(anna, "a", k.Get(mine)); got != "" {
		t.Errorf("somebody else pushed a challenge out: %q", got)
	}
	if len(p.open) > 2*maxOpen+1 {
		t.Errorf("%d challenges are in memory", len(p.open))
	}
	if got := p.use(ben, "b", other.Get(p.begin(ben, "b"))); got != "" {
		t.Errorf("the latest challenge: %q", got)
	}
	p.clock = p.clock.Add(useLife + addLife + forgotten)
	p.begin(ben, "b")
	if len(p.open) != 1 {
		t.Errorf("%d challenges are in memory after their end", len(p.open))
	}
}

func TestWhereTheyWork(t *testing.T) {
	for _, x := range []struct{ origin, other, why string }{
		{"https://codemode.example.com:8443", "https://codemode.example.com", ""},
		{"http://localhost:7391", "http://127.0.0.1:7391", ""},
		{"http://127.0.0.1:7391", "", "an IP address is no name"},
		{"http://codemode.example.com", "", "no TLS"},
	} {
		p, err := New([]string{x.origin}, nil)
		if (err == nil) != (x.why == "") || err != nil && !strings.Contains(err.Error(), x.why) {
			t.Errorf("%s: %v, want %q", x.origin, err, x.why)
		}
		if err == nil && (!p.At(x.origin) || p.At(x.other) || p.Origin() != x.origin) {
			t.Errorf("%s: at itself %v, at %s %v", x.origin, p.At(x.origin), x.other, p.At(x.other))
		}
	}
}

// Package passkeys has people prove with a passkey (WebAuthn) that they are present, and that they mean one answer.
//
//	keys, err := passkeys.New(origins, db)
//	options, err := keys.BeginAdd(ctx, holder, "laptop")      // for navigator.credentials.create
//	added, err := keys.Add(ctx, holder, attestation)          // what it gave
//	options, err := keys.BeginUse(ctx, holder, subject)       // for navigator.credentials.get
//	used, err := keys.Use(ctx, holder, subject, assertion)    // what it gave
//
// The subject of a use is the digest of what the person confirms. A challenge is 32 random bytes and this digest, so
// the signature of a passkey covers the subject. A challenge is for one session, for one subject, for one attempt, and
// for two minutes. The authenticator must have verified its user, by a PIN or a fingerprint for example.
//
// The store keeps the passkeys, so processes that share it share them. Challenges are in memory, as sessions are.
// Package console decides what needs a passkey, and records each use and each [Refusal].
package passkeys

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/codemode-project/codemode/config/passkeys"
	"github.com/codemode-project/codemode/store"
)

const (
	// most is how many passkeys a person may have.
	most = 20
	// longestName bounds the name of a passkey, in characters.
	longestName = 60
)

// Passkeys are those of all people of a page. Many goroutines may use it.
type Passkeys struct {
	web *webauthn.WebAuthn
	db  func(context.Context) (*store.DB, error)
	now func() time.Time

	mu   sync.Mutex
	open map[string]*challenge // by the challenge in base64url
}

// A Holder is a person in one session of the page.
type Holder struct {
	Person  string
	Session [sha256.Size]byte // differs for each session
}

// A Passkey is one that somebody has added.
type Passkey struct {
	ID       string    `json:"id"`     // of the credential, in base64url
	Name     string    `json:"name"`   // that the person gave it; "" if this process cannot read it: it is of no use
	Synced   bool      `json:"synced"` // the authenticator has a copy elsewhere
	Added    time.Time `json:"added"`
	LastUsed time.Time `json:"lastUsed,omitzero"` // zero is never
}

// body is what the store keeps of a passkey and never changes.
type body struct {
	Name       string                            `json:"name"`
	User       []byte                            `json:"user"` // the user handle, which says nothing about the person
	Key        []byte                            `json:"key"`  // the public key, in COSE
	Eligible   bool                              `json:"eligible"`
	Transports []protocol.AuthenticatorTransport `json:"transports,omitempty"`
}

// ErrNone says that a person has no passkey.
var ErrNone = errors.New("you have no passkey")

// New makes the passkeys of a page with these addresses. They belong to the host name of the first one, and are used at
// all addresses that have this name. The error says why browsers use no passkeys there.
func New(origins []string, db func(context.Context) (*store.DB, error)) (*Passkeys, error) {
	id, err := passkeys.RelyingParty(origins[0])
	if err != nil {
		return nil, err
	}
	var same []string
	for _, origin := range origins {
		if other, err := passkeys.RelyingParty(origin); err == nil && other == id {
			same = append(same, origin)
		}
	}
	web, err := webauthn.New(&webauthn.Config{
		RPID: id, RPDisplayName: "codemode", RPOrigins: same, AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{
			Login:        webauthn.TimeoutConfig{Timeout: useLife},
			Registration: webauthn.TimeoutConfig{Timeout: addLife},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys at %s: %w", origins[0], err)
	}
	return &Passkeys{web: web, db: db, now: time.Now, open: map[string]*challenge{}}, nil
}

// At reports whether browsers use the passkeys at an address of the page.
func (p *Passkeys) At(origin string) bool {
	return protocol.IsOriginInHaystack(origin, p.web.Config.RPOrigins)
}

// Origin is the address of the page at which browsers use the passkeys.
func (p *Passkeys) Origin() string { return p.web.Config.RPOrigins[0] }

// List returns the passkeys of a person, oldest first.
func (p *Passkeys) List(ctx context.Context, person string) ([]Passkey, error) {
	stored, err := p.stored(ctx, person)
	if err != nil {
		return nil, err
	}
	var all []Passkey
	for _, one := range stored {
		all = append(all, one.shown())
	}
	return all, nil
}

// Remove removes a passkey of a person, and returns its name. The error is [store.ErrTaken] if they have none with this
// ID.
func (p *Passkeys) Remove(ctx context.Context, person, id string) (name string, err error) {
	stored, err := p.stored(ctx, person)
	if err != nil {
		return "", err
	}
	for _, one := range stored {
		if one.ID == id {
			name = one.Name
		}
	}
	db, err := p.db(ctx)
	if err != nil {
		return "", err
	}
	return name, db.RemovePasskey(ctx, person, id)
}

// A stored passkey is a row of the store with its body.
type stored struct {
	*store.Passkey
	body
}

func (p *Passkeys) stored(ctx context.Context, person string) ([]stored, error) {
	db, err := p.db(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.Passkeys(ctx, person)
	var all []stored
	for _, row := range rows {
		one := stored{Passkey: row}
		if json.Unmarshal(row.Body, &one.body) != nil {
			one.body = body{}
		}
		all = append(all, one)
	}
	return all, err
}

func (s stored) shown() Passkey {
	return Passkey{ID: s.ID, Name: s.Name, Synced: s.BackedUp, Added: s.Created, LastUsed: s.Used}
}

// credential is a passkey as the library knows it; ok is false if this process cannot read it.
func (s stored) credential() (c webauthn.Credential, ok bool) {
	id, err := base64.RawURLEncoding.DecodeString(s.ID)
	return webauthn.Credential{
		ID: id, PublicKey: s.Key, Transport: s.Transports,
		Flags:         webauthn.CredentialFlags{UserPresent: true, UserVerified: true, BackupEligible: s.Eligible},
		Authenticator: webauthn.Authenticator{SignCount: uint32(s.Counter)},
	}, err == nil && len(s.Key) > 0
}

// A user is a person as the library knows them.
type user struct {
	name   string
	handle []byte
	keys   []webauthn.Credential
}

func (u *user) WebAuthnID() []byte                         { return u.handle }
func (u *user) WebAuthnName() string                       { return u.name }
func (u *user) WebAuthnDisplayName() string                { return u.name }
func (u *user) WebAuthnCredentials() []webauthn.Credential { return u.keys }

// user reads a person with the passkeys that they can use. All have the same random handle, unless two were added at
// the same moment. The handle names no person: the authenticator may show it to anybody.
func (p *Passkeys) user(ctx context.Context, person string) (*user, error) {
	all, err := p.stored(ctx, person)
	if err != nil {
		return nil, err
	}
	u := &user{name: person}
	for _, one := range all {
		if c, ok := one.credential(); ok {
			u.keys, u.handle = append(u.keys, c), one.User
		}
	}
	if len(u.handle) == 0 {
		u.handle = make([]byte, 32)
		_, _ = rand.Read(u.handle) // it never fails
	}
	return u, nil
}

// CheckName says what is wrong with the name of a passkey; "" is nothing.
func CheckName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "give the passkey a name, such as laptop"
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > longestName:
		return fmt.Sprintf("the name of a passkey has %d characters at most", longestName)
	case strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsGraphic(c) }):
		return "the name of a passkey has characters that cannot be shown"
	}
	return ""
}

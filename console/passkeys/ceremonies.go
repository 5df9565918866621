package passkeys

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/codemode-project/codemode/store"
)

const (
	// useLife is how long a person may take to use a passkey, and addLife to add one.
	useLife, addLife = 2 * time.Minute, 5 * time.Minute
	// forgotten is how long after its end a challenge is remembered, to say what is wrong with it.
	forgotten = 10 * time.Minute
	// maxOpen is how many challenges of a session are remembered; one more replaces the oldest.
	maxOpen = 16
)

// A challenge is what an authenticator has to sign, and what for.
type challenge struct {
	holder  Holder
	subject [sha256.Size]byte // of a use
	adds    bool
	name    string // of the passkey to add
	data    webauthn.SessionData
	began   time.Time
	ends    time.Time
	used    bool
}

// A Refusal is the reason why a passkey does not count. Its text is for the person.
type Refusal struct {
	Kind string // for the record
	Why  string
	Name string // of the passkey, if the person has it
	Err  error  // for the log; may be nil
}

func (r *Refusal) Error() string { return r.Why }
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(kind, why string, err error) *Refusal { return &Refusal{Kind: kind, Why: why, Err: err} }

// BeginUse returns the options of navigator.credentials.get, in JSON, for a person who confirms a subject. The error is
// [ErrNone] if they have no passkey.
func (p *Passkeys) BeginUse(ctx context.Context, h Holder, subject [sha256.Size]byte) (json.RawMessage, error) {
	u, err := p.user(ctx, h.Person)
	switch {
	case err != nil:
		return nil, err
	case len(u.keys) == 0:
		return nil, ErrNone
	}
	random := make([]byte, 32, 32+len(subject))
	_, _ = rand.Read(random) // it never fails
	options, data, err := p.web.BeginLogin(u, webauthn.WithChallenge(append(random, subject[:]...)))
	if err != nil {
		return nil, err
	}
	p.remember(&challenge{holder: h, subject: subject, data: *data}, useLife)
	return json.Marshal(options.Response)
}

// BeginAdd returns the options of navigator.credentials.create, in JSON, for a passkey with a name. Call it after the
// person has proven who they are in another way.
func (p *Passkeys) BeginAdd(ctx context.Context, h Holder, name string) (json.RawMessage, error) {
	if problem := CheckName(name); problem != "" {
		return nil, refuse("wrong_name", problem, nil)
	}
	u, err := p.user(ctx, h.Person)
	switch {
	case err != nil:
		return nil, err
	case len(u.keys) >= most:
		return nil, refuse("too_many", fmt.Sprintf("you have %d passkeys: remove one first", most), nil)
	}
	var there []protocol.CredentialDescriptor
	for _, c := range u.keys {
		there = append(there, c.Descriptor())
	}
	options, data, err := p.web.BeginRegistration(u, webauthn.WithExclusions(there))
	if err != nil {
		return nil, err
	}
	p.remember(&challenge{holder: h, adds: true, name: name, data: *data}, addLife)
	return json.Marshal(options.Response)
}

// remember keeps a challenge.
func (p *Passkeys) remember(c *challenge, life time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.began = p.now()
	c.ends = c.began.Add(life)
	var oldest string
	n := 0
	for id, x := range p.open {
		switch {
		case c.began.Sub(x.ends) >= forgotten:
			delete(p.open, id)
		case x.holder == c.holder:
			if n++; oldest == "" || x.began.Before(p.open[oldest].began) {
				oldest = id
			}
		}
	}
	if n >= maxOpen {
		delete(p.open, oldest)
	}
	p.open[c.data.Challenge] = c
}

// take uses up a challenge, whatever comes of it. A session cannot use up the challenge of another one.
func (p *Passkeys) take(h Holder, id string, adds bool) (*challenge, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.open[id]
	switch {
	case c == nil || c.adds != adds:
		return nil, refuse("unknown_challenge", "this page has not asked for that passkey now: try again", nil)
	case c.holder != h:
		return nil, refuse("other_session", "another session has asked for that passkey: try again", nil)
	case c.used:
		return nil, refuse("used_challenge", "that proof was used already: try again", nil)
	}
	c.used = true
	if !p.now().Before(c.ends) {
		return nil, refuse("late", "that took too long: try again", nil)
	}
	return c, nil
}

// Use verifies that a person has confirmed a subject with a passkey. response is the PublicKeyCredential of
// navigator.credentials.get in JSON. The error is a [*Refusal], or says that the store cannot be used.
func (p *Passkeys) Use(
	ctx context.Context, h Holder, subject [sha256.Size]byte, response []byte,
) (*Passkey, error) {
	said, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return nil, refuse("malformed", "the browser's answer cannot be read: try again", err)
	}
	c, err := p.take(h, said.Response.CollectedClientData.Challenge, false)
	if err != nil {
		return nil, err
	}
	if c.subject != subject {
		return nil, refuse("other_answer", "that proof is for another answer: try again", nil)
	}
	all, err := p.stored(ctx, h.Person)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		key, ok := one.credential()
		if !ok || !bytes.Equal(key.ID, said.RawID) {
			continue
		}
		if err := p.verify(ctx, c, one, key, said); err != nil {
			if no, ok := errors.AsType[*Refusal](err); ok {
				no.Name = one.Name
			}
			return nil, err
		}
		shown := one.shown()
		return &shown, nil
	}
	return nil, refuse("unknown_passkey", "you have no such passkey here: it was removed, or is somebody else's", nil)
}

// verify does what WebAuthn Level 3, section 7.2, demands, and notes the use.
func (p *Passkeys) verify(ctx context.Context, c *challenge, one stored, key webauthn.Credential,
	said *protocol.ParsedCredentialAssertionData,
) error {
	u := &user{name: one.Principal, handle: one.User, keys: []webauthn.Credential{key}}
	data := c.data
	data.UserID, data.AllowedCredentialIDs = one.User, [][]byte{key.ID}
	verified, err := p.web.ValidateLogin(u, data, said)
	if err != nil {
		return p.whyNot(key, said, err)
	}
	const regression = "the passkey counts fewer signatures than before, as a copy of it would: it was not accepted. " +
		"If you did not copy it, remove it and add a new one"
	if verified.Authenticator.CloneWarning {
		return refuse("counter_regression", regression, nil)
	}
	db, err := p.db(ctx)
	if err != nil {
		return err
	}
	flags := said.Response.AuthenticatorData.Flags
	err = db.UsePasskey(ctx, one.Principal, one.ID, int64(said.Response.AuthenticatorData.Counter), flags.HasBackupState())
	if errors.Is(err, store.ErrTaken) { // another process was faster
		return refuse("counter_regression", regression, nil)
	}
	return err
}

// whyNot explains why an assertion does not count. Whatever it finds, the assertion was refused.
func (p *Passkeys) whyNot(key webauthn.Credential, said *protocol.ParsedCredentialAssertionData, err error) error {
	client, data := said.Response.CollectedClientData, said.Response.AuthenticatorData
	party := sha256.Sum256([]byte(p.web.Config.RPID))
	switch {
	case client.Type != protocol.AssertCeremony:
		return refuse("wrong_ceremony", "the browser's answer is for something else: try again", err)
	case !p.At(client.Origin) || client.CrossOrigin:
		return refuse("wrong_origin", "the passkey was used on another page", err)
	case !bytes.Equal(data.RPIDHash, party[:]):
		return refuse("wrong_relying_party", "the passkey is of another page", err)
	case !data.Flags.UserPresent():
		return refuse("not_present", "the passkey was used without anybody touching it", err)
	case !data.Flags.UserVerified():
		return refuse("not_verified",
			"the passkey did not check who uses it: a PIN, a fingerprint or the like is needed", err)
	case key.Flags.BackupEligible != data.Flags.HasBackupEligible(),
		!key.Flags.BackupEligible && data.Flags.HasBackupState():
		return refuse("wrong_backup_flags", "the passkey says of its copies what it could not say: it was not accepted", err)
	}
	return refuse("bad_signature", "the signature is not that of your passkey", err)
}

// Add stores the passkey that a person has made. response is the PublicKeyCredential of navigator.credentials.create in
// JSON. The error is a [*Refusal], or says that the store cannot be used. note is called before the passkey is stored;
// its error stores nothing.
func (p *Passkeys) Add(ctx context.Context, h Holder, response []byte, note func(name string) error) (string, error) {
	said, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return "", refuse("malformed", "the browser's answer cannot be read: try again", err)
	}
	c, err := p.take(h, said.Response.CollectedClientData.Challenge, true)
	if err != nil {
		return "", err
	}
	u := &user{name: h.Person, handle: c.data.UserID}
	made, err := p.web.CreateCredential(u, c.data, said)
	if err != nil {
		return "", p.whyNotAdded(said, err)
	}
	content, err := json.Marshal(body{Name: c.name, User: c.data.UserID, Key: made.PublicKey,
		Eligible: made.Flags.BackupEligible, Transports: made.Transport})
	if err != nil {
		return "", err
	}
	db, err := p.db(ctx)
	if err != nil {
		return "", err
	}
	if err := note(c.name); err != nil {
		return "", err
	}
	err = db.AddPasskey(ctx, &store.Passkey{
		ID: base64.RawURLEncoding.EncodeToString(made.ID), Principal: h.Person, Body: content,
		Counter: int64(made.Authenticator.SignCount), BackedUp: made.Flags.BackupState,
	})
	if errors.Is(err, store.ErrTaken) {
		return "", refuse("taken", "this passkey is here already", err)
	}
	return c.name, err
}

func (p *Passkeys) whyNotAdded(said *protocol.ParsedCredentialCreationData, err error) error {
	client, data := said.Response.CollectedClientData, said.Response.AttestationObject.AuthData
	switch {
	case !p.At(client.Origin) || client.CrossOrigin:
		return refuse("wrong_origin", "the passkey was made on another page", err)
	case !data.Flags.UserVerified():
		return refuse("not_verified",
			"the passkey did not check who makes it: a PIN, a fingerprint or the like is needed", err)
	}
	return refuse("bad_registration", "the browser's answer is not a passkey for this page", err)
}

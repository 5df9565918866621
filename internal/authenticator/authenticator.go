// Package authenticator is an authenticator of WebAuthn together with its browser, for tests. It signs what it is told
// to, also what no real one would.
package authenticator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// A Key is a passkey. Tests change its fields to attack.
type Key struct {
	t       testing.TB
	private *ecdsa.PrivateKey

	ID, User           []byte
	RP, Origin, Type   string // Type is that of the ceremony; "" is the right one
	Challenge          string // in the place of the one that was asked for, if it is not ""
	Present, Verified  bool
	Eligible, BackedUp bool
	CrossOrigin        bool
	Counter            uint32 // of the next signature
	Counts             bool   // each signature adds one
}

// New makes a passkey for a page whose host is rp, in a browser at origin. It verifies its user.
func New(t testing.TB, rp, origin string) *Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return &Key{t: t, private: private, ID: id, RP: rp, Origin: origin, Present: true, Verified: true, Counter: 1,
		Counts: true}
}

// Create does what navigator.credentials.create does with options, and returns the credential in JSON.
func (k *Key) Create(options []byte) string {
	k.t.Helper()
	var asked struct {
		Challenge string
		User      struct{ ID string }
	}
	k.read(options, &asked)
	k.User, _ = base64.RawURLEncoding.DecodeString(asked.User.ID)
	point, err := k.private.PublicKey.Bytes() // 4, x, y
	if err != nil {
		k.t.Fatal(err)
	}
	// The key in COSE (RFC 9053): kty EC2, alg ES256, crv P-256, x, y.
	cose := append([]byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20}, point[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 0x20), point[33:]...)
	data := k.data(0x40)
	data = append(data, make([]byte, 16)...) // AAGUID
	data = binary.BigEndian.AppendUint16(data, uint16(len(k.ID)))
	data = append(append(data, k.ID...), cose...)
	// {"fmt": "none", "attStmt": {}, "authData": data} in CBOR
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59"), byte(len(data)>>8), byte(len(data)))
	object = append(object, data...)
	return k.credential(map[string]any{"clientDataJSON": encode(k.client("webauthn.create", asked.Challenge)),
		"attestationObject": encode(object), "transports": []string{"internal"}})
}

// Get does what navigator.credentials.get does with options, and returns the credential in JSON.
func (k *Key) Get(options []byte) string {
	k.t.Helper()
	var asked struct{ Challenge string }
	k.read(options, &asked)
	client, data := k.client("webauthn.get", asked.Challenge), k.data(0)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, digest[:])
	if err != nil {
		k.t.Fatal(err)
	}
	return k.credential(map[string]any{"clientDataJSON": encode(client), "authenticatorData": encode(data),
		"signature": encode(signature), "userHandle": encode(k.User)})
}

func (k *Key) read(options []byte, to any) {
	k.t.Helper()
	if err := json.Unmarshal(options, to); err != nil {
		k.t.Fatalf("%s: %v", options, err)
	}
}

func (k *Key) credential(response map[string]any) string {
	js, err := json.Marshal(map[string]any{"id": encode(k.ID), "rawId": encode(k.ID), "type": "public-key",
		"clientExtensionResults": map[string]any{}, "response": response})
	if err != nil {
		k.t.Fatal(err)
	}
	return string(js)
}

// client is the client data (WebAuthn Level 3, section 5.8.1).
func (k *Key) client(ceremony, challenge string) []byte {
	if k.Type != "" {
		ceremony = k.Type
	}
	if k.Challenge != "" {
		challenge = k.Challenge
	}
	js, err := json.Marshal(map[string]any{"type": ceremony, "challenge": challenge, "origin": k.Origin,
		"crossOrigin": k.CrossOrigin})
	if err != nil {
		k.t.Fatal(err)
	}
	return js
}

// data is the authenticator data (WebAuthn Level 3, section 6.1) without an attested credential.
func (k *Key) data(flags byte) []byte {
	for flag, on := range map[byte]bool{1: k.Present, 4: k.Verified, 8: k.Eligible, 16: k.BackedUp} {
		if on {
			flags |= flag
		}
	}
	party := sha256.Sum256([]byte(k.RP))
	data := binary.BigEndian.AppendUint32(append(party[:], flags), k.Counter)
	if k.Counts {
		k.Counter++
	}
	return data
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

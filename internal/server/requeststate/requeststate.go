// Package requeststate seals what clients on MCP 2026-07-28 carry from one request of a call to the next: they send the
// requestState of a question back with its answer. A client can neither read, make nor change one.
package requeststate

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Claims are the content of a requestState.
type Claims struct {
	Exchange  string   `json:"x"`
	Run       string   `json:"r,omitempty"` // the run that asks; "" for none
	Questions []string `json:"q,omitempty"`
	Key       string   `json:"k,omitempty"` // of the form in inputRequests; "" is the usual one
	Round     int      `json:"n"`
	Expires   int64    `json:"e"` // Unix seconds

	// All requests of a call have these in common.
	Principal string `json:"p,omitempty"`
	Tool      string `json:"t"`
	Arguments string `json:"a"`
	Bound     string `json:"b,omitempty"` // the profile that the path names; "" names none
	Session   string `json:"s,omitempty"` // fingerprint of the session made for a role; "" is none

	// Profile is the profile of the call, "" for the base tool; nil if the call runs nothing. The caller of each
	// request must have permission to use it.
	Profile *string `json:"f,omitempty"`
}

// KeyBytes is the length of the sealing key.
const KeyBytes = 32

// prefix is the version of the form of a state; the seal covers it.
const prefix = "v1."

// longest is longer than any sealed state.
const longest = 64 << 10

// errNotOurs is the error of a state that this server did not seal.
var errNotOurs = errors.New("it was not made by this server, or was changed on the way")

// A Sealer seals requestStates. Processes with the same key read each other's.
type Sealer struct{ aead cipher.AEAD }

// NewSealer makes a Sealer with a key of [KeyBytes], or a random one if it is nil. It panics with any other key.
func NewSealer(key []byte) *Sealer {
	if key == nil {
		key = make([]byte, KeyBytes)
		_, _ = rand.Read(key) // cannot fail
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != KeyBytes {
		panic(fmt.Sprintf("requeststate: the key has to have %d bytes", KeyBytes))
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES always fits
	}
	return &Sealer{aead}
}

// Seal returns the state with the claims.
func (s *Sealer) Seal(c *Claims) string {
	js, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and numbers
	}
	return prefix + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, js, []byte(prefix)))
}

// Open returns the claims of a state that was sealed with the same key. This pairs with Seal.
func (s *Sealer) Open(state string) (*Claims, error) {
	sealed, ok := strings.CutPrefix(state, prefix)
	if !ok || len(state) > longest || strings.ContainsAny(sealed, "\r\n") { // the decoder would ignore line ends
		return nil, errNotOurs
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return nil, errNotOurs
	}
	js, err := s.aead.Open(nil, nil, raw, []byte(prefix))
	if err != nil {
		return nil, errNotOurs
	}
	var c Claims
	if err := json.Unmarshal(js, &c); err != nil {
		return nil, errNotOurs
	}
	return &c, nil
}

// Check says why a state does not belong to a request, which has the claims of.
func (c *Claims) Check(of *Claims, now time.Time) error {
	switch {
	case c.Principal != of.Principal:
		return errors.New("it belongs to somebody else")
	case c.Tool != of.Tool:
		return errors.New("it belongs to a call of another tool")
	case c.Arguments != of.Arguments:
		return errors.New("it belongs to a call with other arguments")
	case c.Bound != of.Bound:
		return errors.New("it belongs to a call at another path")
	case c.Session != of.Session:
		return errors.New("it belongs to a call in another session that was made for a role")
	case now.Unix() >= c.Expires:
		return errors.New("its time is over; call the tool again")
	}
	return nil
}

// Digest identifies arguments. Clients may write the same arguments differently in the next request, so it
// ignores spaces and the order of members.
func Digest(raw json.RawMessage) string {
	if canonical, err := strictjson.Canonical(raw); err == nil {
		raw = canonical
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

package server

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
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// claims are the content of a requestState. A client carries the state from one request of a call to the next, so the
// server seals it: nobody else can read, make or change one.
type claims struct {
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

// stateKeyBytes is the length of the sealing key.
const stateKeyBytes = 32

// statePrefix is the version of the form of a state; the seal covers it.
const statePrefix = "v1."

// maxState is longer than any sealed state.
const maxState = 64 << 10

// errState is the error of a state that this server did not seal.
var errState = errors.New("it was not made by this server, or was changed on the way")

// A sealer seals requestStates. Processes with the same key read each other's.
type sealer struct{ aead cipher.AEAD }

// newSealer makes a sealer; without a key it makes a random one.
func newSealer(key []byte) *sealer {
	if key == nil {
		key = make([]byte, stateKeyBytes)
		_, _ = rand.Read(key) // cannot fail
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != stateKeyBytes {
		panic(fmt.Sprintf("server: Options.StateKey has to have %d bytes", stateKeyBytes))
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES always fits
	}
	return &sealer{aead}
}

func (s *sealer) seal(c *claims) string {
	js, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and numbers
	}
	return statePrefix + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, js, []byte(statePrefix)))
}

// open returns the claims of a state that was sealed with the same key. This pairs with seal.
func (s *sealer) open(state string) (*claims, error) {
	sealed, ok := strings.CutPrefix(state, statePrefix)
	if !ok || len(state) > maxState || strings.ContainsAny(sealed, "\r\n") { // the decoder would ignore line ends
		return nil, errState
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return nil, errState
	}
	js, err := s.aead.Open(nil, nil, raw, []byte(statePrefix))
	if err != nil {
		return nil, errState
	}
	var c claims
	if err := json.Unmarshal(js, &c); err != nil {
		return nil, errState
	}
	return &c, nil
}

// check says why a state does not belong to a request.
func (c *claims) check(of *claims, now time.Time) error {
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

// argumentsDigest identifies arguments. Clients may write the same arguments differently in the next request, so it
// ignores spaces and the order of members.
func argumentsDigest(raw json.RawMessage) string {
	if canonical, err := strictjson.Canonical(raw); err == nil {
		raw = canonical
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// sameQuestions reports whether two lists have the same questions, in any order.
func sameQuestions(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

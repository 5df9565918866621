package audit

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/note"

	"github.com/codemode-project/codemode/internal/store"
)

// A Key signs checkpoints, makes digests and seals values. Without the key nobody can verify a guessed value against a
// digest, or read a sealed one.
type Key struct {
	secret []byte
	signer func() (note.Signer, error) // creating it takes a millisecond, too long for startup
	public func() string
	digest []byte
	tail   []byte // authenticates ends of chains
	seal   cipher.AEAD
}

// Derive derives a key of 32 bytes for another purpose, such as the authentication of parked runs. Replicas that share
// the key of the record share the derived keys too.
func (k *Key) Derive(purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, k.secret, nil, "codemode: "+purpose, 32)
	if err != nil {
		panic(err) // 32 bytes can always be had
	}
	return derived
}

const keyPrefix = "codemode-record-key-1:"

// NewKey makes a key from 32 secret bytes.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != 32 {
		return nil, fmt.Errorf("the key of the record has %d bytes, not 32", len(secret))
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "codemode record: sign checkpoints", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	digest, err := hkdf.Key(sha256.New, secret, nil, "codemode record: digest values", 32)
	if err != nil {
		return nil, err
	}
	tail, err := hkdf.Key(sha256.New, secret, nil, "codemode record: authenticate ends", 32)
	if err != nil {
		return nil, err
	}
	sealing, err := hkdf.Key(sha256.New, secret, nil, "codemode record: seal values", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	public := func() string {
		text, err := note.NewEd25519VerifierKey(keyName, ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
		if err != nil {
			panic(err) // the name has no blank and no plus
		}
		return text
	}
	return &Key{secret: slices.Clone(secret), public: sync.OnceValue(public),
		signer: sync.OnceValues(func() (note.Signer, error) { return newSigner(public(), seed) }), digest: digest,
		tail: tail, seal: seal}, nil
}

// LoadKey reads the key in a file, and creates the file if it does not exist. Anyone who can read it can forge
// checkpoints and read sealed values.
func LoadKey(path string) (*Key, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := writeKey(path); err != nil {
			return nil, fmt.Errorf("making the key of the record: %w", err)
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of the record: %w", err)
	}
	encoded, ok := strings.CutPrefix(strings.TrimSpace(string(text)), keyPrefix)
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return nil, fmt.Errorf("%s holds no key of a record; a key begins with %s", path, strings.TrimSuffix(keyPrefix, ":"))
	}
	return NewKey(secret)
}

// writeKey writes a complete key file or none; another process may do the same at the same time.
func writeKey(path string) error {
	secret := make([]byte, 32)
	rand.Read(secret)                                    // never fails
	f, err := os.CreateTemp(filepath.Dir(path), ".key-") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(keyPrefix + base64.StdEncoding.EncodeToString(secret) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

const digestPrefix = "hmac:"

// Digest is the keyed digest of a value.
func (k *Key) Digest(value []byte) string {
	m := hmac.New(sha256.New, k.digest)
	m.Write(value)
	return digestPrefix + hex.EncodeToString(m.Sum(nil))
}

// authenticate returns an HMAC of the end of a chain. It takes a fiftieth of the time of a signature, so each append
// has one. Others, who do not have the key, verify checkpoints.
func (k *Key) authenticate(database string, h store.Head) []byte {
	m := hmac.New(sha256.New, k.tail)
	fmt.Fprintf(m, "%s/%d/%d/%x", database, h.Chain, h.Seq, h.Hash)
	return m.Sum(nil)
}

// wrote reports whether a holder of the key wrote the end of a chain.
func (k *Key) wrote(database string, h store.Head, tail []byte) bool {
	return hmac.Equal(tail, k.authenticate(database, h))
}

// newSigner makes a signer of notes. It writes the key as [note.NewSigner] reads it: the name, the hash of the public
// key from its text, the algorithm 1 (Ed25519) and the seed.
func newSigner(public string, seed []byte) (note.Signer, error) {
	hash := strings.Split(public, "+")[1]
	return note.NewSigner("PRIVATE+KEY+" + keyName + "+" + hash + "+" +
		base64.StdEncoding.EncodeToString(append([]byte{1}, seed...)))
}

// Public returns the half of the key that verifies checkpoints, as the verifier key of a signed note
// (c2sp.org/signed-note): its name, its hash, the algorithm and the key, such as codemode-record+12ab34cd+AbC...
func (k *Key) Public() string { return k.public() }

// ParsePublic parses the result of [Key.Public].
func ParsePublic(s string) (note.Verifier, error) {
	v, err := note.NewVerifier(s)
	if err != nil {
		return nil, fmt.Errorf("%q is no public key of a record: codemode audit key prints it, %s+, eight digits, + and 44 characters", s, keyName)
	}
	return v, nil
}

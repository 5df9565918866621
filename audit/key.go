package audit

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A Key signs checkpoints and makes digests that nobody without it can guess at.
type Key struct {
	secret []byte
	sign   func() ed25519.PrivateKey // making it takes a millisecond, which a start has no time for
	digest []byte
	hashes sync.Pool // of hash.Hash, keyed with digest
}

// Derive makes a key of 32 bytes for another purpose, such as the authentication of parked runs. Replicas that
// share the key of the record share those too.
func (k *Key) Derive(purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, k.secret, nil, "codemode: "+purpose, 32)
	if err != nil {
		panic(err) // 32 bytes can always be had
	}
	return derived
}

const keyPrefix = "codemode-record-key-1:"

// NewKey makes a key of 32 secret bytes.
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
	return &Key{secret: slices.Clone(secret), sign: sync.OnceValue(func() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(seed) }), digest: digest}, nil
}

// LoadKey reads the key in a file, which is made if it is not there. Whoever can read it can forge checkpoints.
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

// writeKey makes a key file, complete or not at all; another process may do the same at the same time.
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
	m, ok := k.hashes.Get().(hash.Hash)
	if !ok {
		m = hmac.New(sha256.New, k.digest)
	}
	defer k.hashes.Put(m)
	m.Reset()
	m.Write(value)
	var sum [sha256.Size]byte
	var text [len(digestPrefix) + 2*len(sum)]byte
	return string(hex.AppendEncode(append(text[:0], digestPrefix...), m.Sum(sum[:0])))
}

// Public is the half of the key that verifies checkpoints.
func (k *Key) Public() string { return publicText(k.sign().Public().(ed25519.PublicKey)) }

const publicPrefix = "ed25519:"

func publicText(k ed25519.PublicKey) string {
	return publicPrefix + base64.StdEncoding.EncodeToString(k)
}

// ParsePublic reads what [Key.Public] wrote.
func ParsePublic(s string) (ed25519.PublicKey, error) {
	encoded, ok := strings.CutPrefix(s, publicPrefix)
	k, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(k) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is no public key: one begins with %s and goes on with 44 characters", s, publicPrefix)
	}
	return k, nil
}

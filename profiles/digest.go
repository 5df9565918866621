package profiles

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest is the digest of a file's bytes, or of a profile's text, for messages and records: sha256:...
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

package profiles

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest is how the bytes of a file, or of what a profile says, stand in messages and records: sha256:...
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

package store

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// A seal encrypts arguments and results in rows. It binds each text to its table and row, so that nobody can move it.
type seal struct{ aead cipher.AEAD } // nil: nothing is encrypted

// sealPrefix begins encrypted texts; no JSON begins like this.
const sealPrefix = "sealed1:"

func newSeal(key []byte) (seal, error) {
	if len(key) == 0 {
		return seal{}, nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return seal{}, fmt.Errorf("store: SealKey: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return seal{}, fmt.Errorf("store: SealKey: %w", err)
	}
	return seal{aead}, nil
}

func place(table string, row, column string) []byte {
	return fmt.Appendf(nil, "%s/%d/%s/%s", table, len(row), row, column)
}

// close encrypts bytes.
func (s seal) close(data []byte, table string, row, column string) []byte {
	if s.aead == nil {
		return data
	}
	return s.aead.Seal([]byte(sealPrefix), nil, data, place(table, row, column))
}

var errSealed = errors.New("this process has another key than the one that wrote a row of the store, or somebody changed the row")

func (s seal) open(data []byte, table string, row, column string) ([]byte, error) {
	if s.aead == nil {
		if strings.HasPrefix(string(data[:min(len(data), len(sealPrefix))]), sealPrefix) {
			return nil, fmt.Errorf("%s %s: %w", table, row, errSealed)
		}
		return data, nil
	}
	rest, ok := bytes.CutPrefix(data, []byte(sealPrefix)) // it may be large, so do not copy it
	if !ok {
		return nil, fmt.Errorf("%s %s: %w", table, row, errSealed)
	}
	plain, err := s.aead.Open(nil, nil, rest, place(table, row, column))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", table, row, errSealed)
	}
	return plain, nil
}

// closeText is close for a column of text; an empty text stays empty.
func (s seal) closeText(data []byte, table string, row, column string) string {
	if s.aead == nil || len(data) == 0 {
		return string(data)
	}
	return sealPrefix + base64.RawStdEncoding.EncodeToString(s.close(data, table, row, column)[len(sealPrefix):])
}

func (s seal) openText(text string, table string, row, column string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	rest, sealed := strings.CutPrefix(text, sealPrefix)
	if !sealed || s.aead == nil {
		return s.open([]byte(text), table, row, column)
	}
	data, err := base64.RawStdEncoding.DecodeString(rest)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", table, row, errSealed)
	}
	return s.open(append([]byte(sealPrefix), data...), table, row, column)
}

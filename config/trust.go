package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/profiles"
)

// Trust records that a user has read a project's file and wants it to apply. It covers only that content: nobody has
// read a changed file.
type Trust struct {
	File   string    `json:"file"`   // absolute
	Digest string    `json:"digest"` // of its bytes: sha256:...
	Time   time.Time `json:"time"`
}

// A trustFile is the storage format of trust.
type trustFile struct {
	Version int              `json:"version"`
	Files   map[string]Trust `json:"files"` // by path
}

// TrustFile stores that the user trusts the file's current content, and returns the stored trust. With a digest, the
// content must have that digest: it must be the content that the user read.
func TrustFile(store, file, wantDigest string, now time.Time) (Trust, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Trust{}, err
	}
	data, err := ReadFile(file)
	if err != nil {
		return Trust{}, err
	}
	t := Trust{File: file, Digest: profiles.Digest(data), Time: now.UTC().Truncate(time.Second)}
	if wantDigest != "" && wantDigest != t.Digest {
		return Trust{}, fmt.Errorf("%s is not the file you read: its digest is %s, not %s", file, t.Digest, wantDigest)
	}
	return t, changeTrust(store, func(files map[string]Trust) { files[file] = t })
}

// Distrust revokes the trust in a file, and reports whether there was any.
func Distrust(store, file string) (was bool, err error) {
	if file, err = filepath.Abs(file); err != nil {
		return false, err
	}
	err = changeTrust(store, func(files map[string]Trust) {
		_, was = files[file]
		delete(files, file)
	})
	return was, err
}

// TrustedFiles lists the store's content, by path.
func TrustedFiles(store string) ([]Trust, error) {
	t, err := readTrust(store)
	if err != nil {
		return nil, err
	}
	var all []Trust
	for _, file := range slices.Sorted(maps.Keys(t.Files)) {
		all = append(all, t.Files[file])
	}
	return all, nil
}

func isTrusted(store, file string, data []byte) (bool, error) {
	if store == "" {
		return false, nil
	}
	t, err := readTrust(store)
	if err != nil {
		return false, err
	}
	if file, err = filepath.Abs(file); err != nil {
		return false, err
	}
	known, ok := t.Files[file]
	return ok && known.Digest == profiles.Digest(data), nil
}

// readTrust reads the store. A missing store trusts nothing. readTrust refuses a store that others may have written.
func readTrust(store string) (trustFile, error) {
	t := trustFile{Version: 1, Files: map[string]Trust{}}
	info, err := os.Stat(store)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("reading which project files are trusted: %w", err)
	}
	if err := ownedAlone(info); err != nil {
		return t, fmt.Errorf("the list of trusted project files %s is not believed: %w; remove it and trust the files again",
			store, err)
	}
	data, err := ReadFile(store)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(data, &t); err != nil || t.Version != 1 || t.Files == nil {
		return t, fmt.Errorf("the list of trusted project files %s cannot be read: remove it and trust the files again",
			store)
	}
	return t, nil
}

func changeTrust(store string, change func(map[string]Trust)) error {
	if err := os.MkdirAll(filepath.Dir(store), 0o700); err != nil {
		return fmt.Errorf("keeping which project files are trusted: %w", err)
	}
	t, err := readTrust(store)
	if err != nil {
		return err
	}
	change(t.Files)
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	if err := replace.File(store, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("keeping which project files are trusted: %w", err)
	}
	return nil
}

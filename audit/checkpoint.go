package audit

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/codemode-project/codemode/store"
)

// A Checkpoint says where chains ended at a time, and is signed. Whoever keeps it where the
// record's keeper cannot change it can show later that what was there then is there still.
type Checkpoint struct {
	V         int       `json:"v"`
	Time      time.Time `json:"time"`
	Database  string    `json:"database"`
	Heads     []Head    `json:"heads"`
	Key       string    `json:"key"` // public
	Signature string    `json:"signature,omitempty"`

	// Of exported files only: how many entries there are, a digest over their hashes, and what selected them.
	Rows   int    `json:"rows,omitempty"`
	Digest string `json:"digest,omitempty"`
	Filter string `json:"filter,omitempty"`
	Places string `json:"places,omitempty"` // of the entries, if some were left out
}

// A Head is the end of a chain in a checkpoint.
type Head struct {
	Chain int64  `json:"chain"`
	Seq   int64  `json:"seq"`
	Hash  string `json:"hash"`
}

func headOf(h store.Head) Head { return Head{h.Chain, h.Seq, hashText(h.Hash)} }

// signed is what the signature is made of.
func (c Checkpoint) signed() ([]byte, error) {
	c.Signature = ""
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return Canonical(raw)
}

// Sign makes a checkpoint complete.
func (k *Key) Sign(c Checkpoint) (Checkpoint, error) {
	c.V, c.Key, c.Time = version, k.Public(), micro(c.Time)
	text, err := c.signed()
	if err != nil {
		return c, err
	}
	c.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(k.sign(), text))
	return c, nil
}

// line is the checkpoint as one line of canonical JSON.
func (c Checkpoint) line() ([]byte, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return Canonical(raw)
}

// Check reports whether the checkpoint was signed with the private half of key.
func (c Checkpoint) Check(key ed25519.PublicKey) error {
	if c.V != version {
		return fmt.Errorf("the checkpoint is of version %d", c.V)
	}
	text, err := c.signed()
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(c.Signature)
	if err != nil || !ed25519.Verify(key, text, signature) {
		return errors.New("the signature of the checkpoint is wrong")
	}
	return nil
}

// ReadCheckpoints reads lines of checkpoints. Lines that hold none, such as those of a log around them, are passed
// over; bad are the numbers of lines that look like one and are not, as a power cut may leave.
func ReadCheckpoints(r io.Reader) (all []Checkpoint, bad []int, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if at := bytes.IndexByte(line, '{'); at >= 0 && bytes.Contains(line, []byte(`"heads"`)) {
			var c Checkpoint
			d := json.NewDecoder(bytes.NewReader(line[at:]))
			d.DisallowUnknownFields()
			if d.Decode(&c) == nil {
				all = append(all, c)
			} else {
				bad = append(bad, n)
			}
		}
		if errors.Is(err, io.EOF) {
			return all, bad, nil
		}
		if err != nil {
			return all, bad, err
		}
	}
}

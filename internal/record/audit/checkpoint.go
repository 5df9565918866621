package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/codemode-project/codemode/internal/store"
)

// A Checkpoint is the signed state of a chain when it had Size entries. A person who keeps it where the owner of the
// record cannot change it can prove later that the record still has those entries.
//
// It is a signed note (c2sp.org/signed-note) with the text of a transparency log's checkpoint
// (c2sp.org/tlog-checkpoint), so that standard tools can verify it and witnesses can cosign it. A chain is a log: its
// origin is codemode-record/DATABASE/CHAIN, and its leaf n is the SHA-256 of the canonical JSON of entry n+1, as 32
// bytes. The key has the name codemode-record for all chains.
type Checkpoint struct {
	Database string
	Chain    int64
	Size     int64     // how many entries
	Root     tlog.Hash // of the Merkle tree over their hashes (RFC 6962)
	Note     string    // as signed
}

// keyName is the prefix of origins and the name of the key in signatures.
const keyName = "codemode-record"

func (c *Checkpoint) origin() string {
	return keyName + "/" + c.Database + "/" + strconv.FormatInt(c.Chain, 10)
}

func (c *Checkpoint) text() string { return fmt.Sprintf("%s\n%d\n%s\n", c.origin(), c.Size, c.Root) }

// Sign completes a checkpoint with its signature.
func (k *Key) Sign(c Checkpoint) (Checkpoint, error) {
	var err error
	c.Note, err = k.signNote(c.text())
	return c, err
}

func (k *Key) signNote(text string) (string, error) {
	signer, err := k.signer()
	if err != nil {
		return "", err
	}
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	return string(signed), err
}

// parseCheckpoint reads a note and ignores its signatures.
func parseCheckpoint(signed string) (Checkpoint, error) {
	c := Checkpoint{Note: signed}
	text, _, ok := strings.Cut(signed, "\n\n")
	lines := strings.Split(text, "\n")
	if !ok || len(lines) != 3 {
		return c, errors.New("it is no checkpoint: it does not have three lines and a signature")
	}
	database, ok := strings.CutPrefix(lines[0], keyName+"/")
	database, chain, both := strings.Cut(database, "/")
	n, err := strconv.ParseInt(chain, 10, 64)
	size, err2 := strconv.ParseInt(lines[1], 10, 64)
	root, err3 := tlog.ParseHash(lines[2])
	if err := errors.Join(err, err2, err3); err != nil || !ok || !both || n < 1 || size < 0 {
		return c, errors.New("it is no checkpoint of a record of codemode")
	}
	c.Database, c.Chain, c.Size, c.Root = database, n, size, root
	if c.text() != text+"\n" {
		return c, errors.New("it does not have the form of a checkpoint")
	}
	return c, nil
}

// Check reports whether one of the keys signed the checkpoint. It ignores signatures of others, such as witnesses.
func (c *Checkpoint) Check(keys ...note.Verifier) error {
	_, err := openNote(c.Note, keys)
	return err
}

func openNote(signed string, keys []note.Verifier) (text string, err error) {
	other := &otherKeyError{here: keys}
	for _, key := range keys { // one at a time: keys of one name are looked up by their hashes
		n, err := note.Open([]byte(signed), note.VerifierList(key))
		if err == nil {
			return n.Text, nil
		}
		if _, unknown := errors.AsType[*note.UnverifiedNoteError](err); !unknown {
			return "", errors.New("its signature is wrong")
		}
	}
	if _, err := note.Open([]byte(signed), note.VerifierList()); !errors.As(err, &other.unverified) {
		return "", errors.New("its signature is wrong")
	}
	return "", other
}

// An otherKeyError says that none of the keys that are here signed a note, so that nothing is known of its signature.
type otherKeyError struct {
	here       []note.Verifier
	unverified *note.UnverifiedNoteError
}

func (e *otherKeyError) Error() string { return "it is signed with another key" }

// keys names the keys: those that signed the note, and those that are here.
func (e *otherKeyError) keys() (signed, here string) {
	for _, s := range e.unverified.Note.UnverifiedSigs {
		signed += fmt.Sprintf(", %s+%08x", s.Name, s.Hash)
	}
	for _, k := range e.here {
		here += fmt.Sprintf(", %s+%08x", k.Name(), k.KeyHash())
	}
	return strings.TrimPrefix(signed, ", "), strings.TrimPrefix(here, ", ")
}

// A checkpointLine is a checkpoint in a file, a log or a webhook.
type checkpointLine struct {
	Checkpoint string `json:"checkpoint"`
}

// line returns the checkpoint as one line of JSON.
func (c *Checkpoint) line() []byte {
	raw, _ := json.Marshal(checkpointLine{c.Note}) // a text always encodes
	return raw
}

// errOldCheckpoints is the error of a file in the form before signed notes.
var errOldCheckpoints = errors.New("it holds checkpoints of an earlier codemode, which this one cannot verify: verify the record with that one, then move the database and this file away together, and a new record begins")

// ReadCheckpoints reads checkpoints: lines as [FilePublisher] writes them, even with text before them, and plain signed
// notes. It skips other lines, such as those of a surrounding log. bad holds the numbers of lines that look like a
// checkpoint and are invalid, for example after a power cut. Checkpoints in the form before signed notes are an error.
func ReadCheckpoints(r io.Reader) (all []Checkpoint, bad []int, err error) {
	lines := bufio.NewReader(r)
	signed, began := "", 0 // a plain note, outside a line of JSON
	take := func(text string, at int) {
		if c, err := parseCheckpoint(text); err == nil {
			all = append(all, c)
		} else {
			bad = append(bad, at)
		}
	}
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if signed != "" && strings.Contains(signed, "\n\n— ") && !strings.HasPrefix(line, "— ") {
			take(signed, began)
			signed = ""
		}
		if quoted := strings.Index(line, `"{\"checkpoint\":`); quoted >= 0 { // as a log writes the line
			if prefix, err := strconv.QuotedPrefix(line[quoted:]); err == nil {
				line, _ = strconv.Unquote(prefix)
			}
		}
		object := strings.Index(line, `{"checkpoint":`)
		switch {
		case object >= 0:
			var c checkpointLine
			if d := json.NewDecoder(strings.NewReader(line[object:])); d.Decode(&c) == nil {
				take(c.Checkpoint, n)
			} else {
				bad = append(bad, n)
			}
		case strings.Contains(line, `"heads":[`) && strings.Contains(line, `"signature":"`):
			return all, bad, errOldCheckpoints
		case signed != "":
			signed += line
			if len(signed) > maxLine {
				return all, bad, fmt.Errorf("line %d: a note is longer than %d bytes", began, maxLine)
			}
		case strings.HasPrefix(line, keyName+"/"):
			signed, began = line, n
		}
		if errors.Is(err, io.EOF) {
			if signed != "" {
				take(signed, began)
			}
			return all, bad, nil
		}
		if err != nil {
			return all, bad, err
		}
	}
}

const (
	// The writer signs the end of the chain when no checkpoint in the database covers the last sealRows entries, or
	// sealAfter since the first of them. A signature takes a third of the time of a recorded call, so not each call can
	// have one.
	sealRows  = 128
	sealAfter = 200 * time.Millisecond
)

// A sealer signs the end of one chain. It belongs to the writer.
type sealer struct {
	key      *Key
	database string
	chain    int64

	tree  tree          // at the end that is on disk
	next  tree          // with the rows of the append in progress
	going *store.Signed // with that append; nil for none
	note  string        // the latest that is on disk
	size  int64         // what note covers
	fresh bool          // this process made note
	since time.Time     // when the first entry came that note does not cover
}

// newSealer takes over a chain that fits. It reads the entries that the last writer did not sign.
func newSealer(ctx context.Context, key *Key, db *store.DB, c *store.Chain) (*sealer, error) {
	s := &sealer{key: key, database: db.ID(), chain: c.Head().Chain}
	if signed := c.Signed(); signed.Note != "" {
		at, err := parseCheckpoint(signed.Note)
		if err != nil {
			return nil, err
		}
		if s.tree, err = treeOf(at.Size, signed.Tree); err != nil {
			return nil, err
		}
		s.note, s.size = signed.Note, at.Size
	}
	err := db.Entries.Rows(ctx, store.Query{Chain: s.chain, After: s.tree.size}, func(r *store.Row) error {
		s.tree.add(r.Hash)
		return nil
	})
	if err == nil && s.tree.size != c.Head().Seq {
		err = fmt.Errorf("chain %d has %d entries and ends at entry %d", s.chain, s.tree.size, c.Head().Seq)
	}
	return s, err
}

// rows signs an append, see [store.Chain.SignWith].
func (s *sealer) rows(rows []store.Row) (*store.Signed, error) {
	if rows[0].Seq != s.tree.size+1 {
		return nil, fmt.Errorf("cannot sign entry %d of chain %d behind entry %d", rows[0].Seq, s.chain, s.tree.size)
	}
	s.next = s.tree.clone()
	for i := range rows {
		s.next.add(rows[i].Hash)
	}
	if s.tree.size == s.size {
		s.since = time.Now()
	}
	s.going = nil
	last := &rows[len(rows)-1]
	tail := s.key.authenticate(s.database, store.Head{Chain: s.chain, Seq: last.Seq, Hash: last.Hash})
	if s.fresh && s.next.size-s.size < sealRows && time.Since(s.since) < sealAfter {
		return &store.Signed{Tail: tail}, nil
	}
	var err error
	if s.going, err = s.sign(&s.next); err != nil {
		return nil, err
	}
	s.going.Tail = tail
	return s.going, nil
}

func (s *sealer) sign(t *tree) (*store.Signed, error) {
	c, err := s.key.Sign(Checkpoint{Database: s.database, Chain: s.chain, Size: t.size, Root: t.root()})
	if err != nil {
		return nil, err
	}
	return &store.Signed{Note: c.Note, Tree: t.bytes()}, nil
}

// wrote records that the append is on disk.
func (s *sealer) wrote() {
	s.tree = s.next
	if s.going != nil {
		s.sealed(s.going)
	}
}

// sealed records that the signature of the end is on disk.
func (s *sealer) sealed(signed *store.Signed) {
	s.note, s.size, s.fresh, s.going = signed.Note, s.tree.size, true, nil
}

// due returns when to sign the end if no entry comes.
func (s *sealer) due() time.Duration {
	if s == nil || s.size == s.tree.size {
		return time.Hour
	}
	return sealAfter - time.Since(s.since)
}

// fits returns an error for a chain that nobody may continue: its writer did not sign its current content, or a
// restoration closed it and those before it, which is [store.ErrTaken].
func (k *Key) fits(database string, closed int64) func(store.Head, store.Signed) error {
	return func(h store.Head, s store.Signed) error {
		if h.Chain <= closed {
			return store.ErrTaken
		}
		if h.Seq == 0 && s.Note == "" {
			return nil
		}
		if s.Note == "" {
			return errors.New("no checkpoint covers it")
		}
		c, err := parseCheckpoint(s.Note)
		if err != nil {
			return err
		}
		verifier, err := ParsePublic(k.Public())
		if err != nil {
			return err
		}
		if err := c.Check(verifier); err != nil {
			return err
		}
		if !k.wrote(database, h, s.Tail) {
			return fmt.Errorf("nobody with the key of the record wrote its end, entry %d", h.Seq)
		}
		t, err := treeOf(c.Size, s.Tree)
		if err != nil {
			return err
		}
		if c.Database != database || c.Chain != h.Chain || c.Size > h.Seq || h.Seq-c.Size > unsealedRows ||
			c.Root != t.root() {
			return fmt.Errorf("it ends at entry %d of chain %d, and its checkpoint is of entry %d of chain %d of %s", h.Seq,
				h.Chain, c.Size, c.Chain, c.Database)
		}
		return nil
	}
}

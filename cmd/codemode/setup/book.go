package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
	"github.com/codemode-project/codemode/internal/replace"
)

// A book lists what installations changed, with a copy of each file as it was. It is a folder beside codemode's state
// that only the user can read: book.json, and the copies.
type book struct {
	dir     string
	Version int       `json:"version"`
	Changes []*change `json:"changes"` // in the order in which they were made
}

// A change is one file that an installation wrote.
type change struct {
	Time   time.Time   `json:"time"`
	Client string      `json:"client,omitempty"` // the id; "" is codemode's configuration
	File   string      `json:"file"`
	Before string      `json:"before,omitempty"` // SHA-256, in hexadecimal; "" if there was no file
	After  string      `json:"after"`
	Mode   fs.FileMode `json:"mode,omitempty"` // the permissions that the file had
	Copy   string      `json:"copy,omitempty"` // the name of the copy
	Made   string      `json:"made,omitempty"` // the uppermost folder that was made for it
	Edits  []edit      `json:"edits,omitempty"`
}

// A fileChange is a new content of a file.
type fileChange struct {
	client        string // the id; "" is codemode's configuration
	path          string
	before, after []byte
	isNew         bool
	mode          fs.FileMode // of the new file; 0 keeps the file's own
	shared        bool        // others have the file too
	as            string      // the name under which codemode comes in
	edits         []edit
}

// An edit is what goes out of one place of a file; it and what came in undo each other.
type edit struct {
	Keys []string `json:"keys"`
	Out  []string `json:"out,omitempty"`  // the servers that went
	Ours bool     `json:"ours,omitempty"` // codemode came in
}

const (
	bookFile    = "book.json"
	bookVersion = 1
)

// openBook reads the book in a state folder. Without one it is empty.
func openBook(state string) (*book, error) {
	b := &book{dir: filepath.Join(state, "init"), Version: bookVersion}
	text, err := os.ReadFile(filepath.Join(b.dir, bookFile))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, b)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what earlier installations changed: %w", err)
	}
	if b.Version != bookVersion {
		return nil, fmt.Errorf("%s is of another version of codemode (%d, not %d)", filepath.Join(b.dir, bookFile), b.Version,
			bookVersion)
	}
	return b, nil
}

func (b *book) save() error {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	return replace.File(filepath.Join(b.dir, bookFile), append(text, '\n'), 0o600)
}

// writeAll changes all files, or none. The copies and the lines in the book come first: a crash between them and the
// files leaves files that are as they were, which undo recognises. After an error the files are what they were, unless
// the error says which are not.
func (b *book) writeAll(files []*fileChange) (err error) {
	var changes []*change
	staged := map[string]string{}
	done := 0
	defer func() {
		for _, temporary := range staged {
			_ = os.Remove(temporary) // those that were renamed are not there
		}
		if err == nil {
			return
		}
		if lost := b.takeBack(changes, files, done); lost != nil {
			err = errors.Join(err, lost)
		} else {
			err = fmt.Errorf("nothing was changed: %w", err)
		}
	}()
	for _, f := range files {
		c, mode, err := b.prepare(f)
		if c != nil {
			changes = append(changes, c)
		}
		if err == nil {
			staged[c.File], err = replace.Stage(c.File, f.after, mode)
		}
		if err != nil {
			return err
		}
	}
	b.Changes = append(b.Changes, changes...)
	if err := b.save(); err != nil {
		return err
	}
	for _, c := range changes {
		if err := rename(staged[c.File], c.File); err != nil {
			return err
		}
		done++
	}
	return nil
}

// rename is os.Rename; tests make it fail.
var rename = os.Rename

// prepare checks that a file is still as the plan saw it, copies it, and makes the folder of a new one.
func (b *book) prepare(f *fileChange) (c *change, mode fs.FileMode, err error) {
	made := ""
	for dir := filepath.Dir(f.path); f.isNew; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = dir
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, 0, err
	}
	path, err := realPath(f.path)
	if err != nil {
		return nil, 0, err
	}
	c = &change{Time: time.Now().UTC(), Client: f.client, File: path, After: sum(f.after), Edits: f.edits, Made: made}
	now, had, err := readFile(path)
	switch {
	case err != nil:
		return c, 0, err
	case (now == nil) != f.isNew || !bytes.Equal(now, f.before):
		return c, 0, fmt.Errorf("%s has changed since the plan was made: run the command again", path)
	case now != nil:
		c.Before, c.Mode = sum(now), had
		c.Copy = fmt.Sprintf("%s-%s", c.Before[:12], filepath.Base(path))
		if err := os.MkdirAll(b.dir, 0o700); err != nil {
			return c, 0, err
		}
		if err := replace.File(filepath.Join(b.dir, c.Copy), now, 0o600); err != nil {
			return c, 0, fmt.Errorf("copying %s: %w", path, err)
		}
	}
	return c, cmp.Or(f.mode, had, 0o600), nil
}

// takeBack makes the first files what they were, and forgets all changes. The error names the files that it could not
// restore; the book keeps their changes.
func (b *book) takeBack(changes []*change, files []*fileChange, done int) (err error) {
	var lost []*change
	for i, c := range changes {
		var failed error
		switch {
		case i >= done:
		case files[i].isNew:
			failed = os.Remove(c.File)
		default:
			failed = replace.File(c.File, files[i].before, cmp.Or(c.Mode, 0o600))
		}
		if failed != nil {
			lost = append(lost, c)
			err = errors.Join(err, fmt.Errorf("%s is changed: codemode init --undo restores it (%w)", c.File, failed))
		}
		if failed == nil {
			c.removeFolders()
		}
	}
	b.Changes = slices.DeleteFunc(b.Changes, func(c *change) bool {
		return slices.Contains(changes, c) && !slices.Contains(lost, c)
	})
	if len(b.Changes) > 0 {
		err = errors.Join(err, b.save())
	}
	b.removeCopies(changes)
	return errors.Join(err, b.removeEmpty())
}

// removeFolders removes the folders that were made for a file, unless something else is in them.
func (c *change) removeFolders() {
	for dir := filepath.Dir(c.File); c.Made != "" && within(dir, c.Made); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// removeEmpty removes the book if nothing is in it.
func (b *book) removeEmpty() error {
	if len(b.Changes) > 0 {
		return nil
	}
	if err := os.Remove(filepath.Join(b.dir, bookFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(b.dir) // unless something else is in it
	return nil
}

// realPath follows symbolic links, so that they stay and their target is replaced. A file that is not there yet has its
// folder followed.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s is a symbolic link to nothing: remove it, or make the file that it names", path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// readFile reads a file; without one the text is nil, and that of an empty file is not.
func readFile(path string) (text []byte, mode fs.FileMode, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is no regular file", path)
	}
	text, err = os.ReadFile(path)
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, info.Mode().Perm(), err
}

// A restored file is what undo makes of one.
type restored struct {
	file    string
	client  string
	text    []byte // nil removes it
	mode    fs.FileMode
	changes []*change // what is undone
	now     []byte    // as it is

	whole bool     // what changed since is lost, but for a copy
	note  string   // what is special
	left  []string // the servers that could not be put back
	err   error    // why it is not restored
}

// undo computes what the files of some clients become; none is all. A file that was changed since gets its servers
// back and keeps the rest. Where that cannot be done it stays, and codemode's configuration with it, or becomes what it
// was with force.
func (b *book) undo(clients []string, force bool) (files []*restored, err error) {
	all := len(clients) == 0
	for _, c := range slices.Backward(b.Changes) {
		if !all && !slices.Contains(clients, c.Client) {
			continue
		}
		i := slices.IndexFunc(files, func(r *restored) bool { return r.file == c.File })
		if i < 0 {
			now, mode, err := readFile(c.File)
			if err != nil {
				return nil, err
			}
			files = append(files, &restored{file: c.File, client: c.Client, text: now, now: now, mode: mode})
			i = len(files) - 1
		}
		if err := files[i].undo(b, c, force); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(files, func(r *restored) bool { return r.err != nil }) {
		for _, r := range files {
			if r.err == nil && clientByID(r.client) == nil {
				r.err = errors.New("a client whose file is refused still starts codemode with it")
			}
		}
	}
	return files, nil
}

// undo undoes one change.
func (r *restored) undo(b *book, c *change, force bool) error {
	r.changes = append(r.changes, c)
	if r.err != nil {
		return nil
	}
	before, err := b.before(c)
	if err != nil {
		return err
	}
	is := ""
	if r.text != nil {
		is = sum(r.text)
	}
	client := clientByID(c.Client)
	switch {
	case is == c.Before: // it was never written, or somebody has undone it already
	case is == c.After:
		r.text = before
		if before != nil {
			r.mode = c.Mode
		}
	case client == nil:
		r.note = "kept: you have changed it since"
	default:
		text, left, err := c.putBack(client, r.text, before)
		switch {
		case err == nil && bytes.Equal(text, r.text): // somebody took codemode out, and no server went
			r.left = append(r.left, left...)
		case err == nil:
			r.text, r.left = text, append(r.left, left...)
			r.note = "its servers are put back; what else changed in it stays"
		case force:
			r.text, r.mode, r.whole = before, cmp.Or(c.Mode, r.mode), true
			r.note = "becomes what it was; as it is now it is kept in " + b.dir
		default:
			r.err = err
		}
	}
	return nil
}

// before is the content of a file before a change; nil if there was none.
func (b *book) before(c *change) ([]byte, error) {
	if c.Before == "" {
		return nil, nil
	}
	text, _, err := readFile(filepath.Join(b.dir, c.Copy))
	if err == nil && (text == nil || sum(text) != c.Before) {
		err = fmt.Errorf("the copy %s of %s is missing or was changed", filepath.Join(b.dir, c.Copy), c.File)
	}
	return text, err
}

// putBack exchanges codemode for the servers that went, in a text that has changed since. Servers that came meanwhile
// stay: left are those that could not come back, because another one has their name.
func (c *change) putBack(client *mcpClient, now, before []byte) (text []byte, left []string, err error) {
	if now == nil {
		return nil, nil, errors.New("somebody has removed it: --force writes it as it was")
	}
	text = now
	for _, e := range slices.Backward(c.Edits) {
		was, err := clientfile.Servers(client.format, before, e.Keys)
		if err != nil {
			return nil, nil, err
		}
		is, err := clientfile.Servers(client.format, text, e.Keys)
		if err != nil {
			return nil, nil, fmt.Errorf("it cannot be read any more (%w)", err)
		}
		var in []clientfile.Entry
		for _, s := range was {
			if !slices.Contains(e.Out, s.Name) {
				continue
			}
			i := slices.IndexFunc(is, func(other clientfile.Server) bool { return other.Name == s.Name })
			switch {
			case i < 0:
				in = append(in, clientfile.Entry{Name: s.Name, Text: s.Text, Value: s.Value})
			case !reflect.DeepEqual(is[i].Value, s.Value):
				left = append(left, s.Name)
			}
		}
		var out []string
		for _, s := range is {
			if e.Ours && isServer(s.Value) {
				entry := &clientEntry{name: s.Name, value: plain(s.Value)}
				if entry.prepare(client, os.LookupEnv); entry.isCodemode() { // under any name
					out = append(out, s.Name)
				}
			}
		}
		if text, err = clientfile.Exchange(client.format, text, e.Keys, out, in); err != nil {
			return nil, nil, err
		}
		if client.format == clientfile.JSON && before != nil {
			text = withoutEmpty(text, before, e.Keys)
		}
	}
	return text, left, nil
}

// withoutEmpty takes out an object for servers that has none, and that was not there before.
func withoutEmpty(text, before []byte, keys []string) []byte {
	above, last := keys[:len(keys)-1], keys[len(keys)-1]
	now, err := clientfile.Servers(clientfile.JSON, text, keys)
	was, errWas := clientfile.Servers(clientfile.JSON, before, above)
	if err != nil || errWas != nil || len(now) > 0 ||
		slices.ContainsFunc(was, func(s clientfile.Server) bool { return s.Name == last }) {
		return text
	}
	less, err := clientfile.Exchange(clientfile.JSON, text, above, []string{last}, nil)
	if err != nil {
		return text // it has something in it, such as a comment
	}
	return less
}

// restore writes what undo computed, and forgets the changes. A file that is replaced with more than its servers is
// kept as it was, in the folder of the book.
func (b *book) restore(files []*restored) error {
	for _, r := range files {
		if r.err != nil {
			continue
		}
		now, _, err := readFile(r.file)
		if err != nil {
			return err
		}
		if (now == nil) != (r.now == nil) || !bytes.Equal(now, r.now) {
			return fmt.Errorf("%s is being changed: run the command again", r.file)
		}
		if r.whole && now != nil {
			name := fmt.Sprintf("changed-%s-%s", sum(now)[:12], filepath.Base(r.file))
			if err := replace.File(filepath.Join(b.dir, name), now, 0o600); err != nil {
				return fmt.Errorf("copying %s: %w", r.file, err)
			}
		}
		switch {
		case r.text == nil && now != nil:
			err = os.Remove(r.file)
		case r.text != nil && (now == nil || !bytes.Equal(r.text, now)):
			err = replace.File(r.file, r.text, cmp.Or(r.mode, 0o600))
		}
		if err != nil {
			return fmt.Errorf("restoring %s: %w", r.file, err)
		}
		b.Changes = slices.DeleteFunc(b.Changes, func(c *change) bool { return slices.Contains(r.changes, c) })
		if err := b.save(); err != nil {
			return err
		}
		if len(r.left) == 0 {
			b.removeCopies(r.changes)
		}
		for _, c := range r.changes {
			if r.text == nil {
				c.removeFolders()
			}
		}
	}
	return b.removeEmpty()
}

// removeCopies removes copies that no change needs: they may have secrets in them.
func (b *book) removeCopies(of []*change) {
	for _, c := range of {
		if c.Copy != "" && !slices.ContainsFunc(b.Changes, func(other *change) bool { return other.Copy == c.Copy }) {
			_ = os.Remove(filepath.Join(b.dir, c.Copy))
		}
	}
}

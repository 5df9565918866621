package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Disk has the configuration files. Many goroutines may call its methods. Pages show their errors.
type Disk interface {
	// Files lists the configuration files. stale says why their current content is not in force, "" if it is.
	Files() (files []File, stale string)
	// Check reports what would be wrong with this text of a file. It changes nothing.
	Check(path string, text []byte) error
	// Save writes a file that passes Check, if the file on disk still has the given digest.
	Save(ctx context.Context, path, digest string, text []byte) error
}

// A Saving is a new text of a file, and why it is written.
type Saving struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // that the file must still have
	Text   string `json:"text"`
	Why    string `json:"why"`

	Before string `json:"-"` // the text that it replaces
}

// Prepare completes a new text of a file that may be saved. It writes nothing.
func (p *Pages) Prepare(x *Saving) error {
	if err := p.Disk.Check(x.Path, []byte(x.Text)); err != nil {
		return err
	}
	files, _ := p.Disk.Files()
	at := slices.IndexFunc(files, func(f File) bool { return f.Path == x.Path })
	if at >= 0 && files[at].Digest != x.Digest { // the page must make exactly the change that it shows
		return ErrChanged
	}
	if at >= 0 {
		x.Before, x.Text = files[at].Text, files[at].Likewise(x.Text)
	}
	return checkWhy(&x.Why)
}

// mostWhy bounds the reason for a change, in bytes. A field of a page takes 300 characters.
const mostWhy = 1000

// checkWhy takes white space off a person's reason for a change, and refuses a change without one.
func checkWhy(why *string) error {
	*why = strings.TrimSpace(*why)
	switch n := len(*why); {
	case n == 0:
		return errors.New("say why: the record keeps the reason with the change")
	case n > mostWhy:
		return fmt.Errorf("the reason has %d bytes, and %d are the limit: say it in fewer words", n, mostWhy)
	}
	return nil
}

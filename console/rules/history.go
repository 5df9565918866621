package rules

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/store"
)

// How a change was made.
const (
	HowPage  = "page"  // saved on the page
	HowUndo  = "undo"  // likewise, to take another change back
	HowFile  = "file"  // the file was changed without the page, and this process noticed
	HowFirst = "first" // this process found a file without a history
)

// A Change is one change of a configuration file.
type Change struct {
	ID     string    `json:"id"` // names it in paths
	File   string    `json:"file"`
	Number int64     `json:"number"`
	Time   time.Time `json:"time"`
	How    string    `json:"how"`
	Who    string    `json:"who,omitempty"` // "" for HowFile and HowFirst: nobody said
	Why    string    `json:"why,omitempty"`
	Undoes string    `json:"undoes,omitempty"` // the ID of the change that it took back
	Digest string    `json:"digest"`           // of the file after it
	// Kept says that the history has both texts. Larger ones are not kept.
	Kept    bool `json:"kept"`
	Added   int  `json:"added"` // lines
	Removed int  `json:"removed"`
	// Gone says that the file does not exist after it.
	Gone bool `json:"gone,omitempty"`

	Before string `json:"-"`
	After  string `json:"-"`
}

// about is what the store keeps of a change beside its texts.
type about struct {
	How, Who, Why, Undoes string
	Kept, Gone            bool
	Added, Removed        int
}

type texts struct{ Before, After string }

const (
	// keptChanges is how many changes of each file the history keeps.
	keptChanges = 100
	// keptBytes bounds both texts of a change together.
	keptBytes = 1 << 20
	// shownChanges is how many changes the history lists.
	shownChanges = 200
	// settles is how long a change that the page announced may take to reach the disk.
	settles = 5 * time.Second
)

// id names a change in a path, without the path of its file.
func id(file string, number int64) string {
	return fmt.Sprintf("%x-%d", sha256.Sum256([]byte(file)), number)[48:]
}

func changeOf(c *store.RuleChange) (*Change, error) {
	var a about
	if err := json.Unmarshal(c.About, &a); err != nil {
		return nil, fmt.Errorf("reading a change of %s: %w", c.File, err)
	}
	return &Change{ID: id(c.File, c.Number), File: c.File, Number: c.Number, Time: c.Created, How: a.How, Who: a.Who,
		Why: a.Why, Undoes: a.Undoes, Digest: c.Digest, Kept: a.Kept, Added: a.Added, Removed: a.Removed, Gone: a.Gone}, nil
}

// Changes lists the latest changes, newest first, after a look at the files.
func (b *Book) Changes(ctx context.Context) ([]*Change, error) {
	if err := b.Look(ctx); err != nil {
		return nil, err
	}
	db, err := b.DB(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.RuleChanges(ctx, "", shownChanges)
	all := []*Change{}
	for _, row := range rows {
		c, err := changeOf(row)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, err
}

// Change returns a change with its texts, nil if there is none of that ID.
func (b *Book) Change(ctx context.Context, id string) (*Change, error) {
	all, err := b.Changes(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.ID != id {
			continue
		}
		db, err := b.DB(ctx)
		if err != nil {
			return nil, err
		}
		raw, err := db.RuleTexts(ctx, &store.RuleChange{File: c.File, Number: c.Number})
		var t texts
		if err == nil {
			err = json.Unmarshal(raw, &t)
		}
		c.Before, c.After = t.Before, t.After
		return c, err
	}
	return nil, nil
}

// Undo returns the text that takes a change back, if the file still is as the change left it. The error says why the
// change cannot be undone.
func (c *Change) Undo(now string) (text string, err error) {
	switch {
	case c.Digest != profiles.Digest([]byte(now)):
		return "", errors.New("the file was changed again after this: undo the later changes first, the latest before the " +
			"others, or change the text of the file")
	case c.How == HowFirst || c.Before == "" && c.Kept:
		return "", errors.New("nothing is known of the file before this, so there is nothing to go back to")
	case c.Gone:
		return "", errors.New("the file was removed: put it back where it was, and it is noticed")
	case !c.Kept:
		return "", fmt.Errorf("the texts of this change have more than %d KiB together, and were not kept", keptBytes>>10)
	}
	return c.Before, nil
}

// Save records a change with its reason, and makes it with write. If write fails, the change is not in the history.
func (b *Book) Save(ctx context.Context, c *Change, write func() error) error {
	if err := checkWhy(&c.Why); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	db, err := b.DB(ctx)
	if err != nil {
		return err
	}
	if err := b.look(ctx, db, c.File); err != nil {
		return err
	}
	latest, err := db.RuleChanges(ctx, c.File, 1)
	if err == nil {
		c.Number = after(latest)
		err = add(ctx, db, c)
	}
	if err != nil {
		return fmt.Errorf("the change is not recorded, so it is not made: %w", err)
	}
	if err := write(); err != nil {
		return errors.Join(err, db.DropRuleChange(context.WithoutCancel(ctx), c.File, c.Number))
	}
	return nil
}

// Look compares the files with the history, and records what was changed without the page.
func (b *Book) Look(ctx context.Context) error {
	files, err := b.Files()
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	db, err := b.DB(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, path := range []string{files.Managed, files.User, files.Project, files.Overlays} {
		if path != "" {
			failed = append(failed, b.look(ctx, db, path))
		}
	}
	return errors.Join(failed...)
}

// Watch looks at the files when changed says that the rules may have changed, until ctx ends.
func (b *Book) Watch(ctx context.Context, changed <-chan struct{}, failed func(error)) {
	var soon <-chan time.Time
	for {
		if err := b.Look(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			soon = time.After(settles) // a look right after a change of the page leaves its file out
		case <-soon:
			soon = nil
		}
	}
}

// look records a change of one file without the page. The caller holds mu.
func (b *Book) look(ctx context.Context, db *store.DB, path string) error {
	data, err := config.ReadFile(path)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		if _, is := errors.AsType[*os.PathError](err); is {
			return nil // it cannot be read now; the page says so where it shows the file
		}
		return err
	}
	digest := profiles.Digest(data)
	latest, err := db.RuleChanges(ctx, path, 1)
	if err != nil {
		return err
	}
	c := &Change{File: path, Number: after(latest), How: HowFirst, After: string(data), Gone: gone}
	if len(latest) > 0 {
		before, err := changeOf(latest[0])
		if err != nil {
			return err
		}
		young := time.Since(before.Time) < settles && (before.How == HowPage || before.How == HowUndo)
		if before.Gone && gone || !gone && before.Digest == digest && !before.Gone || young {
			return nil
		}
		raw, err := db.RuleTexts(ctx, latest[0])
		if err != nil {
			return err
		}
		var t texts
		if err := json.Unmarshal(raw, &t); err != nil {
			return err
		}
		c.How, c.Before = HowFile, t.After
	} else if gone {
		return nil
	}
	if err = add(ctx, db, c); errors.Is(err, store.ErrTaken) {
		return nil // another process noticed it too
	}
	return err
}

// after is the number of the change after the latest one, if there is one.
func after(latest []*store.RuleChange) int64 {
	if len(latest) == 0 {
		return 1
	}
	return latest[0].Number + 1
}

// add writes a change into the store, under its number. The error is [store.ErrTaken] if another process was faster.
func add(ctx context.Context, db *store.DB, c *Change) (err error) {
	a := about{How: c.How, Who: c.Who, Why: c.Why, Undoes: c.Undoes, Gone: c.Gone}
	kept := texts{c.Before, c.After}
	if a.Kept = len(c.Before)+len(c.After) <= keptBytes; !a.Kept {
		kept = texts{}
	} else if c.How != HowFirst {
		for _, line := range Diff(Plain(c.Before), Plain(c.After), 0) {
			if line.Sign == "+" {
				a.Added++
			} else {
				a.Removed++
			}
		}
	}
	row := &store.RuleChange{File: c.File, Number: c.Number, Digest: profiles.Digest([]byte(c.After))}
	if row.About, err = json.Marshal(a); err != nil {
		return err
	}
	if row.Texts, err = json.Marshal(kept); err != nil {
		return err
	}
	return db.AddRuleChange(ctx, row, keptChanges)
}

// Plain is a text with one kind of line end and without a byte order mark, as people compare it. A carriage return alone
// is no line end for the reader of the file, and stays.
func Plain(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, BOM), "\r\n", "\n")
}

// Lines compares the texts of a change.
func (c *Change) Lines() []Line { return Diff(Plain(c.Before), Plain(c.After), 2) }

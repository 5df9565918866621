package builtin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"
)

func (f *operation) write(_ context.Context, a struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}) (any, error) {
	if err := check(a.Path); err != nil {
		return nil, err
	}
	if err := f.replace(a.Path, a.Content); err != nil {
		return nil, err
	}
	return map[string]any{"path": a.Path, "bytes": len(a.Content)}, nil
}

// replace writes a new file and renames it to the old one, so that nobody ever
// reads half of it.
func (f *operation) replace(name, content string) error {
	if len(content) > fileMax {
		return fmt.Errorf("the content has %d bytes, more than the %d that are written at once", len(content), fileMax)
	}
	if err := f.wayTo(name); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	switch info, err := f.root.Stat(name); {
	case err == nil:
		if err := mustBeFile(info, name); err != nil {
			return err
		}
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return explain(err, name)
	}
	dir, base, err := f.folder(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: its directory does not exist: make it with create_directory", name)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if info, err := dir.Lstat(base); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return f.overwrite(name, content) // keep the link
	}
	if err := f.entry(dir, base, name); err != nil {
		return err
	}
	beside := ".codemode-" + rand.Text()[:12]
	err = create(dir, beside, content, mode)
	if err == nil {
		err = dir.Rename(beside, base)
	}
	if err == nil {
		return nil
	}
	_ = dir.Remove(beside)
	return explain(err, name)
}

// create writes a new file.
func create(dir *os.Root, name, content string, mode fs.FileMode) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}

// overwrite writes the file that a symbolic link leads to. The file must exist: nothing judges the folder of a new one.
// It judges the open file before it changes anything.
func (f *operation) overwrite(name, content string) error {
	file, err := f.root.OpenFile(name, os.O_WRONLY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is a symbolic link to a file that does not exist: write that file", name)
	case err != nil:
		return explain(err, name)
	}
	info, err := file.Stat()
	if err == nil {
		err = cmp.Or(mustBeFile(info, name), f.may(info, name))
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if err = file.Truncate(0); err == nil {
		_, err = file.WriteString(content)
	}
	return explain(errors.Join(err, file.Close()), name)
}

func (f *operation) edit(_ context.Context, a struct {
	Path  string `json:"path"`
	Edits []struct {
		Old string `json:"oldText"`
		New string `json:"newText"`
	} `json:"edits"`
	DryRun bool `json:"dryRun"`
}) (any, error) {
	b, err := f.read(a.Path, false, false)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("%s is no UTF-8 text", a.Path)
	}
	text := string(b)
	for i, e := range a.Edits {
		switch n := strings.Count(text, e.Old); {
		case e.Old == "":
			return nil, fmt.Errorf("edit %d: its oldText is empty", i+1)
		case n == 0:
			return nil, fmt.Errorf("edit %d: %s does not contain its oldText; nothing was changed", i+1, a.Path)
		case n > 1:
			return nil, fmt.Errorf("edit %d: %s contains its oldText %d times, add more of what is around it; nothing was changed", i+1, a.Path, n)
		}
		text = strings.Replace(text, e.Old, e.New, 1)
	}
	if a.DryRun {
		return map[string]any{"path": a.Path, "bytes": len(text), "content": text}, nil
	}
	if err := f.replace(a.Path, text); err != nil {
		return nil, err
	}
	return map[string]any{"path": a.Path, "bytes": len(text)}, nil
}

func (f *operation) mkdir(_ context.Context, a struct {
	Path string `json:"path"`
}) (any, error) {
	if err := check(a.Path); err != nil {
		return nil, err
	}
	if err := f.makeDirectory(a.Path); err != nil {
		return nil, err
	}
	return map[string]string{"path": a.Path}, nil
}

// makeDirectory makes the missing folders of a path, below the last one that exists.
func (f *operation) makeDirectory(name string) error {
	if err := f.wayTo(name); err != nil {
		return err
	}
	there, missing := name, ""
	for there != "." {
		if _, err := f.root.Stat(there); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		there, missing = path.Dir(there), path.Join(path.Base(there), missing)
	}
	if missing == "" {
		return explain(f.root.MkdirAll(name, 0o755), name) // the error for a file says what is wrong
	}
	dir, _, err := f.folder(path.Join(there, "x")) // opens the folder there
	if err != nil {
		return err
	}
	defer dir.Close()
	return explain(dir.MkdirAll(missing, 0o755), name)
}

func (f *operation) move(_ context.Context, a struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
}) (any, error) {
	for _, p := range []string{a.Source, a.Destination} {
		if err := check(p); err != nil {
			return nil, err
		}
		if p == "." {
			return nil, errors.New("the granted directory itself cannot be moved")
		}
	}
	for _, p := range []string{a.Source, a.Destination} {
		dir, base, err := f.folder(p)
		if err != nil {
			return nil, err
		}
		err = f.entry(dir, base, p)
		dir.Close()
		if err != nil {
			return nil, err
		}
	}
	if _, err := f.root.Lstat(a.Destination); err == nil {
		return nil, fmt.Errorf("%s exists already", a.Destination)
	}
	if err := f.root.Rename(a.Source, a.Destination); err != nil {
		if _, missing := f.root.Lstat(a.Source); missing != nil {
			return nil, explain(missing, a.Source)
		}
		return nil, explain(err, a.Destination)
	}
	return map[string]string{"path": a.Destination}, nil
}

func (f *operation) remove(_ context.Context, a struct {
	Path string `json:"path"`
}) (any, error) {
	if err := check(a.Path); err != nil {
		return nil, err
	}
	if a.Path == "." {
		return nil, errors.New("the granted directory itself cannot be deleted")
	}
	dir, base, err := f.folder(a.Path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := f.entry(dir, base, a.Path); err != nil {
		return nil, err
	}
	if err := dir.Remove(base); err != nil {
		if errors.Is(err, fs.ErrExist) { // the error for a directory with entries
			return nil, fmt.Errorf("%s is a directory that is not empty", a.Path)
		}
		return nil, explain(err, a.Path)
	}
	return map[string]string{"path": a.Path}, nil
}

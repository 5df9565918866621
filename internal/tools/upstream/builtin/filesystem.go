package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"unicode/utf8"
)

// The limits of the built-in filesystem.
const (
	pathMax    = 1024    // bytes of a path
	fileMax    = 8 << 20 // bytes of one file
	filesMax   = 100     // files of one call
	entriesMax = 10000   // entries of one listing
	treeDepth  = 32
)

type filesystem struct {
	root  *os.Root
	guard func() (func(fs.FileInfo) error, error)

	// A use that changes something excludes all others: nobody moves a folder between the check of the folder and the
	// write into it.
	changes sync.RWMutex
}

// An operation is one use of a tool.
type operation struct {
	root    *os.Root
	guarded func(fs.FileInfo) error
}

func (f *filesystem) begin() (*operation, error) {
	o := &operation{f.root, func(fs.FileInfo) error { return nil }}
	if f.guard == nil {
		return o, nil
	}
	var err error
	o.guarded, err = f.guard()
	return o, err
}

// A method is what a tool does.
type method[A any] func(*operation, context.Context, A) (any, error)

// using makes a tool of a method that changes nothing.
func using[A any](f *filesystem, do method[A]) func(context.Context, A) (any, error) {
	return locked(f, f.changes.RLocker(), do)
}

// changing makes a tool of a method that changes something.
func changing[A any](f *filesystem, do method[A]) func(context.Context, A) (any, error) {
	return locked(f, &f.changes, do)
}

func locked[A any](f *filesystem, l sync.Locker, do method[A]) func(context.Context, A) (any, error) {
	return func(ctx context.Context, args A) (any, error) {
		l.Lock()
		defer l.Unlock()
		o, err := f.begin()
		if err != nil {
			return nil, err
		}
		return do(o, ctx, args)
	}
}

// may judges a file or folder at a path.
func (f *operation) may(info fs.FileInfo, name string) error {
	if err := f.guarded(info); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// wayTo judges every folder on the way to a path, the root too, as far as they exist.
func (f *operation) wayTo(name string) error {
	for at := 0; at <= len(name); at++ {
		if at > 0 && at < len(name) && name[at] != '/' {
			continue
		}
		part := cmp.Or(name[:at], ".")
		info, err := f.root.Stat(part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return explain(err, name)
		}
		if err := f.may(info, name); err != nil {
			return err
		}
	}
	return nil
}

// folder opens the folder that a path is in. An operation in it by name stays in this folder, also if somebody moves
// the folder.
func (f *operation) folder(name string) (dir *os.Root, base string, err error) {
	parent := path.Dir(name)
	if err := f.wayTo(parent); err != nil {
		return nil, "", err
	}
	if dir, err = f.root.OpenRoot(parent); err != nil {
		return nil, "", explain(err, name)
	}
	info, err := dir.Stat(".")
	if err == nil {
		err = f.may(info, name)
	}
	if err != nil {
		dir.Close()
		return nil, "", err
	}
	return dir, path.Base(name), nil
}

// entry judges the file or folder of a name, and does not follow a link. A missing one is no error.
func (f *operation) entry(dir *os.Root, base, name string) error {
	info, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return explain(err, name)
	}
	return f.may(info, name)
}

// check refuses every spelling of a path but one.
func check(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty")
	case len(path) > pathMax:
		return fmt.Errorf("the path has %d bytes, more than %d", len(path), pathMax)
	case path[0] == '/' || strings.Contains(path, `\`) || len(path) > 1 && path[1] == ':':
		return fmt.Errorf("path %q is not inside the granted directory: paths are relative to it and use slashes, "+
			"such as notes/a.md", path)
	case fs.ValidPath(path) && !strings.ContainsRune(path, 0):
		return nil
	case !utf8.ValidString(path) || strings.ContainsRune(path, 0):
		return fmt.Errorf("path %q has bytes that no name has", path)
	}
	for _, part := range strings.Split(path, "/") {
		if part == ".." {
			return fmt.Errorf(`path %q has ".." in it, which is not allowed`, path)
		}
	}
	var parts []string
	for _, part := range strings.Split(path, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return fmt.Errorf(`path %q must be written "."`, path)
	}
	return fmt.Errorf("path %q must be written %q", path, strings.Join(parts, "/"))
}

// A fileError says what went wrong with a relative path. It does not reveal where the root is on this machine.
type fileError struct {
	text string
	err  error
}

func (e *fileError) Error() string { return e.text }
func (e *fileError) Unwrap() error { return e.err }

// explain makes a fileError of an error; nil of nil.
func explain(err error, path string) error {
	if err == nil {
		return nil
	}
	var inner *fs.PathError
	var link *os.LinkError
	text := err.Error()
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		text = "it does not exist"
	case errors.Is(err, fs.ErrExist):
		text = "it exists already"
	case errors.Is(err, fs.ErrPermission):
		text = "permission denied"
	case errors.As(err, &inner):
		text = inner.Err.Error()
	case errors.As(err, &link):
		text = link.Err.Error()
	}
	return &fileError{path + ": " + text, err}
}

// regular opens a regular file for reading. A device or a pipe might never end.
func (f *operation) regular(name string) (*os.File, fs.FileInfo, error) {
	if err := check(name); err != nil {
		return nil, nil, err
	}
	if err := f.wayTo(name); err != nil {
		return nil, nil, err
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, nil, explain(err, name)
	}
	if err := mustBeFile(info, name); err != nil {
		return nil, nil, err
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, nil, explain(err, name)
	}
	if info, err = file.Stat(); err == nil {
		err = cmp.Or(mustBeFile(info, name), f.may(info, name))
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func mustBeFile(info fs.FileInfo, path string) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a directory: use list_directory", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	}
	return nil
}

// kindOf names what an entry is.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "other"
}

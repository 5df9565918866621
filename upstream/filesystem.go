package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"
)

// What the built-in filesystem reads, writes and lists at once.
const (
	pathMax    = 1024    // bytes of a path
	fileMax    = 8 << 20 // bytes of one file
	filesMax   = 100     // files of one call
	entriesMax = 10000   // entries of one listing
	treeDepth  = 32
)

// Filesystem returns the built-in server for the files under root. Its tools
// have the names that the well-known filesystem server gave them. A path is
// relative to the root and has one spelling only ("notes/a.md", never
// "./notes/a.md", "notes//a.md" or "/notes/a.md"), so that a rule about a path
// means every use of the file; the root itself is ".". Nothing outside the root
// can be reached, through symbolic links neither: that is what [os.Root] is for.
// The root stays the caller's to close.
func Filesystem(root *os.Root) BuiltIn {
	f := &filesystem{root}
	return BuiltIn{
		Name:         "filesystem",
		Instructions: `Paths are relative to the granted directory, which is "."; they are written with slashes and without "..".`,
		Tools:        append(f.readers(), f.writers()...),
	}
}

type filesystem struct{ root *os.Root }

// properties that several tools share
const (
	pathProperty = `{"type": "string", "description": "relative to the granted directory, such as notes/today.md"}`
	dirProperty  = `{"type": "string", "description": "a directory, relative to the granted one, which is \".\" and the default"}`
)

// check refuses every spelling of a path but the one.
func check(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty")
	case len(path) > pathMax:
		return fmt.Errorf("the path has %d bytes, more than %d", len(path), pathMax)
	case path[0] == '/' || strings.Contains(path, `\`) || len(path) > 1 && path[1] == ':':
		return fmt.Errorf("path %q is not inside the granted directory: paths are relative to it and use slashes, such as notes/a.md", path)
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

// A fileError says what went wrong with a path in words that fit a relative
// one: where the root is on this machine stays here.
type fileError struct {
	text string
	err  error
}

func (e *fileError) Error() string { return e.text }
func (e *fileError) Unwrap() error { return e.err }

func explain(err error, path string) error {
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

// regular opens a file for reading, and only a file: a device or a pipe could
// be read for ever.
func (f *filesystem) regular(path string) (*os.File, fs.FileInfo, error) {
	if err := check(path); err != nil {
		return nil, nil, err
	}
	info, err := f.root.Stat(path)
	if err != nil {
		return nil, nil, explain(err, path)
	}
	if err := mustBeFile(info, path); err != nil {
		return nil, nil, err
	}
	file, err := f.root.Open(path)
	if err != nil {
		return nil, nil, explain(err, path)
	}
	if info, err = file.Stat(); err == nil {
		err = mustBeFile(info, path)
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

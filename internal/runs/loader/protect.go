package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A Place is a file or folder that gives power. It need not exist: a program that creates it has the power.
type Place struct {
	Path string // absolute, or relative to the working folder
	What string // for people: "the user's configuration"

	// Tree says that it is a folder and that everything below it belongs to it.
	Tree bool
	// Searched says that this user searches something there, such as in a folder of PATH. A folder that this user cannot
	// read is skipped: it does not affect what they start.
	Searched bool
	// Server is the configured server that the place belongs to, such as its program; "" if it belongs to codemode.
	Server string
}

// Marks are the result of [MarksOf] at one moment. They never change.
type Marks struct{ all []mark }

// A mark is one file or folder of the disk.
type mark struct {
	info  fs.FileInfo
	place Place
	where where
}

// where is the relation of a file or folder to a place.
type where int

const (
	itself where = iota
	above        // a folder on the way to it: a program that can write there can replace the place
	below        // something in it
)

const (
	maxLinks = 100    // symbolic links on the way to one place
	maxTree  = 20_000 // files below one place
)

// MarksOf finds the places, the folders on the way to them and the files below them. An error means that it cannot
// examine a place; then no folder can be judged.
func MarksOf(places []Place) (*Marks, error) {
	l := look{known: map[string]fs.FileInfo{}}
	for _, p := range places {
		if err := l.add(p); err != nil {
			return nil, fmt.Errorf("cannot look at %s (%s): %w", p.What, p.Path, err)
		}
	}
	return &l.marks, nil
}

type look struct {
	marks Marks
	known map[string]fs.FileInfo // by path: places share folders
}

func (l *look) lstat(path string) (fs.FileInfo, error) {
	if info := l.known[path]; info != nil {
		return info, nil
	}
	info, err := os.Lstat(path)
	if err == nil {
		l.known[path] = info
	}
	return info, err
}

func (l *look) add(p Place) error {
	end, err := way(p.Path, l.lstat, func(info fs.FileInfo) { l.marks.all = append(l.marks.all, mark{info, p, above}) })
	if p.Searched && errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil || end == "" {
		return err
	}
	info, err := l.lstat(end)
	if err != nil {
		return err
	}
	l.marks.all = append(l.marks.all, mark{info, p, itself})
	if !p.Tree || !info.IsDir() {
		return nil
	}
	return l.below(p, end)
}

// below marks the files in a folder. It follows symbolic links in it.
func (l *look) below(p Place, dir string) error {
	n := 0
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && path != dir {
			info, err = d.Info()
		}
		switch {
		case absent(err): // a temporary file
			return nil
		case err != nil || info == nil:
			return err
		}
		if n++; n > maxTree {
			return fmt.Errorf("more than %d files are in it", maxTree)
		}
		if !isLink(info) {
			l.marks.all = append(l.marks.all, mark{info, p, below})
			return nil
		}
		return l.add(Place{Path: path, What: p.What, Server: p.Server})
	})
}

// way visits every file and folder on a path, from the top. At a symbolic link it continues from the top of the link's
// target. end is the resolved path; "" if it does not exist.
func way(path string, lstat func(string) (fs.FileInfo, error), visit func(fs.FileInfo)) (end string, err error) {
	if !filepath.IsAbs(path) { // not with filepath.Abs, which removes "link/.."
		dir, err := os.Getwd()
		if err != nil {
			return "", err
		}
		path = dir + string(filepath.Separator) + path
	}
	var at string
	var rest []string
	start := func(path string) error {
		volume := filepath.VolumeName(path)
		at = volume + string(filepath.Separator)
		rest = append(names(path[len(volume):]), rest...)
		info, err := lstat(at)
		if err == nil {
			visit(info)
		}
		return err
	}
	if err := start(path); err != nil {
		return "", err
	}
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := lstat(next)
		switch {
		case absent(err):
			return "", nil
		case err != nil:
			return "", err
		case !isLink(info):
			visit(info)
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("more than %d symbolic links are on the way", maxLinks)
		}
		target, err := os.Readlink(next)
		switch {
		case err != nil:
			return "", err
		case filepath.IsAbs(target):
			if err := start(target); err != nil {
				return "", err
			}
		default:
			rest = append(names(target), rest...)
		}
	}
	return at, nil
}

func names(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == filepath.Separator })
}

// isLink reports whether a file refers to another one. Go calls the junctions of Windows irregular.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// A Finding is the place that a file or folder relates to.
type Finding struct {
	Place
	Relation string // "is", "contains" or "lies in"
}

// Find reports the place that a file or folder relates to; ok is false if it gives no power.
func (m *Marks) Find(info fs.FileInfo) (f Finding, ok bool) {
	return m.find(info, func(mark) bool { return true })
}

// find prefers the place itself, and files in it, to a folder on the way to another place.
func (m *Marks) find(info fs.FileInfo, counts func(mark) bool) (f Finding, ok bool) {
	for _, x := range m.all {
		if ok && x.where == above || !counts(x) || !os.SameFile(x.info, info) {
			continue
		}
		f, ok = Finding{x.place, [...]string{itself: "is", above: "contains", below: "lies in"}[x.where]}, true
		if x.where != above {
			break
		}
	}
	return f, ok
}

// Judge refuses a folder that contains a place, is one, or lies in one, and a folder that it cannot examine. The error
// is a sentence about the folder; a [*PowerError] names the place.
func (m *Marks) Judge(dir string) error { return m.JudgeFor(dir, "") }

// JudgeFor is Judge for a folder of a configured server: it may contain the server's own program.
func (m *Marks) JudgeFor(dir, server string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot tell whether programs may have %s: %w", dir, err)
	}
	counts := func(x mark) bool { return x.place.Server == "" || x.place.Server != server }
	if f, ok := m.find(info, counts); ok {
		return &PowerError{dir, f}
	}
	var found error
	_, err = way(dir, os.Lstat, func(info fs.FileInfo) {
		f, ok := m.find(info, func(x mark) bool { return x.where != above && x.place.Tree && counts(x) })
		if ok && found == nil {
			f.Relation = "lies in"
			found = &PowerError{dir, f}
		}
	})
	if err != nil {
		return fmt.Errorf("cannot tell whether programs may have %s: %w", dir, err)
	}
	return found
}

// A PowerError says that a file or folder gives power.
type PowerError struct {
	Path string // of the file or folder
	Finding
}

func (e *PowerError) Error() string {
	return fmt.Sprintf("%s %s %s (%s)", e.Path, e.Relation, e.What, e.Place.Path)
}

// Package protect recognises the files and folders that give power over codemode: its configuration, its state, its keys,
// what it executes. It recognises them by what they are on the disk, not by how their paths are written, so that a
// symbolic link, a bind mount, a hard link and another case of the letters make no difference.
//
//	marks, err := protect.Look(places)
//	if err == nil {
//		err = marks.Judge(folder) // may programs have the folder?
//	}
//
// A copy of a file, and a file system that gives its files other numbers for the same content (FUSE, NFS to this very
// machine, an overlay), cannot be recognised.
package protect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A Place is a file or folder that gives power. It need not exist: whoever makes it then has the power.
type Place struct {
	Path string // absolute, or relative to the working folder
	What string // for people: "the user's configuration"

	// Tree says that it is a folder and that everything below it belongs to it.
	Tree bool
	// Searched says that this user looks something up there, such as a folder of PATH. One that this user cannot look
	// at is passed over: it has no effect on what they start.
	Searched bool
	// Server is the configured server that the place belongs to, as its program does; "" if it belongs to codemode.
	Server string
}

// Marks are what [Look] found. They hold for one moment, and never change.
type Marks struct{ all []mark }

// A mark is one file or folder of the disk.
type mark struct {
	info  fs.FileInfo
	place Place
	where where
}

// where says how a file or folder stands to a place.
type where int

const (
	itself where = iota
	above        // a folder on the way to it: whoever may write there can exchange the place
	below        // something in it
)

const (
	maxLinks = 100    // symbolic links on the way to one place
	maxTree  = 20_000 // files below one place
)

// Look finds the places, the folders on the way to them and what is below them. An error means that a place cannot be
// looked at, so that nothing can be said about any folder.
func Look(places []Place) (*Marks, error) {
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
	known map[string]fs.FileInfo // by path: places are beside each other
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

// below marks what is in a folder. Symbolic links in it are followed to their ends.
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

// way visits every file and folder that a path leads through, from the top, one after the other. Where it leads over a
// symbolic link it goes on from the top of the link's target. end is where it leads to; "" if there is nothing.
func way(path string, lstat func(string) (fs.FileInfo, error), visit func(fs.FileInfo)) (end string, err error) {
	if !filepath.IsAbs(path) { // not with filepath.Abs: it would take "link/.." away
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

// isLink reports whether a file stands for another one. Windows has junctions, which Go calls irregular.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// A Finding is a place that a file or folder has to do with.
type Finding struct {
	Place
	Relation string // "is", "contains" or "lies in"
}

// Find reports what the file or folder is; ok is false if it is nothing that gives power.
func (m *Marks) Find(info fs.FileInfo) (f Finding, ok bool) {
	return m.find(info, func(mark) bool { return true })
}

// find prefers the place itself, and what lies in one, to a folder on the way to another one.
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

// Judge refuses a folder that contains a place, is one, or lies in one, and one that cannot be looked at. The error is a
// sentence about the folder; a [*PowerError] says which place it is.
func (m *Marks) Judge(dir string) error { return m.JudgeFor(dir, "") }

// JudgeFor is Judge for a folder that a configured server gets: that it contains the server's own program is not refused.
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
	Path string // what was judged
	Finding
}

func (e *PowerError) Error() string {
	return fmt.Sprintf("%s %s %s (%s)", e.Path, e.Relation, e.What, e.Place.Path)
}

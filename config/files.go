package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Files are the configuration files that apply together; an empty field means no file. A named file must exist, except
// Overlays and Trust.
type Files struct {
	Managed  string // the machine administrator's: nothing loosens it
	User     string // the user's own
	Project  string // came with a project: only tightens, unless Trust lists it
	Overlays string // only overlays, written by an admin page

	Env func(string) (string, bool) // looks up the variables of servers; nil knows none
	// Environment holds variables from [ReadEnvironment]. Without User and Managed they are the whole configuration.
	Environment []Source

	Trust string // which project files are trusted, see [Trust]
}

// Load reads and checks the files. The error is [Problems] if they are readable but invalid.
func (f Files) Load() (*Config, error) {
	sources, err := f.read()
	if err != nil {
		return nil, err
	}
	return ParseAll(f.Env, sources...)
}

// LoadWith is Load as if the file at that path had that content. It must be one of the files.
func (f Files) LoadWith(path string, data []byte) (*Config, error) {
	sources, err := f.read()
	if err != nil {
		return nil, err
	}
	for i := range sources {
		if sources[i].File == path {
			sources[i].Data = data
			return ParseAll(f.Env, sources...)
		}
	}
	if path == "" || path != f.Overlays { // which need not exist
		return nil, fmt.Errorf("%s is not one of the configuration files", path)
	}
	return ParseAll(f.Env, append(sources, Source{File: path, Data: data, Standing: Narrowing})...)
}

// None reports whether there is no file, and no variable, that could say anything.
func (f Files) None() bool {
	return f.Managed == "" && f.User == "" && f.Project == "" && f.Overlays == "" && len(f.Environment) == 0
}

// all returns the named paths.
func (f Files) all() []string {
	var paths []string
	for _, path := range []string{f.Managed, f.User, f.Project, f.Overlays, f.Trust} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

func (f Files) absolute() (Files, error) {
	for _, path := range []*string{&f.Managed, &f.User, &f.Project, &f.Overlays, &f.Trust} {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return f, err
		}
	}
	return f, nil
}

// read reads the files in the order that [ParseAll] requires. It determines what a project's file may do from the same
// bytes that it uses.
func (f Files) read() ([]Source, error) { return f.readWith(nil) }

// readWith is read as if the project's file had that content, unless it is nil.
func (f Files) readWith(project []byte) ([]Source, error) {
	var sources []Source
	add := func(path string, standing Standing) error {
		if path == "" {
			return nil
		}
		data := project
		if data == nil || standing != Untrusted {
			var err error
			if data, err = ReadFile(path); err != nil {
				if standing == Narrowing && errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
		}
		if standing == Untrusted {
			trusted, err := isTrusted(f.Trust, path, data)
			if err != nil {
				return err
			}
			if trusted {
				standing = Trusted
			}
		}
		sources = append(sources, Source{File: path, Data: data, Standing: standing})
		return nil
	}
	failed := errors.Join(add(f.Managed, Managed), add(f.User, User))
	sources = append(sources, f.Environment...)
	return sources, errors.Join(failed, add(f.Project, Untrusted), add(f.Overlays, Narrowing))
}

// joined combines the sources, to detect whether any of them has changed.
func joined(sources []Source) []byte {
	var b bytes.Buffer
	for _, s := range sources {
		fmt.Fprintf(&b, "%s %s %d\n", s.Standing, s.File, len(s.Data))
		b.Write(s.Data)
	}
	return b.Bytes()
}

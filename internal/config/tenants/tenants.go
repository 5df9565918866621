// Package tenants reads the file that lists the tenants of one process: configurations that "codemode serve --http"
// serves side by side.
//
//	{ "tenants": {
//	    "acme": { "config": "acme/codemode.json" },
//	    "bolt": { "config": "bolt/codemode.json", "state": "/var/lib/bolt" } },
//	  // what belongs to the process, as a configuration has it:
//	  "http": { "tls": {...}, "socketMode": "0660" },
//	  "diagnostics": {...},
//	  "capacity": { "guestMemory": "1GiB" } }
//
// Paths are relative to the folder of the file.
package tenants

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/settings"
)

// A File is what the file says.
type File struct {
	Path    string         // absolute
	Tenants []Tenant       // by name; there is at least one
	Process *config.Config // of the process: only http.tls, http.socketMode, diagnostics, capacity.guestMemory
}

// A Tenant is a configuration that is served under its name.
type Tenant struct {
	Name   string `key:"*"`              // [a-z][a-z0-9-]*, 40 bytes at most
	Config string `key:"config" need:""` // absolute path of the configuration file
	State  string `key:"state"`          // absolute path of the state folder; "" leaves it to the process
}

// written is the file. Each tenant has servers, a record and memory of its own.
type written struct {
	Tenants     []Tenant             `key:"tenants" by:"tenant" each:"the tenant %q" min:"1" max:"200" need:""`
	HTTP        *process.HTTP        `key:"http"`
	Capacity    *process.Capacity    `key:"capacity"`
	Diagnostics *process.Diagnostics `key:"diagnostics"`
}

// Prefix is the beginning of all paths of a tenant.
func Prefix(name string) string { return "/t/" + name }

// Load reads the file. The error is [config.Problems] if it is readable but invalid. The configurations of the tenants
// are not read.
func Load(path string) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

func parse(path string, data []byte) (*File, error) {
	r, err := config.Read(path, data)
	if err != nil {
		return nil, err
	}
	var w written
	r.Decode(r.Root, "the file of tenants", &w)
	part(r, "http", "tls", "socketMode")
	part(r, "capacity", "guestMemory")
	if err := r.Problems.Err(); err != nil {
		return nil, err
	}
	f := &File{Path: path, Tenants: w.Tenants, Process: &config.Config{
		Keys: process.Keys{HTTP: w.HTTP, Capacity: w.Capacity, Diagnostics: w.Diagnostics}}}
	for i := range f.Tenants {
		for _, of := range []*string{&f.Tenants[i].Config, &f.Tenants[i].State} {
			if *of != "" && !filepath.IsAbs(*of) {
				*of = filepath.Join(filepath.Dir(path), *of)
			}
		}
	}
	slices.SortFunc(f.Tenants, func(a, b Tenant) int { return cmp.Compare(a.Name, b.Name) })
	return f, nil
}

// part reports members of a key of configurations that the process does not have.
func part(r *settings.Reader, key string, names ...string) {
	for name, child := range settings.Member(r.Root, key).Members() {
		if !slices.Contains(names, name) {
			r.WrongKey(child, "move it to the configuration of the tenant", "%q of the process has no key %.40q: it has %s",
				key, name, settings.QuotedList(names, "and"))
		}
	}
}

// Distinct refuses tenants with the same configuration file, or with files in one folder: the overlays that a page
// writes are beside the file. The error names both tenants.
func (f *File) Distinct() error {
	for i, t := range f.Tenants {
		for _, other := range f.Tenants[:i] {
			switch {
			case same(t.Config, other.Config):
				return fmt.Errorf("tenants %s and %s have the same configuration, %s", other.Name, t.Name, t.Config)
			case same(filepath.Dir(t.Config), filepath.Dir(other.Config)):
				return fmt.Errorf("the configurations of tenants %s and %s are in one folder, %s: give each a folder of its own, "+
					"because overlays.json is beside the configuration", other.Name, t.Name, filepath.Dir(t.Config))
			}
		}
	}
	return nil
}

// same reports whether two paths lead to the same file or folder.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || errX == nil && errY == nil && os.SameFile(x, y)
}

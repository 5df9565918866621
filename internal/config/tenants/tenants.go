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
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A File is what the file says.
type File struct {
	Path    string         // absolute
	Tenants []Tenant       // by name; there is at least one
	Process *config.Config // of the process: only http.tls, http.socketMode, diagnostics, capacity.guestMemory
}

// A Tenant is a configuration that is served under its name.
type Tenant struct {
	Name   string // [a-z][a-z0-9-]*, 40 bytes at most
	Config string // absolute path of the configuration file
	State  string // absolute path of the state folder; "" leaves it to the process
}

const (
	// most bounds the tenants: each has servers, a record and memory of its own.
	most = 200
	// longestName bounds a name, which is a folder, a part of addresses and a label of figures.
	longestName = 40
)

var validName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

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
	src := strings.TrimPrefix(string(data), "\ufeff") // some editors write a byte order mark
	r := &reader{Reader: &settings.Reader{File: path, Src: src}, file: &File{Path: path}}
	root, bad := settings.ParseFile(src)
	if bad != nil {
		r.Report(bad.Offset, bad.Offset+max(bad.Length, 1), bad.Hint, "%s", bad.Message)
		return nil, r.Problems
	}
	r.Root = root
	var listed strictjson.Value
	part := func(key string, names ...string) settings.Field {
		return settings.Key(key, func(n strictjson.Value) { r.part(n, key, names...) })
	}
	ok := r.Object(root, "the file of tenants", []settings.Field{
		settings.Key("tenants", func(n strictjson.Value) { listed = n; r.tenants(n) }),
		part("http", "tls", "socketMode"), part("capacity", "guestMemory"),
		settings.Key("diagnostics", func(strictjson.Value) {}),
	})
	if ok && listed.Kind() == strictjson.Missing {
		r.Wrong(root, `write {"tenants": {"acme": {"config": "acme/codemode.json"}}}`, `the file has no "tenants"`)
	}
	if len(r.Problems) > 0 {
		return nil, r.Problems
	}
	var err error
	r.file.Process, err = config.Parse(path, []byte(withoutTenants(src, listed)))
	if err != nil {
		return nil, err
	}
	return r.file, nil
}

// withoutTenants is the text as a configuration: in the place of "tenants" there is a key that configurations may have
// and that has no effect. All else stays in its line and column.
func withoutTenants(src string, listed strictjson.Value) string {
	b := []byte(src)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	blank(listed.KeyOffset(), listed.KeyEnd())
	copy(b[listed.KeyOffset():], `"$schema"`)
	blank(listed.Offset(), listed.End())
	for first := range settings.Children(listed) {
		copy(b[first.KeyOffset():], `"-"`) // where the first name was, which is as long
		break
	}
	return string(b)
}

type reader struct {
	*settings.Reader
	file *File
}

// part reads a key of configurations of which the process has only some members.
func (r *reader) part(n strictjson.Value, key string, names ...string) {
	if n.Kind() != strictjson.Object {
		r.Wrong(n, "", "%q must be an object, this is %s", key, n.Kind())
		return
	}
	for name, child := range n.Members() {
		if !slices.Contains(names, name) {
			r.WrongKey(child, "move it to the configuration of the tenant", "%q of the process has no key %.40q: it has %s", key,
				name, settings.QuotedList(names, "and"))
		}
	}
}

func (r *reader) tenants(n strictjson.Value) {
	if n.Kind() != strictjson.Object || n.Len() == 0 {
		r.Wrong(n, `write {"acme": {"config": "acme/codemode.json"}}`, `"tenants" must be an object with at least one tenant`)
		return
	}
	r.Unique(n)
	if n.Len() > most {
		r.Wrong(n, "serve some of them in another process", `"tenants" has more than %d entries`, most)
		return
	}
	for name, child := range n.Members() {
		if len(name) > longestName || !validName.MatchString(name) {
			r.WrongKey(child, fmt.Sprintf("it begins with a small letter, goes on with small letters, digits and -, and is at "+
				"most %d bytes long", longestName), "%.60q is not the name of a tenant", name)
		}
		r.file.Tenants = append(r.file.Tenants, r.tenant(name, child))
	}
	slices.SortFunc(r.file.Tenants, func(a, b Tenant) int { return cmp.Compare(a.Name, b.Name) })
}

func (r *reader) tenant(name string, n strictjson.Value) Tenant {
	t := Tenant{Name: name}
	path := func(key string, to *string) settings.Field {
		return settings.Key(key, func(n strictjson.Value) {
			text, _ := r.Text(n, fmt.Sprintf("%q", key))
			if *to = text; text != "" && !filepath.IsAbs(text) {
				*to = filepath.Join(filepath.Dir(r.file.Path), text)
			}
		})
	}
	ok := r.Object(n, fmt.Sprintf("the tenant %q", name), []settings.Field{
		path("config", &t.Config), path("state", &t.State),
	})
	if ok && settings.Member(n, "config").Kind() == strictjson.Missing {
		r.Wrong(n, `add "config": "`+name+`/codemode.json"`, "the tenant %q has no configuration", name)
	}
	return t
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

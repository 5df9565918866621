package confined

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/confine"
	"github.com/codemode-project/codemode/internal/runs/loader"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A guard knows the files that give power over codemode.
type guard struct {
	tenant  string        // whose servers it judges; "" without tenants
	powers  *loader.Marks // nobody but codemode may write there
	secrets *loader.Marks // nor read there
}

// newGuard looks at the files that give power at this moment.
func newGuard(o codemode.Options, cfg *config.Config) (*guard, error) {
	places, err := codemode.Powers(o, cfg)
	if err != nil {
		return nil, err
	}
	// A project's file that does not exist yet could only tighten.
	places = slices.DeleteFunc(places, func(p loader.Place) bool { return p.What == loader.ProjectPlace })
	g := guard{tenant: o.Tenant}
	if g.powers, err = loader.MarksOf(places); err != nil {
		return nil, err
	}
	self, _ := os.Executable()
	g.secrets, err = loader.MarksOf(slices.DeleteFunc(places, func(p loader.Place) bool {
		return p.Searched || p.Path == self // programs
	}))
	return &g, err
}

// A Reach is what the process of a server may reach.
type Reach struct {
	Rules confine.Rules
	// Read and Write are the part of the rules that is not the system's; Notes say what it did not get, and why.
	Read, Write, Notes []string
	env                map[string]string // for its process
}

// reachOf finds out what a server with that command may reach.
func (g *guard) reachOf(s *servers.Server, c upstream.Command) (*Reach, error) {
	r := &Reach{env: map[string]string{}}
	program, err := lookUp(c)
	if err != nil {
		return nil, err
	}
	g.addProgram(r, s.Name, program, c.Env["PATH"])
	if s.Dir != "" {
		g.addWord(r, s.Name, "cwd", s.Dir, "")
	}
	for _, arg := range s.Words() {
		g.addWord(r, s.Name, "args", arg, c.Dir)
	}
	for name, value := range s.Env {
		if name != "PATH" {
			g.addWord(r, s.Name, "env "+name, value, c.Dir)
		}
	}
	if err := r.addFolder(g.tenant, s.Name, c.Env); err != nil {
		return nil, err
	}
	system := g.system(r)
	r.Write = without(resolved(r.Write), nil)
	r.Read = without(resolved(r.Read), slices.Concat(system, r.Write))
	r.Rules = confine.Rules{
		Read:  slices.Concat(system, resolved(under("/etc", settings)), r.Read),
		Write: slices.Concat(resolved(devices), r.Write), Connect: confine.Ports{Any: true},
	}
	return r, nil
}

// system returns the folders of the system's programs, without those that hold codemode's secrets.
func (g *guard) system(r *Reach) (folders []string) {
	for _, dir := range resolved(programs) {
		if err := judge(g.secrets, dir, ""); err != nil && dir != "/proc" && dir != "/sys" {
			r.Notes = append(r.Notes, fmt.Sprintf("it does not read %s: %v", dir, err))
			continue
		}
		folders = append(folders, dir)
	}
	return folders
}

// judge refuses a file or folder with power. A path that does not exist gives none.
func judge(marks *loader.Marks, path, server string) error {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return marks.JudgeFor(path, server)
}

// addProgram lets a server read its program, what belongs to it, and what it is started with.
func (g *guard) addProgram(r *Reach, server, program, search string) {
	folder := filepath.Dir(program)
	read := slices.Concat([]string{program, folder, partsOf(real(program))}, under(home(), toolchains),
		filepath.SplitList(search))
	prefix := filepath.Dir(folder)
	if filepath.Base(folder) == "bin" && prefix != filepath.Join(home(), ".local") {
		for _, mark := range []string{"pyvenv.cfg", "lib"} { // a virtual environment of Python, an installation of Node
			if _, err := os.Stat(filepath.Join(prefix, mark)); err == nil {
				read = append(read, prefix)
			}
		}
	}
	for _, path := range resolved(read) {
		if !tooBroad(path) && judge(g.secrets, path, server) == nil {
			r.Read = append(r.Read, path)
		}
	}
}

// partsOf returns the folder with all parts of a program: the modules that it was installed with, or the nearest folder
// that describes a package, or its own.
func partsOf(program string) string {
	const modules = "/node_modules/"
	if before, _, ok := strings.Cut(program, modules); ok {
		return before + strings.TrimSuffix(modules, "/")
	}
	for dir := filepath.Dir(program); !tooBroad(dir); dir = filepath.Dir(dir) {
		for _, name := range []string{"package.json", "pyproject.toml", "setup.py", "go.mod", "Cargo.toml", "Gemfile"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return dir
			}
		}
	}
	if dir := filepath.Dir(program); !tooBroad(dir) {
		return dir
	}
	return program
}

// addWord lets a server use the files that a word of its entry names: it reads a program, and reads and writes a
// folder, or the folder of a file that may not exist yet.
func (g *guard) addWord(r *Reach, server, where, word, dir string) {
	_, value, isFlag := strings.Cut(word, "=")
	for _, text := range []string{word, value} {
		if text == "" || text == value && !isFlag || strings.Contains(text, "://") {
			continue
		}
		path := checks.ExpandHome(text, dir)
		if !filepath.IsAbs(path) {
			var err error
			if path, err = filepath.Abs(path); err != nil {
				continue
			}
		}
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular() && isProgram(path, info):
			if parts := partsOf(real(path)); !hidden(parts) && judge(g.secrets, parts, server) == nil {
				r.Read = append(r.Read, parts)
			}
			continue
		case err == nil && info.IsDir():
		case err == nil && info.Mode().IsRegular(), err != nil && strings.Contains(text, "/"):
			path = filepath.Dir(path)
		default:
			continue
		}
		if path = real(path); !exists(path) {
			continue
		}
		err = judge(g.powers, path, server)
		switch {
		case tooBroad(path):
			err = errors.New("it holds much else")
		case hidden(path):
			err = errors.New("it is hidden in the home folder")
		}
		if err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("it does not get %s of its %s: %v", path, where, err))
			continue
		}
		r.Write = append(r.Write, path)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// isProgram guesses whether a file is run, and not data.
func isProgram(path string, info os.FileInfo) bool {
	return info.Mode()&0o111 != 0 || slices.Contains([]string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".rb", ".sh",
		".php", ".jar", ".pl", ".lua", ".wasm", ".dll"}, filepath.Ext(path))
}

// Folders is the folder of the folders that confined servers have to themselves; "" if there is no place for it.
func Folders() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "codemode-servers")
}

// addFolder gives a server a folder of its own for temporary files and for the packages that npx and uvx install: one
// server cannot change what another one runs. Servers of the same name in two tenants have two folders.
func (r *Reach) addFolder(tenant, server string, env map[string]string) error {
	base := Folders()
	if base == "" {
		r.Notes = append(r.Notes, "it has no folder for temporary files: set HOME or XDG_CACHE_HOME")
		return nil
	}
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, server)
	if tenant != "" { // whose name has no point
		name, server = tenant+"."+name, tenant+"."+server
	}
	dir := filepath.Join(base, fmt.Sprintf("%s-%x", name, sha256.Sum256([]byte(server)))[:len(name)+9])
	folders := map[string]string{"TMPDIR": "tmp", "XDG_CACHE_HOME": "cache", "npm_config_cache": "npm"}
	for variable, folder := range folders {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return fmt.Errorf("making its folder: %w", err)
		}
		taken := false
		for name := range env {
			taken = taken || strings.EqualFold(name, variable)
		}
		if !taken {
			r.env[variable] = filepath.Join(dir, folder)
		}
	}
	r.Write = append(r.Write, dir)
	return nil
}

// String says what a server may reach, for people.
func (r *Reach) String() string {
	text := "it reads and executes the system's programs"
	if len(r.Read) > 0 {
		text += " and " + strings.Join(r.Read, ", ")
	}
	if len(r.Write) > 0 {
		text += "; writes " + strings.Join(r.Write, ", ")
	}
	text += "; connects to every TCP port"
	for _, note := range r.Notes {
		text += "; " + note
	}
	return text
}

func lookUp(c upstream.Command) (string, error) { return upstream.LookPath(c.Name, c.Dir, c.Env) }

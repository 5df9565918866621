package setup

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/repository"
)

// otherName is the name of codemode in the files of a client in which another program has [ourName].
const otherName = "codemode-project"

// BinVariable names the program that is started as codemode: by the clients that init changes, and by the npm package.
const BinVariable = "CODEMODE_BIN"

// An origin says whose program a file is.
type origin int

const (
	unclear origin = iota // it is not there, or starts another program, such as a script for a shell
	ours                  // this program, in any version
	foreign
)

// headSize is how much of a file is read to find what a script starts.
const headSize = 16 << 10

var inNodeModules = regexp.MustCompile(`node_modules[/\\]((?:@[\w.-]+[/\\])?\w[\w.-]*)`)

// originOf reads whose program a file is. It runs nothing: what another program does when it is run is unknown. what
// describes a foreign one.
func originOf(path string) (o origin, what string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return unclear, ""
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() {
		return unclear, ""
	}
	if isThisFile(real, info) {
		return ours, ""
	}
	if _, err := os.Stat(strings.TrimSuffix(real, filepath.Ext(real)) + ".shim"); err == nil {
		return unclear, "" // Scoop's program that starts another one
	}
	head, script := scriptOf(real)
	// A shim of npm, pnpm or yarn names the package that it starts; a link of theirs leads into it.
	if found := inNodeModules.FindAllStringSubmatch(real+"\n"+head, -1); found != nil {
		name := strings.ReplaceAll(found[len(found)-1][1], `\`, "/")
		if strings.HasPrefix(name, repository.NPM) {
			return ours, ""
		}
		return foreign, "npm package " + name
	}
	built, err := buildinfo.ReadFile(real)
	switch {
	case err == nil && built.Main.Path == repository.Module:
		return ours, ""
	case !script && namesCodemode(path) && !namesCodemode(real):
		return unclear, "" // a link to what starts many programs, such as a version manager
	case err == nil && built.Main.Path != "":
		return foreign, "Go module " + built.Main.Path
	case script && !regexp.MustCompile(`^#!.*\b(node|deno|bun|python|ruby|perl)`).MatchString(head):
		return unclear, ""
	}
	return foreign, "not built from " + repository.Module
}

// scriptOf is the beginning of a file, if it is a script.
func scriptOf(path string) (head string, script bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", true // it says nothing
	}
	defer func() { _ = f.Close() }() // it is only read
	text, err := io.ReadAll(io.LimitReader(f, headSize))
	ending := strings.ToLower(filepath.Ext(path))
	if script = strings.HasPrefix(string(text), "#!") || ending == ".cmd" || ending == ".bat" || ending == ".ps1"; !script {
		return "", err != nil
	}
	return string(text), true
}

// isThisFile reports whether a file is that of this program, or a copy of it.
func isThisFile(path string, info os.FileInfo) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	own, err := os.Stat(self)
	return err == nil && (os.SameFile(own, info) || own.Size() == info.Size() && sameContent(self, path))
}

func sameContent(a, b string) bool {
	sum := func(path string) (h [sha256.Size]byte, err error) {
		data, err := os.ReadFile(path)
		return sha256.Sum256(data), err
	}
	x, err := sum(a)
	y, errY := sum(b)
	return err == nil && errY == nil && x == y
}

// originOfWord is the origin of the program that a word of a command names, for a server that starts in dir.
func originOfWord(word, dir string) origin {
	if bin := os.Getenv(BinVariable); bin != "" && word == bin {
		return ours
	}
	path, err := word, error(nil)
	if !strings.ContainsAny(word, `/\`) {
		if path, err = exec.LookPath(word); err != nil {
			return unclear
		}
	} else if path = checks.ExpandHome(word, dir); !filepath.IsAbs(path) {
		return unclear
	}
	o, _ := originOf(path)
	return o
}

// A Namesake is another program with the name codemode on the PATH.
type Namesake struct {
	Path, What string
	First      bool // it is what the word codemode starts
}

// FindNamesake finds the first other program with the name codemode in the folders of a PATH.
func FindNamesake(path string) (n Namesake, found bool) {
	first := true
	for _, dir := range filepath.SplitList(path) {
		file, err := exec.LookPath(filepath.Join(dir, ourName)) // which adds the endings of Windows
		if err != nil || dir == "" {
			continue
		}
		if o, what := originOf(file); o == foreign {
			return Namesake{Path: file, What: what, First: first}, true
		}
		first = false
	}
	return Namesake{}, false
}

// String says what the other program means for this one.
func (n Namesake) String() string {
	if n.First {
		return fmt.Sprintf("this is another program (%s), which the word codemode starts in place of this one", n.What)
	}
	return fmt.Sprintf("this is another program (%s), behind this one on the PATH", n.What)
}

// WayOut says how a person has both programs.
func (n Namesake) WayOut() string {
	return "start this one as " + ownPath() + "; docs/installing.md says how to have both"
}

// ownPath is the path of this program that stays: the one that a person chose, or that of its file.
func ownPath() string {
	if path := os.Getenv(BinVariable); filepath.IsAbs(path) {
		return path
	}
	path, err := os.Executable()
	if err != nil {
		return ourName
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}

// command is what a person types to start this program.
func (p places) command() string {
	if n, found := FindNamesake(p.env("PATH")); found && n.First {
		return cli.ShellWord(ownPath())
	}
	return ourName
}

// isNamesake reports whether an entry has the name of codemode, and is not codemode.
func (e *clientEntry) isNamesake() bool { return folded(ourName)(e.name) && !e.isCodemode() }

// nameIn is the name under which codemode comes into a client.
func (c *mcpClient) nameIn(found []*clientFile) string {
	for _, f := range found {
		for _, e := range f.entries {
			if f.client == c && e.isNamesake() {
				return otherName
			}
		}
	}
	return ourName
}

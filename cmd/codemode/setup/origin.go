package setup

import (
	"crypto/sha256"
	"debug/buildinfo"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/internal/repository"
)

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
	if !strings.HasPrefix(string(text), "#!") && !slices.Contains([]string{".cmd", ".bat", ".ps1"}, ending) {
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

// namesCodemode reports whether a word of a command names this program: a file, a package with a version, a module or
// an image.
func namesCodemode(word string) bool {
	word = strings.ToLower(filepath.ToSlash(strings.ReplaceAll(word, `\`, "/")))
	if i := strings.LastIndexByte(word, '='); i >= 0 { // --package=codemode
		word = word[i+1:]
	}
	for word != "" {
		base := strings.TrimRight(word, "/.")
		base = base[strings.LastIndexByte(base, '/')+1:]
		name := base
		if at := strings.IndexAny(name, "@:"); at > 0 { // a version or a tag
			name = name[:at]
		}
		for _, suffix := range []string{".exe", ".cmd", ".bat", ".ps1", ".sh", ".appimage"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if name == "codemode" || strings.HasPrefix(name, "codemode-") || strings.HasPrefix(name, "codemode_") {
			return true
		}
		at := strings.LastIndexByte(word, '@') // module/path@v1.2.3 and @scope/name@1
		if at <= 0 || strings.Contains(base, "@") {
			return false
		}
		word = word[:at]
	}
	return false
}

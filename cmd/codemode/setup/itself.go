package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/checks"
)

// isCodemode recognises codemode, which must not become its own upstream: by a word that names this program followed by
// "serve", in any command; by the file of this program under any name; by the flags of "codemode serve"; by our
// variables; and by the address of a codemode that serves over HTTP. A person can add a server that init omits by
// mistake; codemode would refuse a codemode server at each start.
func (e *clientEntry) isCodemode() bool {
	s := &e.server
	if s.URL != "" {
		return e.isAddress(s.URL)
	}
	var words []string
	ends := func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`;&|()<>", r) }
	for _, word := range append([]string{s.Command}, s.Args...) { // a line for a shell is one argument
		words = append(words, strings.FieldsFunc(word, ends)...)
	}
	if e.runsImage(words) || slices.ContainsFunc(words, func(word string) bool { return e.isAddress(word) }) {
		return true
	}
	serve := slices.Index(words, "serve")
	if serve < 0 {
		return false
	}
	for name := range s.Env {
		if strings.HasPrefix(strings.ToUpper(name), "CODEMODE_") {
			return true
		}
	}
	for i, word := range words {
		behind := slices.Contains(words[i+1:], "serve")
		if behind && (namesCodemode(word) || isThisProgram(word, s.Dir)) {
			return true
		}
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if i > serve && (strings.HasPrefix(word, "-") && slices.Contains(serveFlags, name) ||
			strings.Contains(strings.ToLower(word), "codemode")) {
			return true
		}
	}
	return strings.EqualFold(e.name, "codemode")
}

// runsImage reports whether the words start an image of codemode, which serves without being told to.
func (e *clientEntry) runsImage(words []string) bool {
	run := slices.Index(words, "run")
	return run > 0 && slices.ContainsFunc(words[:run], func(word string) bool {
		return slices.Contains([]string{"docker", "podman", "nerdctl"}, filepath.Base(word))
	}) && slices.ContainsFunc(words[run:], func(word string) bool {
		return !strings.ContainsAny(word, "=") && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "/") && namesCodemode(word)
	})
}

// serveFlags are flags of "codemode serve" that few other programs have.
var serveFlags = []string{"profile", "project", "session", "console", "state"}

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

// isThisProgram reports whether a word is the file of this program, under any name, or a copy of it.
func isThisProgram(word, dir string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	path := word
	if !strings.ContainsAny(word, `/\`) {
		if path, err = exec.LookPath(word); err != nil {
			return false
		}
	} else if path = checks.ExpandHome(word, dir); !filepath.IsAbs(path) {
		return false
	}
	ours, err := os.Stat(self)
	if err != nil {
		return false
	}
	theirs, err := os.Stat(path)
	if err != nil || !theirs.Mode().IsRegular() {
		return false
	}
	return os.SameFile(ours, theirs) || ours.Size() == theirs.Size() && sameContent(self, path)
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

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// isAddress reports whether a text is the address of a codemode that serves over HTTP: at its path and under its name.
func (e *clientEntry) isAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	path := strings.TrimSuffix(u.Path, "/")
	ours := path == "/mcp" || strings.HasPrefix(path, "/mcp/")
	named := strings.Contains(strings.ToLower(e.name), "codemode") ||
		slices.ContainsFunc(strings.Split(strings.ToLower(u.Hostname()), "."),
			func(part string) bool { return part == "codemode" })
	return ours && named
}

package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/repository"
)

// isCodemode recognises codemode, which must not become its own upstream: by a word that names this program followed by
// "serve", in any command; by the file of this program under any name; by the address of a codemode that serves over
// HTTP. Where the file of the command does not say whose it is, the flags of "codemode serve" and our variables tell.
// Another program with the name codemode, which its file or its package tells, is a server like others.
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
	fetched, local := false, false // a word before names a program that fetches packages; and starts installed ones first
	for i, word := range words {
		if !slices.Contains(words[i+1:], "serve") {
			break
		}
		bare, _, _ := strings.Cut(word, "@")
		if fetched && namesCodemode(word) && (isOurPackage(word) || local && bare == ourName) {
			return true
		}
		if o := originOfWord(word, s.Dir); !fetched && (o == ours || o == unclear && namesCodemode(word)) {
			return true
		}
		name := strings.TrimSuffix(filepath.Base(word), filepath.Ext(word))
		fetched, local = fetched || slices.Contains(fetchers, name), local || slices.Contains(fetchers[:7], name)
	}
	return originOfWord(words[0], s.Dir) == unclear && !namesCodemode(words[0]) && e.servesAsWeDo(words[serve+1:])
}

// fetchers are programs that start a package or a module by its name. Codemode's are named after its organisation; the
// first seven start an installed codemode by its bare name, too.
var fetchers = []string{"npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "deno", "uv", "uvx", "pipx", "go"}

// isOurPackage reports whether a word after a fetcher names a package of codemode, or a folder.
func isOurPackage(word string) bool {
	return strings.Contains(word, repository.NPM) || strings.Contains(word, repository.Module) ||
		strings.HasPrefix(word, ".") || filepath.IsAbs(word)
}

// servesAsWeDo reports whether what follows "serve", or the environment, is that of codemode.
func (e *clientEntry) servesAsWeDo(words []string) bool {
	for name := range e.server.Env {
		if strings.HasPrefix(strings.ToUpper(name), "CODEMODE_") {
			return true
		}
	}
	return slices.ContainsFunc(words, func(word string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		return strings.HasPrefix(word, "-") && slices.Contains(serveFlags, name) ||
			strings.Contains(strings.ToLower(word), "codemode")
	})
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
var serveFlags = []string{"profile", "project", "session", "console", "state", "surface"}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// isAddress reports whether a text is the address of a codemode that serves over HTTP: at its path and under its name.
// /mcp on another machine is the path of most servers, and a name that only the client knows says nothing about it.
func (e *clientEntry) isAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	path := strings.TrimSuffix(u.Path, "/")
	host, profile := strings.ToLower(u.Hostname()), strings.HasPrefix(path, "/mcp/")
	if slices.Contains(strings.Split(host, "."), ourName) {
		return profile || path == "/mcp"
	}
	here := host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
	return strings.Contains(strings.ToLower(e.name), ourName) && (profile || here && path == "/mcp")
}

package house

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// The Go code on the pages is part of a test or of an example, and so it compiles and does what they say.
func TestThePagesForEmbeddersShowWhatRuns(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("examples/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var runs string
	for _, file := range append(files, "example_test.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		runs += flush(string(text))
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	blocks := 0
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "```go\n")[1:] {
			blocks++
			code, _, _ := strings.Cut(part, "```")
			for piece := range strings.SplitSeq(code, "\n// ...\n") {
				if !strings.Contains(runs, flush(piece)) {
					t.Errorf("%s shows what no example has:\n%s", page, piece)
				}
			}
		}
	}
	if blocks < 8 {
		t.Errorf("the pages show %d blocks of Go", blocks)
	}
}

// flush removes the indentation.
func flush(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}

// A stranger reads go doc, and writes what it shows into a module of their own. go get finds everything in the module
// that we would publish, and the program does what it says.
func TestTheProgramOfThePackageDoc(t *testing.T) {
	t.Parallel()
	program := programOfTheDoc(t)
	lines := 0
	_, body, _ := strings.Cut(program, "\n)\n") // below the imports
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > 40 {
		t.Errorf("the program has %d lines", lines)
	}
	dir := t.TempDir()
	always := append(os.Environ(), "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw")
	env := append(slices.Clone(always), "GOPROXY=file://"+filepath.ToSlash(publish(t)), "GOMODCACHE="+moduleCache(t))
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(in, name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) string {
		out, err := run("", "go", args...)
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	command("mod", "init", "example.org/shop")
	command("get", published.Path)
	const files = `{{if not .Standard}}{{.ImportPath}} {{.GoFiles}} {{.EmbedFiles}}{{end}}`
	got := command("list", "-deps", "-f", files, ".")
	// To compile from the module cache would take minutes. The same files in the checkout are compiled already.
	command("mod", "edit", "-replace", published.Path+"="+here)
	env = append(always, "GOPROXY=off")
	if want := command("list", "-deps", "-f", files, "."); got != want {
		t.Errorf("the module that we publish has other files:\n%s", cmp.Diff(want, got))
	}
	command("build", "-o", "shop", ".")
	for _, row := range []struct {
		answer string
		want   []string
		fails  bool
	}{
		{"yes\n", []string{"shop.order", `article: "A-17"`, "count: 4", "yes or no? 10\n"}, false},
		{"no\n", []string{"a person refused this call", "1. shop__order refused (elicitation_declined)"}, true},
		{"", []string{"1. shop__order refused (no_approver)"}, true},
	} {
		out, err := run(row.answer, filepath.Join(dir, "shop"))
		if (err != nil) != row.fails {
			t.Errorf("the answer %q: %v", row.answer, err)
		}
		for _, want := range row.want {
			if !strings.Contains(out, want) {
				t.Errorf("the answer %q: it does not print %q:\n%s", row.answer, want, out)
			}
		}
	}
}

// programOfTheDoc is the program that go doc shows.
func programOfTheDoc(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	_, doc, ok := strings.Cut(file.Doc.Text(), "\n\tpackage main\n")
	program := "package main\n"
	for line := range strings.Lines(doc) {
		if line != "\n" && !strings.HasPrefix(line, "\t") {
			break
		}
		program += strings.TrimPrefix(line, "\t")
	}
	if !ok {
		t.Fatal("the package doc has no program")
	}
	return program
}

var published = module.Version{Path: "github.com/codemode-project/codemode", Version: "v0.0.1"}

// publish makes a module proxy in a folder, with the files of the repository as one version of the module.
func publish(t *testing.T) (proxy string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "-co", "--exclude-standard").Output()
	if err != nil {
		t.Skip("git lists the files, in a checkout of the repository: ", err)
	}
	var files []zip.File
	for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(path); err == nil { // else it is removed and not committed
			files = append(files, repositoryFile(path))
		}
	}
	proxy = t.TempDir()
	at := filepath.Join(proxy, filepath.FromSlash(published.Path), "@v")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := os.Create(filepath.Join(at, published.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := zip.Create(w, published, files); err != nil {
		t.Fatalf("the repository is no module that can be published: %v", err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	info, _ := json.Marshal(map[string]any{"Version": published.Version, "Time": time.Now()})
	for name, text := range map[string][]byte{published.Version + ".mod": mod, published.Version + ".info": info,
		"list": []byte(published.Version + "\n")} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return proxy
}

type repositoryFile string

func (f repositoryFile) Path() string                 { return string(f) }
func (f repositoryFile) Lstat() (os.FileInfo, error)  { return os.Lstat(string(f)) }
func (f repositoryFile) Open() (io.ReadCloser, error) { return os.Open(string(f)) }

// moduleCache makes a module cache that has all of this machine's but our module. A copy would have half a gigabyte,
// so it has links.
func moduleCache(t *testing.T) (cache string) {
	t.Helper()
	// go get reads go.mod files that no build of the module itself needs.
	if out, err := exec.CommandContext(t.Context(), "go", "mod", "download").CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, machine := t.TempDir(), strings.TrimSpace(string(out))
	owner := strings.Split(published.Path, "/")[1]
	folders := []string{".", "cache", "cache/download", "cache/download/github.com", "github.com"} // of our module
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(machine, folder))
		if err == nil {
			err = os.MkdirAll(filepath.Join(cache, folder), 0o700)
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if err != nil || slices.Contains(folders, filepath.ToSlash(path)) || e.Name() == owner || e.Name() == "lock" {
				continue
			}
			err = os.Symlink(filepath.Join(machine, path), filepath.Join(cache, path))
		}
		if err != nil {
			t.Skip("a module cache is made of links to that of this machine: ", err)
		}
	}
	return cache
}

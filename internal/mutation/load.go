package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// runtimeText is what the rewritten files call. It is compiled into the package under test.
//
//go:embed runtime.go.txt
var runtimeText string

const testMain = `package PACKAGE

import ("os"; "testing")

func TestMain(m *testing.M) { code := m.Run(); mutWrite(); os.Exit(code) }
`

// A loaded package: its files as they are, and what may be wrong in them.
type loaded struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string

	fset  *token.FileSet
	info  *types.Info
	types *types.Package
	sites []*site
	texts map[string][]byte // by path: the file with all mutants in it
}

// load reads a package with its types, which come from the compiler's export data of what it imports.
func load(pattern string) (*loaded, error) {
	out, err := command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Name,Export,GoFiles", pattern)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	p := &loaded{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one loaded
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[one.ImportPath] = one.Export
		*p = one // what was asked for comes last
	}
	p.fset = token.NewFileSet()
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	p.texts = map[string][]byte{}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(p.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", lookup)}
	if p.types, err = conf.Check(p.ImportPath, p.fset, files, p.info); err != nil {
		return nil, err
	}
	for i, f := range files {
		path := filepath.Join(p.Dir, p.GoFiles[i])
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p.texts[path] = p.rewrite(f, src)
	}
	return p, nil
}

// build compiles the tests with all mutants and returns the binary's path.
func (p *loaded) build(dir string) (string, error) {
	own := strings.NewReplacer("PACKAGE", p.Name, "SITES", strconv.Itoa(len(p.sites)))
	p.texts[filepath.Join(p.Dir, "zz_mutants.go")] = []byte(own.Replace(runtimeText))
	p.texts[filepath.Join(p.Dir, "zz_mutants_test.go")] = []byte(own.Replace(testMain))
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range p.texts {
		to := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
		overlay.Replace[path] = to
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	list, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants.test")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return "", err
	}
	_, err = command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", bin, p.ImportPath)
	return bin, err
}

func command(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, args[0], err, out, stderr.Bytes())
	}
	return out, nil
}

// Package house holds the repository to its bounds: what may import what, how large it is, and that its pages name what
// is there.
package house

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// TestMain makes the root of the repository the folder of the tests.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// A part is what a folder of the product measures.
type part struct {
	lines, exported int
	inside          dependencies
}

// The house is what the product measures, without tests and generated files.
type house struct {
	parts     map[string]*part // by folder
	functions []int            // lines of each, sorted
	types     map[string]int   // methods of each type
	// wide: lines of more than 120 characters, where a tab is one; values: context.WithValue
	lines, wide, values int
	fields, longer      int // of the Evaluator; longer: functions of more than 60 lines
	bench, tests        int // lines
	entries, repeats    int // of the root folder; pairs of places that share six lines
	// What the binary and an embedder's program compile.
	modules, embeddedModules, embeddedPackages int
}

// TestHouse measures the product (go test ./internal/house -run TestHouse -v). To measure an older commit, put this
// folder there.
func TestHouse(t *testing.T) {
	h := measure(t)
	n := len(h.functions)
	t.Logf("%d lines of product, %d of them over 120 characters", h.lines, h.wide)
	t.Logf("%d functions: p50 %d, p99 %d, longest %d lines, %d of more than 60", n, h.functions[n/2],
		h.functions[n*99/100],
		h.functions[n-1], h.longer)
	t.Logf("Evaluator: %d fields, %d methods; context.WithValue: %d", h.fields, h.types[". Evaluator"], h.values)
	for _, name := range slices.SortedFunc(maps.Keys(h.types), func(a, b string) int { return h.types[b] - h.types[a] })[:12] {
		t.Logf("%d methods: %s", h.types[name], name)
	}
	folders := slices.SortedFunc(maps.Keys(h.parts), func(a, b string) int {
		return cmp.Or(h.parts[b].lines-h.parts[a].lines, cmp.Compare(a, b))
	})
	for _, folder := range folders {
		p := h.parts[folder]
		t.Logf("%6d lines %4d exported; files: %s  %s", p.lines, p.exported, p.inside, folder)
	}
	t.Logf("dependencies between files of one package: %s", h.dependencies())
}

func (h *house) dependencies() (all dependencies) {
	for _, p := range h.parts {
		all.edges, all.cyclic, all.upward = all.edges+p.inside.edges, all.cyclic+p.inside.cyclic, all.upward+p.inside.upward
	}
	return all
}

// TestHouseBounds is a ratchet: a bound only goes down. Whoever lowers a figure lowers its bound in the same commit. The
// root package is held to what it is for: it wires.
func TestHouseBounds(t *testing.T) {
	h := measure(t)
	packages, exported := 0, 0
	for folder, p := range h.parts {
		if top, _, _ := strings.Cut(folder, "/"); top != "internal" && top != "cmd" {
			packages, exported = packages+1, exported+p.exported
		}
	}
	all, n := h.dependencies(), len(h.functions)
	for _, bound := range []struct {
		what      string
		got, most int
	}{
		{"lines of the root package", h.parts["."].lines, 1500},
		{"exported names of the root package", h.parts["."].exported, 60},
		{"fields of Evaluator", h.fields, 12},
		{"methods of Evaluator", h.types[". Evaluator"], 30},

		{"lines of the product", h.lines, 128131 + 3718 + 7930}, // doors that clients expect; APIs, commands (of 6,500 at most) and search
		{"lines of the benchmarks", h.bench, 11741},
		{"lines of tests", h.tests, 118390 + 3148 + 3560},
		{"pairs of places in the product that share six lines", h.repeats, 656},
		{"entries of the root folder", h.entries, 36},
		{"packages that others can import", packages, 13},
		{"their exported names", exported, 693},
		{"dependencies between files of one package, upward", all.upward, 73},
		{"the same, in cycles", all.cyclic, 211},
		{"methods of one type", slices.Max(slices.Collect(maps.Values(h.types))), 40},
		{"lines of a function, 99 of 100", h.functions[n*99/100], 52},
		{"lines of a function", h.functions[n-1], 97},
		{"lines of more than 120 characters", h.wide, 215},
		{"modules of the binary", h.modules, 66 + 1},                    // English endings,
		{"modules of a program that embeds", h.embeddedModules, 19 + 2}, // YAML, and English endings,
		{"our packages in it", h.embeddedPackages, 38 + 2},
	} {
		if t.Logf("%6d %s", bound.got, bound.what); bound.got > bound.most {
			t.Errorf("%s: got %d, want at most %d", bound.what, bound.got, bound.most)
		}
	}
}

var measured = sync.OnceValues(func() (*house, error) {
	out, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		return nil, err
	}
	h := &house{parts: map[string]*part{}, types: map[string]int{}}
	files := token.NewFileSet()
	root := map[string]bool{}
	var texts [][]byte
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSuffix(line, "\n")
		top, _, _ := strings.Cut(name, "/")
		root[top] = true
		kind := kindOf(name)
		if kind == "" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		switch kind {
		case aTest:
			h.tests += bytes.Count(text, []byte("\n"))
		case aBench:
			h.bench += bytes.Count(text, []byte("\n"))
		default:
			file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			h.add(files, path.Dir(name), text, file)
			texts = append(texts, text)
		}
	}
	h.entries, h.repeats = len(root), repeated(texts)
	slices.Sort(h.functions)
	if err := h.addCompiled(); err != nil {
		return nil, err
	}
	return h, h.addDependencies()
})

// The kinds of Go files.
const (
	ofProduct = "product"
	aBench    = "bench"
	aTest     = "test" // and what only tests import
)

// kindOf returns the kind of a file, "" if it is none of the kinds that are measured.
func kindOf(name string) string {
	folder := path.Dir(name)
	top, below, _ := strings.Cut(folder, "/")
	switch last := path.Base(folder); {
	case !strings.HasSuffix(name, ".go"), slices.Contains([]string{"examples", "guest", "testdata"}, top):
		return ""
	case strings.HasSuffix(name, "_test.go"), last != "." && strings.HasSuffix(last, "test"),
		slices.Contains([]string{"testwait", "hostile", "iofault"}, last):
		return aTest
	case top == "bench", below == "bench", strings.HasPrefix(below, "bench/"):
		return aBench
	}
	return ofProduct
}

// repeated counts the pairs of places that share six lines, with other names and values. Comments, imports, lines of
// punctuation and what stands in more than eight places do not count. What two places share is one pair, however long.
func repeated(texts [][]byte) (pairs int) {
	const lines, common = 6, 8
	places := map[string][]string{} // the lines before each
	for _, text := range texts {
		all := shapes(text)
		for i := range all[:max(len(all)-lines+1, 0)] {
			shared := strings.Join(all[i:i+lines], "\n")
			places[shared] = append(places[shared], all[max(i-1, 0)])
		}
	}
	for _, of := range places {
		for i := range of {
			for j := range i {
				if len(of) <= common && of[i] != of[j] {
					pairs++
				}
			}
		}
	}
	return pairs
}

// shapes returns the lines of a Go file with N for each name and V for each value.
func shapes(text []byte) (lines []string) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, 0)
	line, shape, words := 0, "", false
	for imports := false; ; {
		pos, tok, _ := s.Scan()
		if at := file.Line(pos); at != line || tok == token.EOF {
			if words && !imports {
				lines = append(lines, shape)
			}
			line, shape, words = at, "", false
		}
		switch {
		case tok == token.EOF:
			return lines
		case tok == token.IMPORT:
			imports = true
		case tok == token.TYPE, tok == token.FUNC, tok == token.VAR, tok == token.CONST:
			imports = false
		}
		switch {
		case tok == token.SEMICOLON:
		case tok == token.IDENT:
			shape, words = shape+" N", true
		case tok.IsLiteral():
			shape, words = shape+" V", true
		default:
			shape += " " + tok.String()
		}
	}
}

// addCompiled counts what the binary, and a program with the root package, compile.
func (h *house) addCompiled() error {
	count := func(of string) (modules, packages int, err error) {
		const format = "{{with .Module}}{{.Path}}\t{{.Main}}{{end}}"
		out, err := exec.Command("go", "list", "-deps", "-f", format, of).Output()
		known := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			name, main, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if main == "true" {
				packages++
			}
			if name != "" {
				known[name] = true
			}
		}
		return len(known), packages, err
	}
	var err, err2 error
	h.modules, _, err = count("./cmd/codemode")
	h.embeddedModules, h.embeddedPackages, err2 = count(".")
	return errors.Join(err, err2)
}

func measure(t *testing.T) *house {
	h, err := measured()
	if err != nil {
		t.Skip("git lists the files, in a checkout of the repository, and the go command builds them: ", err)
	}
	return h
}

// add measures one file.
func (h *house) add(files *token.FileSet, folder string, text []byte, file *ast.File) {
	p := h.parts[folder]
	if p == nil {
		p = &part{}
		h.parts[folder] = p
	}
	for line := range bytes.Lines(text) {
		p.lines++
		h.lines++
		if utf8.RuneCount(bytes.TrimSuffix(line, []byte("\n"))) > 120 {
			h.wide++
		}
	}
	h.values += bytes.Count(text, []byte("context.WithValue("))
	for _, d := range file.Decls {
		p.exported += exportedBy(d)
		f, ok := d.(*ast.FuncDecl)
		switch {
		case ok && f.Body != nil:
			n := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
			h.functions = append(h.functions, n)
			if n > 60 {
				h.longer++
			}
			if of := receiver(f); of != "" {
				h.types[folder+" "+of]++
			}
		case !ok && folder == ".":
			h.fields += fieldsOf(d.(*ast.GenDecl), "Evaluator")
		}
	}
}

// exportedBy counts the names that a declaration exports: types, functions, methods, constants and variables.
func exportedBy(d ast.Decl) (n int) {
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(receiver(d)) {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				count(s.Name)
			case *ast.ValueSpec:
				count(s.Names...)
			}
		}
	}
	return n
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// fieldsOf counts the fields of a struct, if the declaration is its.
func fieldsOf(d *ast.GenDecl, of string) (n int) {
	for _, s := range d.Specs {
		t, ok := s.(*ast.TypeSpec)
		if !ok || t.Name.Name != of {
			continue
		}
		if fields, ok := t.Type.(*ast.StructType); ok {
			for _, f := range fields.Fields.List {
				n += max(len(f.Names), 1)
			}
		}
	}
	return n
}

// dependencies are those between the files of packages: one file depends on another one of its package when it uses a
// function, method, type, constant or variable that the other one declares.
type dependencies struct {
	edges  int
	cyclic int // between files that depend on each other, directly or over others
	upward int // against the order of the files that has few of them
}

func (d dependencies) String() string {
	return fmt.Sprintf("%4d dependencies, %3d in cycles, %3d upward", d.edges, d.cyclic, d.upward)
}

// addDependencies has the compiler's view of each package of the product: which file declares what another one uses.
func (h *house) addDependencies() error {
	name, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return err
	}
	root := strings.TrimSpace(string(name))
	const format = "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}"
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", format, "./...").Output()
	if err != nil {
		return err
	}
	exports := map[string]string{}
	var ours [][]string
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[fields[0]] = fields[1]
		if fields[0] == root || strings.HasPrefix(fields[0], root+"/") {
			ours = append(ours, fields)
		}
	}
	files := token.NewFileSet()
	from := importer.ForCompiler(files, "gc", func(of string) (io.ReadCloser, error) { return os.Open(exports[of]) })
	for _, p := range ours {
		measured := h.parts[cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p[0], root), "/"), ".")]
		if measured == nil {
			continue
		}
		var parsed []*ast.File
		for _, name := range strings.Fields(p[3]) {
			file, err := parser.ParseFile(files, filepath.Join(p[2], name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			parsed = append(parsed, file)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		config := types.Config{Importer: from}
		if _, err := config.Check(p[0], files, parsed, info); err != nil {
			return err
		}
		measured.inside = between(files, p[0], info)
	}
	return nil
}

// between counts the dependencies between the files of one package.
func between(files *token.FileSet, pkg string, info *types.Info) (d dependencies) {
	uses := map[string]map[string]bool{}
	for id, object := range info.Uses {
		if object.Pkg() == nil || object.Pkg().Path() != pkg {
			continue
		}
		f, ok := object.(*types.Func)
		if object.Parent() != object.Pkg().Scope() && (!ok || f.Signature().Recv() == nil) {
			continue // a local name or a field
		}
		user, declarer := files.Position(id.Pos()).Filename, files.Position(object.Pos()).Filename
		if user == declarer {
			continue
		}
		for _, name := range []string{user, declarer} {
			if uses[name] == nil {
				uses[name] = map[string]bool{}
			}
		}
		uses[user][declarer] = true
	}
	for user, of := range uses {
		d.edges += len(of)
		for declarer := range of {
			if reaches(uses, declarer, user, map[string]bool{}) {
				d.cyclic++
			}
		}
	}
	d.upward = against(uses)
	return d
}

func reaches(uses map[string]map[string]bool, from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for next := range uses[from] {
		if !seen[next] && reaches(uses, next, to, seen) {
			return true
		}
	}
	return false
}

// against orders the files as Eades, Lin and Smyth do, users before what they use, and counts what runs the other way.
func against(uses map[string]map[string]bool) (n int) {
	left := slices.Sorted(maps.Keys(uses))
	for len(left) > 0 {
		best, most := 0, -len(uses)
		for i, name := range left {
			out, in := 0, 0
			for _, other := range left {
				if uses[name][other] {
					out++
				}
				if uses[other][name] {
					in++
				}
			}
			switch {
			case out == 0: // it comes after all others of left, and nothing of it runs upward
				best, most = i, len(uses)+1
			case in == 0 && most < len(uses):
				best, most = i, len(uses)
			case out-in > most:
				best, most = i, out-in
			}
		}
		name := left[best]
		left = slices.Delete(left, best, best+1)
		if most == len(uses)+1 {
			continue
		}
		for _, other := range left { // name comes before them
			if uses[other][name] {
				n++
			}
		}
	}
	return n
}

// What only a build from nothing shows. Make house measures it, and writes testdata/house.json.
type built struct {
	// Binary is the size of the binary as go build makes it, in MB.
	Binary float64 `json:"binaryMB"`
	// Clean is the processor time of a build with an empty cache, to that of a build of net/http.
	Clean float64 `json:"cleanBuildToNetHTTP"`
}

const builtFile = "testdata/house.json"

// TestBuiltHouseBounds holds what was measured to the bounds, see [TestHouseBounds].
func TestBuiltHouseBounds(t *testing.T) {
	if os.Getenv("CODEMODE_HOUSE") != "" {
		writeBuilt(t)
	}
	text, err := os.ReadFile(builtFile)
	if err != nil {
		t.Fatal(err)
	}
	var is built
	if err := json.Unmarshal(text, &is); err != nil {
		t.Fatal(err)
	}
	const binary, clean = 70.9, 5.6
	if is.Binary > binary || is.Clean > clean || is.Binary == 0 || is.Clean == 0 {
		t.Errorf("%s has %+v, want at most %v MB and %v times net/http", builtFile, is, binary, clean)
	}
}

func writeBuilt(t *testing.T) {
	dir := t.TempDir()
	build := func(name string, args ...string) time.Duration {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"build"}, args...)...)
		cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, name), "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	file := filepath.Join(dir, "codemode")
	ours, usual := build("ours", "-o", file, "./cmd/codemode"), build("usual", "net/http")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	tenths := func(x float64) float64 { return float64(int(10*x+0.5)) / 10 }
	text, err := json.MarshalIndent(built{tenths(float64(info.Size()) / 1e6), tenths(ours.Seconds() / usual.Seconds())}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(builtFile, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("a build from nothing takes %v of processor time, one of net/http %v", ours, usual)
}

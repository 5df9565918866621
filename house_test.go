package codemode

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
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
	"unicode/utf8"
)

// A part is what a folder of the product measures.
type part struct {
	lines, exported int
	inside          dependencies
}

// The house is what the product measures, without tests and generated files.
type house struct {
	parts     map[string]*part // by folder
	functions []int            // lines of each, sorted
	// wide: lines of more than 120 characters, where a tab is one; values: context.WithValue
	lines, wide, values     int
	fields, methods, longer int // of the Evaluator; longer: functions of more than 60 lines
}

// TestHouse measures the product. To measure an older commit, put this file there.
//
//	go test . -run TestHouse -v
func TestHouse(t *testing.T) {
	h := measure(t)
	n := len(h.functions)
	t.Logf("%d lines of product, %d of them over 120 characters", h.lines, h.wide)
	t.Logf("%d functions: p50 %d, p99 %d, longest %d lines, %d of more than 60", n, h.functions[n/2],
		h.functions[n*99/100],
		h.functions[n-1], h.longer)
	t.Logf("Evaluator: %d fields, %d methods; context.WithValue: %d", h.fields, h.methods, h.values)
	folders := slices.SortedFunc(maps.Keys(h.parts), func(a, b string) int {
		return cmp.Or(h.parts[b].lines-h.parts[a].lines, cmp.Compare(a, b))
	})
	var all dependencies
	for _, folder := range folders {
		p := h.parts[folder]
		all.edges, all.cyclic, all.upward = all.edges+p.inside.edges, all.cyclic+p.inside.cyclic, all.upward+p.inside.upward
		t.Logf("%6d lines %4d exported; files: %s  %s", p.lines, p.exported, p.inside, folder)
	}
	t.Logf("dependencies between files of one package: %s", all)
}

// TestHouseBounds holds the root package to what it is for: it wires.
func TestHouseBounds(t *testing.T) {
	h := measure(t)
	for _, bound := range []struct {
		what      string
		got, most int
	}{
		{"lines of the root package", h.parts["."].lines, 1500},
		{"exported names of the root package", h.parts["."].exported, 60},
		{"fields of Evaluator", h.fields, 12},
		{"methods of Evaluator", h.methods, 30},
	} {
		if bound.got > bound.most {
			t.Errorf("%s: got %d, want at most %d", bound.what, bound.got, bound.most)
		}
	}
}

var measured = sync.OnceValues(func() (*house, error) {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		return nil, err
	}
	h := &house{parts: map[string]*part{}}
	files := token.NewFileSet()
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		name := lines.Text()
		if strings.HasSuffix(name, "_test.go") || !ofProduct(path.Dir(name)) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		h.add(files, path.Dir(name), text, file)
	}
	slices.Sort(h.functions)
	return h, h.addDependencies()
})

func measure(t *testing.T) *house {
	h, err := measured()
	if err != nil {
		t.Skip("git lists the files, in a checkout of the repository, and the go command builds them: ", err)
	}
	return h
}

func ofProduct(folder string) bool {
	top, _, _ := strings.Cut(folder, "/")
	return !slices.Contains([]string{"bench", "examples", "guest", "internal", "testdata"}, top) && folder != "store/storetest"
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
			if folder == "." && receiver(f) == "Evaluator" {
				h.methods++
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

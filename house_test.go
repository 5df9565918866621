package codemode

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// A part is what a folder of the product measures.
type part struct {
	lines, exported int
}

// TestHouse measures the product, without tests and generated files, and holds it to its bounds:
//
//	go test . -run TestHouse -v
func TestHouse(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "*.go").Output()
	if err != nil {
		t.Skip("the files are listed by git, in a checkout of the repository: ", err)
	}
	parts := map[string]*part{}
	var functions []int
	var fields, methods, values, all int
	files := token.NewFileSet()
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		name := lines.Text()
		top, _, _ := strings.Cut(name, "/")
		if strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"guest", "internal", "testdata"}, top) || strings.HasPrefix(name, "store/storetest/") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p := parts[path.Dir(name)]
		if p == nil {
			p = &part{}
			parts[path.Dir(name)] = p
		}
		n := bytes.Count(text, []byte("\n"))
		p.lines, all = p.lines+n, all+n
		values += bytes.Count(text, []byte("context.WithValue("))
		for _, d := range file.Decls {
			p.exported += exportedBy(d)
			f, ok := d.(*ast.FuncDecl)
			switch {
			case ok && f.Body != nil:
				functions = append(functions, files.Position(f.End()).Line-files.Position(f.Pos()).Line+1)
				if path.Dir(name) == "." && receiver(f) == "Evaluator" {
					methods++
				}
			case !ok && path.Dir(name) == ".":
				fields += fieldsOf(d.(*ast.GenDecl), "Evaluator")
			}
		}
	}
	slices.Sort(functions)
	t.Logf("%d lines of product, %d functions: p50 %d, p99 %d, longest %d lines", all, len(functions),
		functions[len(functions)/2], functions[len(functions)*99/100], functions[len(functions)-1])
	t.Logf("Evaluator: %d fields, %d methods; context.WithValue: %d", fields, methods, values)
	var folders []string
	for folder := range parts {
		folders = append(folders, folder)
	}
	slices.SortFunc(folders, func(a, b string) int { return parts[b].lines - parts[a].lines })
	for _, folder := range folders {
		t.Logf("%6d lines %4d exported  %s", parts[folder].lines, parts[folder].exported, folder)
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

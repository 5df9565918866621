package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// What docs/architecture.md names is there: in its blocks and in backquotes, each name of the form package.Function,
// package.Type.Method or Type.Method.
func TestTheArchitecturePageNamesWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := declarations(t)
	for i, part := range strings.Split(string(text), "```") {
		names := regexp.MustCompile("`([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)+)`")
		if i%2 == 1 { // a block
			names = regexp.MustCompile(`\b([A-Za-z]\w*(?:\.[A-Za-z]\w*)+)`)
		}
		for _, found := range names.FindAllStringSubmatch(part, -1) {
			pkg, name, _ := strings.Cut(found[1], ".")
			if token.IsExported(pkg) || declared[pkg] == nil && declared[""][pkg] { // a type
				pkg, name = "", found[1]
			}
			if _, err := os.Stat(found[1]); err == nil {
				continue // a file
			}
			if of := declared[pkg]; of != nil && !of[name] {
				t.Errorf("docs/architecture.md names %s, which is not there", found[1])
			}
		}
	}
}

// declarations lists, for each package of the product, its types, functions, and methods as Type.Method. The package ""
// has those of all packages.
func declarations(t *testing.T) map[string]map[string]bool {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "*.go").Output()
	if err != nil {
		t.Skip("git lists the files, in a checkout of the repository: ", err)
	}
	all := map[string]bool{}
	declared := map[string]map[string]bool{"": all}
	for _, file := range strings.Fields(string(out)) {
		if strings.HasSuffix(file, "_test.go") || path.Dir(file) == "testdata/attacks" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		of := declared[parsed.Name.Name]
		if of == nil {
			of = map[string]bool{}
			declared[parsed.Name.Name] = of
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				of[strings.TrimPrefix(receiver(d)+"."+d.Name.Name, ".")] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						declareType(of, s)
					}
				}
			}
		}
		maps.Copy(all, of)
	}
	return declared
}

func declareType(of map[string]bool, s *ast.TypeSpec) {
	of[s.Name.Name] = true
	var fields *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.InterfaceType:
		fields = t.Methods
	case *ast.StructType:
		fields = t.Fields
	default:
		return
	}
	for _, f := range fields.List {
		for _, name := range f.Names {
			of[s.Name.Name+"."+name.Name] = true
		}
	}
}

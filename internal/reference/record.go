package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// Record is the page of the record's format, from the types of packages audit and call and their comments.
func Record() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# The record\n\n" + generated +
		"Each entry is one JSON object; `codemode audit export` writes them, one a line, and " +
		"[REST](../rest.md#grants-and-the-record)\n" +
		"gives them to front ends. A field that does not apply is left out. [Security](../security.md#the-record) says " +
		"what the\n" +
		"record proves, and how to verify it.\n")
	var decls []ast.Decl
	for _, folder := range []string{"internal/record/audit", "call"} {
		entries := filepath.Join(root, folder, "entry.go")
		file, err := parser.ParseFile(token.NewFileSet(), entries, nil, parser.ParseComments)
		if err != nil {
			return "", err
		}
		decls = append(decls, file.Decls...)
	}
	for _, d := range decls {
		of, ok := d.(*ast.GenDecl)
		switch {
		case ok && of.Tok == token.CONST:
			title := strings.TrimSuffix(strings.TrimSpace(of.Doc.Text()), "\n")
			heading, more, _ := strings.Cut(title, ". ")
			fmt.Fprintf(&b, "\n## %s\n\n", strings.TrimSuffix(heading, "."))
			if more != "" {
				fmt.Fprintf(&b, "%s\n\n", prose(more))
			}
			b.WriteString(constants(of).String())
		case ok && of.Tok == token.TYPE:
			for _, s := range of.Specs {
				s := s.(*ast.TypeSpec)
				if fields, ok := s.Type.(*ast.StructType); ok {
					fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", s.Name.Name, prose(of.Doc.Text()), members(fields))
				}
			}
		}
	}
	return strings.Replace(b.String(), "## Entry\n", "## Entry and its place\n", 1), nil
}

// constants lists the values of constants and what is said of each.
func constants(d *ast.GenDecl) table {
	t := table{{"Value", "What it says"}}
	for _, s := range d.Specs {
		s := s.(*ast.ValueSpec)
		if of, ok := s.Values[0].(*ast.BasicLit); ok { // others are in package call
			t = append(t, []string{code(strings.Trim(of.Value, `"`)), prose(s.Comment.Text())})
		}
	}
	return t
}

// members lists the fields of a struct that are stored, by their names in JSON.
func members(of *ast.StructType) table {
	t := table{{"Field", "Value", "What it says"}}
	for _, f := range of.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name != "-" {
			t = append(t, []string{code(name), inJSON(f.Type), prose(f.Doc.Text() + f.Comment.Text())})
		}
	}
	return t
}

// inJSON says what a field of that type is in JSON.
func inJSON(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return inJSON(t.X)
	case *ast.ArrayType:
		return "list of " + inJSON(t.Elt)
	case *ast.MapType:
		return "object of " + inJSON(t.Value)
	case *ast.SelectorExpr:
		if t.Sel.Name == "Time" {
			return "time in RFC 3339"
		}
		return "JSON"
	case *ast.Ident:
		switch t.Name {
		case "string":
			return "string"
		case "int", "int64", "float64":
			return "number"
		case "bool":
			return "boolean"
		}
		return fmt.Sprintf("[%s](#%s)", t.Name, strings.ToLower(t.Name))
	}
	return ""
}

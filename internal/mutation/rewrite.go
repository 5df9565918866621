package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of mistakes.
const (
	boundary   = "boundary"   // < for <=
	negation   = "negation"   // != for ==, >= for <, !ok for ok
	logical    = "logical"    // || for &&
	operand    = "operand"    // a for a && b
	arithmetic = "arithmetic" // - for +, x for -x, -- for ++
	statement  = "statement"  // nothing for x = y or f(x)
)

var allKinds = []string{boundary, negation, logical, operand, arithmetic, statement}

// A site is a place where one mistake may be made.
type site struct {
	id         int
	kind       string
	file       string
	line, col  int
	text       string // the line
	nth        int    // among the sites of its kind with this text in this file
	condition  bool   // decides where the program goes
	sawTrue    bool   // for a condition, its outcomes; else that it was reached
	sawFalse   bool
	reached    []*test
	outcome    outcome
	killer     string
	equivalent *reason
}

// rewriting is one file being rewritten. Nodes are rendered from the outside in: what changes is built from the
// rendered parts, the rest is copied as it stands, so that lines keep their numbers.
type rewriting struct {
	*loaded
	src   []byte
	lines []string
	file  string
	conds map[ast.Expr]bool // expressions whose outcome decides where the program goes
	nth   map[string]int
}

func (p *loaded) rewrite(f *ast.File, src []byte) []byte {
	r := &rewriting{loaded: p, src: src, lines: strings.Split(string(src), "\n"),
		file: filepath.Base(p.fset.Position(f.Pos()).Filename), conds: map[ast.Expr]bool{}, nth: map[string]int{}}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			r.condition(n.Cond)
		case *ast.ForStmt:
			r.condition(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						r.condition(e)
					}
				}
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				r.condition(n)
			}
		}
		return true
	})
	return []byte(r.render(f))
}

// condition notes the leaves of a condition.
func (r *rewriting) condition(e ast.Expr) {
	switch x := e.(type) {
	case nil:
	case *ast.ParenExpr:
		r.condition(x.X)
	case *ast.UnaryExpr:
		r.condition(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			r.condition(x.X)
			r.condition(x.Y)
			return
		}
		r.conds[e] = true
	default:
		r.conds[e] = true
	}
}

// site makes a new site and returns its number.
func (r *rewriting) site(kind string, at token.Pos) int {
	pos := r.fset.Position(at)
	text := strings.TrimSpace(r.lines[pos.Line-1])
	key := kind + "\x00" + text
	r.nth[key]++
	s := &site{id: len(r.sites) + 1, kind: kind, file: r.file, line: pos.Line, col: pos.Column, text: text, nth: r.nth[key]}
	r.sites = append(r.sites, s)
	return s.id
}

// render returns the text of a node with every mistake in it that can be made there.
func (r *rewriting) render(n ast.Node) string {
	if text, ok := r.replace(n); ok {
		return text
	}
	return r.parts(n)
}

// parts returns the text of a node whose parts are rendered.
func (r *rewriting) parts(n ast.Node) string {
	type edit struct {
		start, end int
		text       string
	}
	var edits []edit
	ast.Inspect(n, func(c ast.Node) bool {
		switch d := c.(type) {
		case nil:
			return false
		case *ast.GenDecl:
			if d.Tok == token.CONST || d.Tok == token.TYPE || d.Tok == token.IMPORT {
				return false
			}
		case *ast.FuncType, *ast.CommentGroup:
			return false
		}
		if c == n {
			return true
		}
		if text, ok := r.replace(c); ok {
			edits = append(edits, edit{r.offset(c.Pos()), r.offset(c.End()), text})
			return false
		}
		return true
	})
	start, end := r.offset(n.Pos()), r.offset(n.End())
	if _, whole := n.(*ast.File); whole {
		start, end = 0, len(r.src)
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out bytes.Buffer
	for _, e := range edits {
		out.Write(r.src[start:e.start])
		out.WriteString(e.text)
		start = e.end
	}
	out.Write(r.src[start:end])
	return out.String()
}

func (r *rewriting) offset(p token.Pos) int { return r.fset.Position(p).Offset }

// replace returns the text that stands for a node in which a mistake can be made.
func (r *rewriting) replace(n ast.Node) (string, bool) {
	switch x := n.(type) {
	case *ast.BinaryExpr:
		return r.binary(x)
	case *ast.UnaryExpr:
		if name := r.typeName(x); x.Op == token.SUB && !r.constant(x) && name != "" {
			return fmt.Sprintf("mutNeg[%s](%d, %s)", name, r.site(arithmetic, x.OpPos), r.render(x.X)), true
		}
	case *ast.IncDecStmt:
		return r.incDec(x)
	case *ast.BlockStmt:
		return r.block(x)
	case *ast.CaseClause:
		return r.clause(x)
	}
	if e, ok := n.(ast.Expr); ok && r.conds[e] && !r.constant(e) {
		id := r.site(negation, e.Pos())
		r.sites[id-1].condition = true
		return fmt.Sprintf("mutNot(%d, %s)", id, r.parts(e)), true
	}
	return "", false
}

func (r *rewriting) binary(x *ast.BinaryExpr) (string, bool) {
	if r.constant(x) {
		return "", false
	}
	switch x.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		name := r.typeName(x.X)
		if name == "" || r.constant(x.X) {
			name = r.typeName(x.Y)
		}
		if name == "" {
			return "", false
		}
		id := r.site(boundary, x.OpPos)
		r.sites[r.site(negation, x.OpPos)-1].condition = r.conds[x]
		return fmt.Sprintf("mutOrd[%s](%d, %q, %s, %s)", name, id, x.Op, r.render(x.X), r.render(x.Y)), true
	case token.EQL, token.NEQ:
		id := r.site(negation, x.OpPos)
		r.sites[id-1].condition = r.conds[x]
		return fmt.Sprintf("mutNot(%d, %s %s %s)", id, r.render(x.X), x.Op, r.render(x.Y)), true
	case token.LAND, token.LOR:
		id := r.site(logical, x.OpPos)
		r.site(operand, x.X.Pos())
		r.site(operand, x.Y.Pos())
		name, result := "mutAnd", "bool"
		if x.Op == token.LOR {
			name = "mutOr"
		}
		if t := r.typeName(x); t != "" {
			result = t
		}
		return fmt.Sprintf("%s[%s](%d, %s, func() %s { return %s })", name, result, id, r.render(x.X), result, r.render(x.Y)), true
	case token.ADD, token.SUB, token.MUL, token.QUO:
		name := r.typeName(x)
		if b, _ := r.info.TypeOf(x).Underlying().(*types.Basic); name == "" || b == nil || b.Info()&types.IsNumeric == 0 {
			return "", false
		}
		function := map[token.Token]string{token.ADD: "mutAdd", token.SUB: "mutSub", token.MUL: "mutMul", token.QUO: "mutDiv"}[x.Op]
		return fmt.Sprintf("%s[%s](%d, %s, %s)", function, name, r.site(arithmetic, x.OpPos), r.render(x.X), r.render(x.Y)), true
	}
	return "", false
}

func (r *rewriting) incDec(x *ast.IncDecStmt) (string, bool) {
	if ix, ok := x.X.(*ast.IndexExpr); ok {
		if _, isMap := r.info.TypeOf(ix.X).Underlying().(*types.Map); isMap {
			return "", false // an element of a map has no address
		}
	}
	function := "mutInc"
	if x.Tok == token.DEC {
		function = "mutDec"
	}
	return fmt.Sprintf("%s(%d, &%s)", function, r.site(arithmetic, x.TokPos), r.render(x.X)), true
}

// block and clause make statements that can be left out.
func (r *rewriting) block(x *ast.BlockStmt) (string, bool) {
	return r.list(x.Lbrace, x.Rbrace+1, x.List), true
}

func (r *rewriting) clause(x *ast.CaseClause) (string, bool) {
	var head strings.Builder
	at := r.offset(x.Pos())
	for _, e := range x.List {
		head.Write(r.src[at:r.offset(e.Pos())])
		head.WriteString(r.render(e))
		at = r.offset(e.End())
	}
	return head.String() + r.list(token.Pos(int(x.Pos())+at-r.offset(x.Pos())), x.End(), x.Body), true
}

// list renders statements between two positions. Calls and assignments can be left out, each on its own.
func (r *rewriting) list(start, end token.Pos, statements []ast.Stmt) string {
	var out strings.Builder
	at := r.offset(start)
	for _, s := range statements {
		out.Write(r.src[at:r.offset(s.Pos())])
		at = r.offset(s.End())
		if removable(s) {
			id := r.site(statement, s.Pos())
			fmt.Fprintf(&out, "if !mutIs(%d) { %s }", id, r.render(s))
			continue
		}
		out.WriteString(r.render(s))
	}
	out.Write(r.src[at:r.offset(end)])
	return out.String()
}

// removable reports whether a program without the statement compiles as well.
func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && !slices.ContainsFunc(s.Lhs, isBlank)
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		name, _ := call.Fun.(*ast.Ident)
		return name == nil || name.Name != "panic" // it may be what ends a function
	}
	return false
}

func isBlank(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "_"
}

func (r *rewriting) constant(e ast.Expr) bool {
	tv, ok := r.info.Types[e]
	return ok && tv.Value != nil
}

// typeName is how the file may write the type of an expression, "" if it cannot be said in a word.
func (r *rewriting) typeName(e ast.Expr) string {
	t := r.info.TypeOf(e)
	if t == nil {
		return ""
	}
	b, ok := t.Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsUntyped != 0 || b.Info()&(types.IsOrdered|types.IsBoolean) == 0 {
		return ""
	}
	return types.TypeString(t, func(p *types.Package) string {
		if p == r.types {
			return ""
		}
		return p.Name()
	})
}

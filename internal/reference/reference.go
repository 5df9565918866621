// Package reference writes the pages of docs/reference from the code: commands, configuration keys, globals of
// programs, errors, the record. Its tests, and one in cmd/codemode, fail when a page is not what the code gives:
//
//	make reference
package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Check compares a page of docs/reference with the text that it should have. With UPDATE_REFERENCE in the environment
// it writes the page instead.
func Check(page, text string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	path := filepath.Join(root, "docs", "reference", page)
	if os.Getenv("UPDATE_REFERENCE") != "" {
		return os.WriteFile(path, []byte(text), 0o644)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if line, was, is := difference(string(got), text); line > 0 {
		return fmt.Errorf("docs/reference/%s is not what the code gives; make reference writes it anew\nline %d is   "+
			"%s\nit should be %s",
			page, line, was, is)
	}
	return nil
}

// difference is the first line that differs, from 1, and what it is in each text; 0 if there is none.
func difference(a, b string) (line int, inA, inB string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		inA, inB := "(nothing)", "(nothing)"
		if i < len(x) {
			inA = x[i]
		}
		if i < len(y) {
			inB = y[i]
		}
		if inA != inB {
			return i + 1, inA, inB
		}
	}
	return 0, "", ""
}

// Root is the folder of the repository.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("no go.mod in %s or above it", dir)
		}
		dir = above
	}
}

// generated stands on top of each page.
const generated = "<!-- Generated from the code. make reference writes it anew. -->\n\n"

// A table is written as Markdown: the first row is the head. No row and no column is left empty at the end.
type table [][]string

func (t table) String() string {
	var b strings.Builder
	for i, row := range t {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	return b.String()
}

// Names, addresses, patterns and variables in running text, which become code.
var codeInText = regexp.MustCompile("`[^`]*`|" +
	`\$\{[^}]*\}|https?://[^\s,;)]*[^\s,;).:]|\[[^\]]*\]|[^\s"',;(]*[_*<>|][^\s"',;.)]*`)

// pages are links from a description to another page of docs.
var pages = regexp.MustCompile(`\b([a-z-]+\.md)(#[a-z-]+)?\b`)

// prose writes running text so that Markdown shows it as it is.
func prose(text string) string {
	text = codeInText.ReplaceAllStringFunc(strings.Join(strings.Fields(text), " "), func(found string) string {
		return code(strings.Trim(found, "`"))
	})
	return pages.ReplaceAllString(text, "[$1](../$1$2)")
}

// code writes a text as code in a cell of a table.
func code(text string) string { return "`" + strings.ReplaceAll(text, "|", `\|`) + "`" }

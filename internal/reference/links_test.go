package reference

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLinks: every link inside the documents leads to a file that is there, and to a heading that is there. Every page
// is listed in docs/README.md, from which the site has its navigation, or in the README of its folder.
func TestLinks(t *testing.T) {
	pages := documents(t)
	linked := map[string][]string{}
	for name, text := range pages {
		for _, to := range links(text) {
			file, fragment, _ := strings.Cut(to, "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			linked[name] = append(linked[name], target)
			if err := leads(pages, target, fragment); err != nil {
				t.Errorf("%s: the link to %s: %v", name, to, err)
			}
		}
	}
	for name := range pages {
		index := path.Join(path.Dir(name), "README.md")
		if path.Base(name) == "README.md" {
			index = path.Join(path.Dir(path.Dir(name)), "README.md")
		}
		if strings.HasPrefix(name, "docs/") && name != "docs/README.md" && !strings.HasPrefix(name, "docs/upstream/") &&
			!slices.Contains(linked["docs/README.md"], name) && !slices.Contains(linked[index], name) {
			t.Errorf("neither docs/README.md nor %s lists %s", index, name)
		}
	}
}

// documents are the pages whose links have to be right, by their names in the repository.
func documents(t *testing.T) map[string]string {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, of := range []string{"*.md", "docs", "examples", ".github"} {
		found, err := filepath.Glob(filepath.Join(root, of))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range found {
			err := filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(name, ".md") {
					return err
				}
				text, err := os.ReadFile(name)
				if below, inside := filepath.Rel(root, name); inside == nil {
					pages[filepath.ToSlash(below)] = withoutCode(string(text))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(pages) < 30 {
		t.Fatalf("there are %d documents below %s", len(pages), root)
	}
	return pages
}

var (
	fence      = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inline     = regexp.MustCompile("`[^`\n]*(?:\n[^`\n]+)?`")
	link       = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\)`)
	definition = regexp.MustCompile(`(?m)^\[[^\]]+\]: (\S+)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	identity   = regexp.MustCompile(`<a id="([^"]+)">`)
)

// withoutCode empties what is shown as it is: blocks, and code in the text of links and headings stays as words.
func withoutCode(text string) string {
	text = fence.ReplaceAllString(text, "")
	var b strings.Builder
	blank := true
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "    ") || !blank {
			b.WriteString(line)
			blank = strings.TrimSpace(line) == ""
		}
	}
	return b.String()
}

// links are those that lead into the repository.
func links(text string) (to []string) {
	text = inline.ReplaceAllString(text, "code")
	for _, found := range append(link.FindAllStringSubmatch(text, -1), definition.FindAllStringSubmatch(text, -1)...) {
		if !strings.Contains(found[1], "://") && !strings.HasPrefix(found[1], "mailto:") {
			to = append(to, found[1])
		}
	}
	return to
}

// leads says what is wrong with a link.
func leads(pages map[string]string, target, fragment string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	if strings.HasPrefix(target, "..") {
		return fmt.Errorf("it leaves the repository")
	}
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		return fmt.Errorf("there is no %s", target)
	}
	text, ok := pages[target]
	if fragment != "" && ok && !slices.Contains(anchors(text), fragment) {
		return fmt.Errorf("%s has no heading for #%s; it has %s", target, fragment, strings.Join(anchors(text), " "))
	}
	return nil
}

// anchors are the fragments of a page: its headings as GitHub writes them, and those that it names itself.
func anchors(text string) (all []string) {
	seen := map[string]int{}
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		s := githubSlug(found[1])
		if n := seen[s]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", s, n))
		} else {
			all = append(all, s)
		}
		seen[s]++
	}
	for _, found := range identity.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// githubSlug is GitHub's rule: lower case, blanks become hyphens, and of the rest letters, digits, - and _ stay.
func githubSlug(title string) string {
	title = linkText.ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// TestLinksThatLeadNowhere: the test of links sees what is wrong.
func TestLinksThatLeadNowhere(t *testing.T) {
	pages := map[string]string{
		"docs/rules.md": "# Rules\n\n## `raise`: {\"a\"}\n\n## Two\n\n## Two\n\n<a id=\"x.y\"></a>\n",
	}
	for _, x := range []struct {
		target, fragment, want string
	}{
		{"docs/rules.md", "", ""},
		{"docs/rules.md", "raise-a", ""},
		{"docs/rules.md", "two-1", ""},
		{"docs/rules.md", "x.y", ""},
		{"docs/rules.md", "three", "no heading for #three"},
		{"docs/none.md", "", "there is no docs/none.md"},
		{"../elsewhere.md", "", "leaves the repository"},
	} {
		err := leads(pages, x.target, x.fragment)
		if got := fmt.Sprint(err); (x.want == "") != (err == nil) || !strings.Contains(got, x.want) {
			t.Errorf("%s#%s: got %v, want %q", x.target, x.fragment, err, x.want)
		}
	}
	text := withoutCode("[a](b.md \"c\") `[d](e.md)`\n\n    [f](g.md)\n\n```\n[h](i.md)\n```\n\n[j]: k.md\n" +
		"[l](https://m/n.md)\n")
	if got := strings.Join(links(text), " "); got != "b.md k.md" {
		t.Errorf("got the links %q, want b.md k.md", got)
	}
}

// TestTheThreatTableNamesTests: each test that docs/threats.md names is in the folder that stands before it, or below.
func TestTheThreatTableNamesTests(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string][]string{} // of each test
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, found := range aTestFunction.FindAllStringSubmatch(string(text), -1) {
			folders[found[1]] = append(folders[found[1]], filepath.ToSlash(filepath.Dir(name))+"/")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "threats.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for line := range strings.Lines(string(text)) {
		folder := ""
		for _, found := range aNamedTest.FindAllStringSubmatch(line, -1) {
			if found[1] != "" {
				folder = found[1]
				continue
			}
			named++
			if !slices.ContainsFunc(folders[found[2]], func(in string) bool { return strings.Contains(in, "/"+folder+"/") }) {
				t.Errorf("%s has no %s; it is in %q", folder, found[2], folders[found[2]])
			}
		}
	}
	if named < 50 {
		t.Errorf("the table names %d tests", named)
	}
}

var (
	aTestFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	aNamedTest    = regexp.MustCompile("`([a-z][\\w/]*)`|\\b((?:Test|Fuzz)[A-Z]\\w+)")
)

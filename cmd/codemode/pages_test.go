package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checkout is the root of the repository, as seen from this folder.
const checkout = "../.."

// A block is a fenced block of a page.
type block struct {
	page     string // below the repository
	line     int    // of its fence
	language string
	text     string
	file     string // the name that the paragraph above says to save it under; "" for most
	answer   string // what the paragraph above says to type; "" for most
}

func (b block) at() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// name tells a block from the others of its page, and stays when lines above it change: 40 bytes of its first line.
func (b block) name() string {
	first, _, _ := strings.Cut(b.text, "\n")
	first = strings.Join(strings.Fields(first), " ")
	return b.page + ": " + strings.TrimSpace(first[:min(40, len(first))])
}

// A span is text between backticks in a line.
type span struct {
	page string
	line int
	text string
}

func (s span) at() string { return fmt.Sprintf("%s:%d", s.page, s.line) }

// A page is a document for people, taken apart.
type page struct {
	blocks   []block
	spans    []span
	problems []string
}

// pagesForPeople are the documents that the tests execute.
func pagesForPeople(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md", ".github/CONTRIBUTING.md"}
	for _, folder := range []string{"docs", "examples"} {
		err := fs.WalkDir(os.DirFS(checkout), folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

// readPages takes all documents apart.
func readPages(t *testing.T) (all page) {
	t.Helper()
	for _, name := range pagesForPeople(t) {
		p := readPage(name, readText(t, filepath.Join(checkout, name)))
		all.blocks = append(all.blocks, p.blocks...)
		all.spans = append(all.spans, p.spans...)
		all.problems = append(all.problems, p.problems...)
	}
	return all
}

var (
	aFence    = regexp.MustCompile("^( *)(```+|~~~+) *([^` ]*)(.*)$")
	aListItem = regexp.MustCompile(`^( *)([-*+]|\d+[.)])( +)\S`)
	aSpan     = regexp.MustCompile("`([^`]+)`")
	aFileName = regexp.MustCompile("(?:as|into) `([^` ]+)`:$")
	anAnswer  = regexp.MustCompile("(?:[Tt]ype|Answer) `([^`]+)`")
)

// readPage takes a page apart. Code that only its indentation marks is a problem: it has no language.
func readPage(name, text string) (p page) {
	var open *block
	var fence, above string
	var paragraph []string // its lines, as spans may go on in the next one
	offset, first := 0, 0  // offset: where the text of the current list item begins
	file, answer := "", ""
	endOfParagraph := func() {
		joined := strings.Join(paragraph, "\n")
		if joined != "" {
			file, answer = "", ""
		}
		if found := aFileName.FindStringSubmatch(joined); found != nil {
			file = found[1]
		}
		if found := anAnswer.FindStringSubmatch(joined); found != nil {
			answer = found[1]
		}
		for _, at := range aSpan.FindAllStringSubmatchIndex(joined, -1) {
			line := first + strings.Count(joined[:at[0]], "\n")
			p.spans = append(p.spans, span{name, line, strings.Join(strings.Fields(joined[at[2]:at[3]]), " ")})
		}
		paragraph = nil
	}
	for i, line := range strings.Split(text, "\n") {
		m := aFence.FindStringSubmatch(line)
		switch indentation := len(line) - len(strings.TrimLeft(line, " ")); {
		case open != nil && m != nil && strings.HasPrefix(m[2], fence) && m[3] == "":
			p.blocks, open = append(p.blocks, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, strings.Repeat(" ", offset)) + "\n"
		case m != nil:
			endOfParagraph()
			if len(m[1]) < offset {
				offset = 0
			}
			open, fence = &block{page: name, line: i + 1, language: m[3], file: file, answer: answer}, m[2]
			file, answer = "", ""
			if m[3] == "" || strings.TrimSpace(m[4]) != "" {
				p.problems = append(p.problems, fmt.Sprintf("%s: a fence names one language, and nothing else", open.at()))
			}
		case strings.TrimSpace(line) == "":
			endOfParagraph()
		default:
			item := aListItem.FindStringSubmatch(line)
			switch {
			case above == "" && indentation >= offset+4:
				p.problems = append(p.problems, fmt.Sprintf("%s:%d: code without a fence", name, i+1))
			case item != nil:
				offset = len(item[1]) + len(item[2]) + len(item[3])
			case indentation < offset && above == "":
				offset = 0
			}
			if len(paragraph) == 0 {
				first = i + 1
			}
			paragraph = append(paragraph, line)
		}
		above = strings.TrimSpace(line)
	}
	endOfParagraph()
	if open != nil {
		p.problems = append(p.problems, fmt.Sprintf("%s: the fence has no end", open.at()))
	}
	return p
}

func TestReadPage(t *testing.T) {
	p := readPage("x.md", "Say `codemode run\nFILE` or `--a`.\n\n- one\n\n  more\n\n  ```sh\n  a\n    b\n  ```\n\n"+
		"Save as `f.x`:\n\n"+
		"```\nx\n```\n\n    indented\n\n~~~js\n```\n~~~\n\n```ts with words\n")
	var got []string
	for _, b := range p.blocks {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %q %s", b.line, b.language, b.text, b.file)))
	}
	for _, s := range p.spans {
		got = append(got, fmt.Sprintf("%d %s", s.line, s.text))
	}
	want := []string{`8 sh "a\n  b\n"`,
		`15  "x\n" f.x`, `21 js "` + "```" + `\n"`, "1 codemode run FILE", "2 --a", "13 f.x"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	problems := []string{"x.md:15: a fence names one language, and nothing else", "x.md:19: code without a fence",
		"x.md:25: a fence names one language, and nothing else", "x.md:25: the fence has no end"}
	if !slices.Equal(p.problems, problems) {
		t.Errorf("got  %q\nwant %q", p.problems, problems)
	}
}

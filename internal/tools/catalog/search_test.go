package catalog_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// A question is what somebody looks for, and the tools that are right.
type question struct {
	words string
	right []string
}

func questions(t testing.TB, file string) []question {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []question
	for line := range strings.Lines(string(data)) {
		if words, right, ok := strings.Cut(strings.TrimSpace(line), " => "); ok && !strings.HasPrefix(line, "#") {
			out = append(out, question{words, strings.Fields(right)})
		}
	}
	return out
}

// inFirst counts the questions with a right tool among the first n matches.
func inFirst(c *catalog.Catalog, qs []question, n int) (hits int, missed []string) {
	for _, q := range qs {
		var got []string
		for _, m := range c.Search(q.words, n, nil) {
			got = append(got, m.Tool.Name)
		}
		if slices.ContainsFunc(got, func(name string) bool { return slices.Contains(q.right, name) }) {
			hits++
		} else {
			missed = append(missed, fmt.Sprintf("%q: got %s, want %s", q.words, strings.Join(got, ", "),
				strings.Join(q.right, " or ")))
		}
	}
	return hits, missed
}

func TestPlainQuestionsFindTheRightTool(t *testing.T) {
	c := realCatalog(t)
	for _, row := range []struct {
		file         string
		questions    int
		inFirstThree int // percent
	}{
		{"testdata/questions.txt", 60, 95},
		{"testdata/questions_more.txt", 60, 95},
		{"testdata/questions_hard.txt", 20, 80},
	} {
		qs := questions(t, row.file)
		if len(qs) < row.questions {
			t.Errorf("%s: only %d questions", row.file, len(qs))
		}
		for _, q := range qs {
			for _, name := range q.right {
				if _, err := c.Find(name); err != nil {
					t.Errorf("%q: %v", q.words, err)
				}
			}
		}
		first, _ := inFirst(c, qs, 1)
		three, missed := inFirst(c, qs, 3)
		t.Logf("%s: of %d questions %d are right at once, %d in the first three; missed:\n%s", row.file, len(qs), first,
			three, strings.Join(missed, "\n"))
		if three*100 < len(qs)*row.inFirstThree {
			t.Errorf("%s: the right tool is in the first three for %d of %d, want %d %%", row.file, three, len(qs),
				row.inFirstThree)
		}
	}
}

func TestSearch(t *testing.T) {
	c := catalog.New()
	c.Replace("files", []catalog.Tool{
		{Raw: "read_file", Description: "Reads a file."},
		{Raw: "deleteFile", Description: "Deletes a file."},
		{Raw: "copy", Description: "Copies.",
			Input: json.RawMessage(`{"properties":{"destination":{"description":"where to"}}}`)},
	})
	c.Replace("web", []catalog.Tool{{Raw: "HTTPGet", Description: "Gets a page."}})
	for _, row := range []struct {
		name, query string
		limit       int
		want        string
	}{
		{"an exact name comes first", "read_file", 1, "files__read_file"},
		{"names are split where they change case", "delete file", 1, "files__deleteFile"},
		{"capitals are one word", "http get", 1, "web__HTTPGet"},
		{"word forms do not matter", "deleting files", 1, "files__deleteFile"},
		{"words of the same meaning count", "remove", 1, "files__deleteFile"},
		{"parameters count", "destination", 1, "files__copy"},
		{"the beginning of a word counts", "dest", 1, "files__copy"},
		{"the server's name counts", "web", 1, "web__HTTPGet"},
		{"nothing fits", "zebra", 5, ""},
		{"an empty query lists all", " ", 0, "files__copy files__deleteFile files__read_file web__HTTPGet"},
		{"an empty query can be limited", "", 2, "files__copy files__deleteFile"},
		{"only small words match nothing by accident", "the of", 5, ""},
		{"symbols match nothing", "***", 5, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, m := range c.Search(row.query, row.limit, nil) {
				got = append(got, m.Tool.Name)
			}
			if s := strings.Join(got, " "); s != row.want {
				t.Errorf("Search(%q, %d) = %s, want %s", row.query, row.limit, s, row.want)
			}
		})
	}
	hidden := c.Search("file", 0, func(t *catalog.Tool) bool { return t.Raw != "read_file" })
	if len(hidden) == 0 || slices.ContainsFunc(hidden, func(m catalog.Match) bool { return m.Tool.Raw == "read_file" }) {
		t.Errorf("what is not visible is found, or nothing else: %v", hidden)
	}
}

// crowd fills a catalogue with copies of the real servers until it has n tools.
func crowd(t testing.TB, n int) *catalog.Catalog {
	t.Helper()
	real := realTools(t)
	c := catalog.New()
	for i := 0; n > 0; i++ {
		for server, tools := range real {
			if tools = tools[:min(n, len(tools))]; len(tools) > 0 {
				c.Replace(fmt.Sprintf("%s%d", server, i), slices.Clone(tools))
				n -= len(tools)
			}
		}
	}
	return c
}

func BenchmarkSearch(b *testing.B) {
	qs := questions(b, "testdata/questions.txt")
	c := crowd(b, 5000)
	hits, _ := inFirst(realCatalog(b), qs, 3)
	i := 0
	for b.Loop() {
		c.Search(qs[i%len(qs)].words, 10, nil)
		i++
	}
	b.ReportMetric(100*float64(hits)/float64(len(qs)), "%in-first-3")
}

// BenchmarkSearchWhileAListChanges is a search beside a server whose list never rests.
func BenchmarkSearchWhileAListChanges(b *testing.B) {
	c := crowd(b, 5000)
	git := realTools(b)["git"]
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				c.Replace("git0", slices.Clone(git))
			}
		}
	}()
	for b.Loop() {
		c.Search("commit my changes", 10, nil)
	}
	close(stop)
	<-stopped
}

func BenchmarkReplace(b *testing.B) {
	c := crowd(b, 5000)
	git := realTools(b)["git"]
	for b.Loop() {
		c.Replace("git0", slices.Clone(git))
	}
}

func BenchmarkFind(b *testing.B) {
	c := crowd(b, 5000)
	for b.Loop() {
		if _, err := c.Find("git0__git_commit"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNotFound(b *testing.B) {
	c := crowd(b, 5000)
	for b.Loop() {
		if _, err := c.Find("git0__git_comit"); err == nil {
			b.Fatal("found")
		}
	}
}

func BenchmarkDeclarations(b *testing.B) {
	tools := realCatalog(b).Tools()
	for b.Loop() {
		catalog.Declarations(tools)
	}
}

func TestSearchFindsNamesOfEveryScript(t *testing.T) {
	c := catalog.New()
	c.Replace("s", tools("获取天气", "查询航班", "moneyflow_hsgt_备份", "créer_événement", "получить_погоду", "날씨조회", "天気を見る",
		"straße_suchen", "मौसम_देखें", "ดูสภาพอากาศ", "get-user", "get_user"))
	for query, want := range map[string]string{
		"天气": "获取天气", "查询航班": "查询航班", "航班 flight": "查询航班", "备份": "moneyflow_hsgt_备份", "moneyflow备份": "moneyflow_hsgt_备份",
		"creer evenement": "créer_événement", "événement": "créer_événement", "погоду": "получить_погоду", "ПОГОДУ": "получить_погоду",
		"날씨를": "날씨조회", "天気": "天気を見る", "strasse": "straße_suchen", "मौसम": "मौसम_देखें", "อากาศ": "ดูสภาพอากาศ",
		"ｇｅｔ": "get_user", "evene\u0301ment": "créer_événement",
	} {
		found := c.Search(query, 1, nil)
		if len(found) != 1 || found[0].Tool.Name != "s__"+want {
			t.Errorf("%q finds %v, want %s", query, found, want)
		}
	}
	if found := c.Search("get user", 0, nil); len(found) != 2 {
		t.Errorf("names with suffixes: %v", found)
	}
}

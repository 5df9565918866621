package search

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func corpus(t *testing.T) *Corpus {
	t.Helper()
	text, err := os.ReadFile("testdata/tools.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCorpus(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPlainQuestionsFindTools(t *testing.T) {
	text, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseQuestions(string(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Measure(t.Context(), corpus(t), all)
	if err != nil {
		t.Fatal(err)
	}
	if r.Tools != 61 || r.Frozen || r.Tuning.Questions != 20 || r.HeldOut.Questions != 20 {
		t.Errorf("got %+v", r)
	}
	first, five := r.Tuning.First+r.HeldOut.First, r.Tuning.FirstFive+r.HeldOut.FirstFive
	var table, list bytes.Buffer
	if err := r.Write(&table, "table", true); err != nil {
		t.Fatal(err)
	}
	if first < 28 || five < 35 {
		t.Errorf("of 40 questions %d are right at once and %d in the first five, want at least 28 and 35:\n%s", first, five,
			table.String())
	}
	if got := strings.Count(table.String(), "\n  want "); got != 40-five {
		t.Errorf("the report lists %d missed questions, want %d", got, 40-five)
	}
	if err := r.Write(&list, "json", false); err != nil || !json.Valid(list.Bytes()) {
		t.Errorf("the JSON: %v", err)
	}
}

func TestTheQuestionsAreWellFormed(t *testing.T) {
	all, err := Questions()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 150 {
		t.Errorf("%d questions, want at least 150", len(all))
	}
	seen := map[string]bool{}
	for _, q := range all {
		if seen[q.Text] || len(q.Right) == 0 {
			t.Errorf("the question %q is there twice, or has no right tool", q.Text)
		}
		seen[q.Text] = true
		for _, name := range q.Right {
			if server, tool, ok := strings.Cut(name, "/"); !ok || server == "" || tool == "" {
				t.Errorf("the question %q: %q is not server/tool", q.Text, name)
			}
		}
	}
	if len(strings.TrimSpace(frozen)) != 64 {
		t.Errorf("the digest of the corpus is %q", frozen)
	}
}

func TestWhatIsWrongWithACorpusOrQuestion(t *testing.T) {
	for _, text := range []string{"{", `{"server": "x"}`, `{"name": "x"}`} {
		if _, err := ParseCorpus([]byte(text)); err == nil {
			t.Errorf("%s is a corpus", text)
		}
	}
	if _, err := ParseQuestions("a question without an answer"); err == nil {
		t.Error("a line without an arrow is a question")
	}
	if _, err := Measure(t.Context(), corpus(t), []Question{{"anything", []string{"no/such_tool"}}}); err == nil {
		t.Error("a question wants a tool that is not in the corpus")
	}
	if _, err := Measure(t.Context(), corpus(t), nil); err == nil {
		t.Error("no questions are measured")
	}
}

package discovery

import (
	"os"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	checktest.OK(t, err)
	return text
}

func TestPlainQuestionsFindTools(t *testing.T) {
	r, err := MeasureRecall(t.Context(), readFile(t, "testdata/tools.jsonl"), readFile(t, "testdata/questions.txt"))
	checktest.OK(t, err)
	if r.Tools != 61 || r.Frozen || r.Tuning.Questions != 20 || r.HeldOut.Questions != 20 {
		t.Errorf("got %+v", r)
	}
	first, five := r.Tuning.First+r.HeldOut.First, r.Tuning.FirstFive+r.HeldOut.FirstFive
	r.Verbose = true
	table := written(t, r)
	if first < 28 || five < 35 {
		t.Errorf("of 40 questions %d are right at once and %d in the first five, want at least 28 and 35:\n%s", first, five,
			table)
	}
	if got := strings.Count(table, "\n  want "); got != 40-five {
		t.Errorf("the report lists %d missed questions, want %d", got, 40-five)
	}
}

func TestTheQuestionsAreWellFormed(t *testing.T) {
	all, err := parseQuestions(ownQuestions)
	checktest.OK(t, err)
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
	tools := string(readFile(t, "testdata/tools.jsonl"))
	for _, row := range []struct{ corpus, questions, want string }{
		{"{", "", "reading the corpus"},
		{`{"server": "x"}`, "", "no name"},
		{`{"name": "x"}`, "", "no server"},
		{tools, "a question without an answer", "has no =>"},
		{tools, "anything =>  ", "has no =>"},
		{tools, "anything => no/such_tool", "is not in the corpus"},
		{tools, "", "there are no questions"},
	} {
		_, err := MeasureRecall(t.Context(), []byte(row.corpus), []byte(row.questions))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%.20s with %q: got %v, want %s", row.corpus, row.questions, err, row.want)
		}
	}
}

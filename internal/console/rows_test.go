package console

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/console/records"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// A row of a batch names its call and shows what tells it from the others, however deep that stands; history shows
// nested values.
func TestRowsOfABatchShowWhatVaries(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	var calls []*prompt.Request
	for i, amount := range []string{"5.00", "9.00"} {
		calls = append(calls, aCall(func(r *prompt.Request) {
			r.Call, r.Code = i+4, fmt.Sprintf("a00%d", i)
			r.Args = json.RawMessage(`{"to":"supplier","amount":{"value":"` + amount + `","currency":"EUR"}}`)
		}))
	}
	w.ask(calls...)
	rows := regexp.MustCompile(`<p class="summary"[^>]*>(.*)</p>`).FindAllStringSubmatch(v.get("/").body, -1)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, want := range []string{"call 4, code a000: /amount/value: &#34;5.00&#34;",
		"call 5, code a001: /amount/value: &#34;9.00&#34;"} {
		if rows[i][1] != want {
			t.Errorf("row %d: %s, want %s", i, rows[i][1], want)
		}
	}
	page := v.get("/").body
	text := regexp.MustCompile(`(?s)<pre class="text read wide">.*?</pre>`).FindString(page)
	if strings.Contains(text, "5.00") || strings.Contains(text, "call 4, ") || !strings.Contains(text, "supplier") {
		t.Errorf("the text above the rows says what they say:\n%s", text)
	}
	for _, a := range v.pending() {
		if strings.Contains(a.Summary, "hidden") || !strings.Contains(a.Summary, "/amount/value: ") {
			t.Errorf("summary %s", a.Summary)
		}
	}
	shown := records.RowOf(&audit.Entry{Entry: call.Entry{Kind: audit.Call, Tool: "pay__create",
		Args: &call.EntryArgs{Redacted: calls[1].Args}}})
	if want := `to: "supplier", /amount/value: "9.00", /amount/currency: "EUR"`; shown.Summary != want {
		t.Errorf("history shows %s, want %s", shown.Summary, want)
	}
}

// Where rows have no room for all that differs, the text above them has it.
func TestRowsThatAreCutStandInTheText(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	var calls []*prompt.Request
	for i := range 2 {
		calls = append(calls, aCall(func(r *prompt.Request) {
			r.Call = i + 1
			r.Args = json.RawMessage(fmt.Sprintf(`{"n":%d,"body":"%send%d"}`, i, strings.Repeat("a word ", 30), i))
		}))
	}
	w.ask(calls...)
	text := regexp.MustCompile(`(?s)<pre class="text read wide">.*?</pre>`).FindString(v.get("/").body)
	if !strings.Contains(text, "end0") || !strings.Contains(text, "end1") {
		t.Errorf("the text lacks what the rows cut:\n%s", text)
	}
}

// Who asked for a call that somebody else must answer sees it without anything to press, among others of the run.
func TestWhoAskedHasNothingToPress(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.May = func(person, _ string) bool { return person == "ben" } })
	go w.desk.AskAll(t.Context(), []*prompt.Request{aCall(), aCall(func(r *prompt.Request) { r.Call, r.Code = 2, "8a4b" })},
		[]approvals.Channel{w.queue, silent{}}, approvals.Options{Timeout: time.Minute, OtherOnly: true})
	w.until("they wait", func() bool { return w.waiting() == 2 })
	self, other := w.login(anna), w.login("ben")
	for _, a := range self.pending() {
		for _, path := range []string{"/", "/ask/" + a.ID} {
			page := self.get(path).body
			main, _, _ := strings.Cut(page, `<section id="answered"`)
			main, _, _ = strings.Cut(main, "</main>")
			_, main, _ = strings.Cut(main, "<main")
			if !strings.Contains(main, "wants somebody else to answer") || strings.Contains(main, "/answer\"") ||
				strings.Contains(main, `type="checkbox"`) || strings.Contains(main, "<textarea") {
				t.Errorf("%s has something to press:\n%s", path, main)
			}
			if got := other.get(path).body; !strings.Contains(got, `value="allow once"`) {
				t.Errorf("somebody else cannot answer on %s", path)
			}
		}
	}
}

// The tab of a page says how much waits, also if it is nothing.
func TestTheTabSaysWhatWaits(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	if got := v.get("/").body; !strings.Contains(got, "<title>Nothing waits · codemode</title>") {
		t.Error("the title of an empty page is another")
	}
	w.ask(aCall())
	if got := v.get("/").body; !strings.Contains(got, "<title>1 waiting · codemode</title>") {
		t.Error("the title of a page with a question is another")
	}
}

// A wrong code is called wrong; a missing one is asked for.
func TestAWrongCodeIsCalledWrong(t *testing.T) {
	w := newWorld(t)
	w.ask(aCall(func(r *prompt.Request) { r.Risk = call.High }))
	v := w.login(anna)
	a := v.pending()[0]
	for code, want := range map[string]string{
		"": "needs the code of the question", "0000": "the code is wrong", "7f3": "the code is wrong",
	} {
		got, status := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: code})
		if status != 422 || !strings.Contains(got.Error, want) {
			t.Errorf("code %q: %d %s", code, status, got.Error)
		}
	}
	if got, status := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: " " + a.Code + " "}); status != 200 {
		t.Errorf("the right code: %d %s", status, got.Error)
	}
}

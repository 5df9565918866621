package console

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/console/records"
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
	for _, a := range v.pending() {
		if strings.Contains(a.Summary, "hidden") || !strings.Contains(a.Summary, "/amount/value: ") {
			t.Errorf("summary %s", a.Summary)
		}
	}
	shown := records.RowOf(&audit.Entry{Kind: audit.Call, Tool: "pay__create", Args: &audit.Args{Redacted: calls[1].Args}})
	if want := `to: "supplier", /amount/value: "9.00", /amount/currency: "EUR"`; shown.Summary != want {
		t.Errorf("history shows %s, want %s", shown.Summary, want)
	}
}

package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// payments are n calls with arguments that are made by args, which is given their indexes.
func payments(n int, args func(i int) string) []*Request {
	var calls []*Request
	for i := range n {
		calls = append(calls, &Request{
			Server: "pay", Tool: "create", Name: "pay__create", Profile: "p", Risk: call.Medium,
			Code: fmt.Sprintf("%04x", 0xa000+i),
			Args: json.RawMessage(args(i)), Run: "r1", Call: i + 3,
		})
	}
	return calls
}

// What differs in nested arguments stands in the rows of a batch, in its table and in the summary of a call.
func TestABatchShowsWhatVariesInNestedArguments(t *testing.T) {
	long := strings.Repeat("x", 4000)
	tests := []struct {
		why  string
		args func(i int) string
		same []string // once in the table, and in no row
		rows []string // parts of the first row and of the second
	}{
		{"an amount", func(i int) string {
			return fmt.Sprintf(`{"to":"anna","amount":{"value":"%d.00","currency":"EUR"}}`, 5+4*i)
		}, []string{`to: "anna"`, `/amount/currency: "EUR"`}, []string{`/amount/value: "5.00"`, `/amount/value: "9.00"`}},
		{"an element of a list", func(i int) string {
			return fmt.Sprintf(`{"items":[{"sku":"a","n":1},{"sku":"b","n":%d}]}`, 5+4*i)
		}, []string{`/items/0/sku: "a"`, `/items/1/sku: "b"`}, []string{`/items/1/n: 5`, `/items/1/n: 9`}},
		{"a list of texts", func(i int) string {
			return fmt.Sprintf(`{"to":["a","%c"]}`, 'b'+i)
		}, nil, []string{`to: ["a", "b"]`, `to: ["a", "c"]`}},
		{"deep", func(i int) string {
			return fmt.Sprintf(`{"a":{"b":{"c":{"d":{"e":{"f":{"g":%d}}}}}}}`, i)
		}, nil, []string{"/a/b/c/d/e/f/g: 0", "/a/b/c/d/e/f/g: 1"}},
		{"a key that is no word", func(i int) string {
			return fmt.Sprintf(`{"a/b":{"0":%d,"x y":[]}}`, i)
		}, []string{`/"a/b"/"x y": []`}, []string{`/"a/b"/"0": 0`, `/"a/b"/"0": 1`}},
		{"one has it and the other does not", func(i int) string {
			return []string{`{"a":1}`, `{"a":1,"force":true}`}[i]
		}, []string{"a: 1"}, []string{"the same as others", "force: true"}},
		{"a secret", func(i int) string {
			return fmt.Sprintf(`{"headers":[{"name":"Authorization","value":"hunter%d"}],"n":%d}`, i, i)
		}, nil, []string{"/headers/0/value: (hidden: 7 characters)", "n: 1"}},
		{"the middle of a long text", func(i int) string {
			return fmt.Sprintf(`{"text":"%s%d%s"}`, long, i, long)
		}, nil, []string{"7921 characters hidden", "7921 characters hidden"}},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			calls := payments(2, test.args)
			rows, _ := Rows(calls)
			table := RenderAll(calls, RenderOptions{}).Text()
			for i, want := range test.rows {
				begin := fmt.Sprintf("call %d, code a%03x: ", i+3, i)
				if !strings.HasPrefix(rows[i], begin) || !strings.Contains(rows[i], want) {
					t.Errorf("row %d: want %q and %q in\n%s", i, begin, want, rows[i])
				}
				checkInert(t, rows[i])
			}
			if rows[0][len("call 3, code a000"):] == rows[1][len("call 4, code a001"):] {
				t.Errorf("different calls have the same row: %s", rows[0])
			}
			for _, want := range test.same {
				if strings.Count(table, want) != 1 || strings.Contains(rows[0], want) {
					t.Errorf("%q is shown not once, or in a row:\n%s\n%s", want, table, rows[0])
				}
			}
			if test.why == "a secret" && strings.Contains(table+rows[0]+rows[1], "hunter") {
				t.Errorf("a secret is shown:\n%s%v", table, rows)
			}
			checkInert(t, table)
		})
	}
}

// Fifty calls with nested arguments fit: no row is left out and nothing in them is hidden.
func TestFiftyAlikeAreShownWhole(t *testing.T) {
	calls := payments(50, func(i int) string {
		to := fmt.Sprintf(`{"name":"supplier %d","iban":"FR76 %04d"}`, i, i)
		amount := fmt.Sprintf(`{"value":"%d.00","currency":"EUR"}`, 100+i)
		return fmt.Sprintf(`{"from":{"iban":"DE02 1203"},"to":%s,"amount":%s,"subject":"invoice 2026-%d"}`, to, amount, i)
	})
	for _, width := range []int{40, 60, 96} {
		shown := RenderAll(calls, RenderOptions{Width: width})
		if shown.Cut || !shown.Complete {
			t.Errorf("width %d: something is left out:\n%s", width, shown.Text())
		}
		for i := range calls {
			if want := fmt.Sprintf(`/amount/value: "%d.00"`, 100+i); strings.Count(shown.Text(), want) != 1 {
				t.Errorf("width %d: %s is not there once", width, want)
			}
		}
		if strings.Count(shown.Text(), `"EUR"`) != 1 {
			t.Error("what is the same is repeated")
		}
	}
}

// Calls keep their numbers when others of the batch are answered.
func TestCallsKeepTheirNumbers(t *testing.T) {
	calls := issues(4)
	if rows, _ := Rows(calls[2:]); !strings.HasPrefix(rows[0], "call 3, code 0002: ") {
		t.Errorf("got %q", rows)
	}
	if _, s := schemaOf(t, calls[2:], oneOf); s.Properties["decision_1"].Title != "Call 3: github.close_issue, code 0002" {
		t.Errorf("got %+v", s.Properties)
	}
	calls[3].Run = "another"
	if rows, _ := Rows(calls[2:]); !strings.HasPrefix(rows[0], "call 1, ") || !strings.HasPrefix(rows[1], "call 2, ") {
		t.Errorf("calls of two runs: %q", rows)
	}
}

// A short object that says by its name that its value is a secret is masked where it stands in one line, too.
func TestAShortSecretBesideItsNameIsMasked(t *testing.T) {
	r := request(call.Medium)
	r.Args = json.RawMessage(`{"headers":[{"name":"token","value":"abc123"}]}`)
	shown := Text(r, RenderOptions{})
	if strings.Contains(shown, "abc123") || !strings.Contains(shown, "(hidden: 6 characters)") {
		t.Errorf("got\n%s", shown)
	}
}

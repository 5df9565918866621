package console

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// misplaced is an error at a place in arguments.
type misplaced struct{ pointer, text string }

func (m misplaced) Error() string   { return m.text }
func (m misplaced) Pointer() string { return m.pointer }

// A person changes arguments in a form made from the tool's schema. The JSON beside it is the same value at every
// moment, what the form cannot express stays as it was written, and what is wrong is said at its field.
func TestArgumentsAreChangedInAForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(t)
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("the page is live", `document.getElementById("link").textContent.startsWith("Live")`)
	const args = `{"title":"Broken","body":"line 1\nline 2","amount":{"value":9007199254740993.10,"currency":"EUR"},` +
		`"labels":["a","b"],"extra":{"k":[1,2.0]},"unknown":"\u202ekept","milestone":null,"either":1}`
	check := func(raw json.RawMessage) error {
		var got struct {
			Title  string
			Amount struct{ Value any }
			Labels []string
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			return err
		}
		_, number := got.Amount.Value.(float64)
		switch {
		case !number:
			return misplaced{"/amount/value", "/amount/value: expected a number"}
		case slices.Contains(got.Labels, "bad"):
			return misplaced{"/labels/1", "/labels/1: no such label"}
		case strings.Contains(string(raw), `"k": [`):
			return misplaced{"/extra/k/0", "/extra/k/0: expected a letter"}
		}
		return nil
	}
	issueSchema, err := os.ReadFile("form/testdata/issue.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	answers := w.ask(aCall(func(r *prompt.Request) {
		r.Args, r.Edit, r.Input = json.RawMessage(args), check, issueSchema
	}))
	id := w.login(anna).pending()[0].ID
	b.Until("the question is there", `document.querySelectorAll("article.ask").length === 1`)
	b.Do("show it whole", chromedp.Click(chromedp.CSS(`.more a`)),
		chromedp.WaitVisible(chromedp.CSS(`details.edit summary`)))
	b.Do("change the arguments", chromedp.Click(chromedp.CSS(`details.edit summary`)),
		chromedp.WaitVisible(chromedp.CSS(`.fields`)))
	control := func(pointer string) string { return `.field[data-at="` + pointer + `"] > :is(textarea, input, select)` }
	holds := func(what string, values ...string) {
		t.Helper()
		for i := 0; i < len(values); i += 2 {
			b.Until(what+" "+values[i],
				fmt.Sprintf(`document.querySelector(%q).value === %q && !document.querySelector(%q).disabled`,
					control(values[i]), values[i+1], control(values[i])))
		}
	}
	set := func(pointer, to string) {
		t.Helper()
		b.Until("there is "+pointer, fmt.Sprintf(`(() => {
			const c = document.querySelector(%q);
			c.focus();
			c.value = %q;
			c.dispatchEvent(new Event("input", { bubbles: true }));
			c.blur();
			return true;
		})()`, control(pointer), to))
	}
	raw := func(what, part string) {
		t.Helper()
		b.Until(what, fmt.Sprintf(`document.getElementById("args").value.replace(/\s+/g, " ").includes(%q)`, part))
	}
	allow := chromedp.Click(chromedp.CSS(`details.edit button.yes`))
	said := func(pointer, text string) {
		t.Helper()
		b.Until("it is said at "+pointer,
			fmt.Sprintf(`document.querySelector('.field[data-at="%s"] > .problem').textContent.includes(%q)`, pointer, text))
	}

	holds("at first", "/title", "Broken", "/body", "line 1\nline 2", "/amount/value", "9007199254740993.10",
		"/amount/currency", `"EUR"`,
		"/labels/0", "a", "/labels/1", "b", "/draft", "", "/milestone", "", "/priority", "")
	b.Until("what the form lacks is named",
		`document.querySelector(".others").textContent.includes('"unknown"') && !document.querySelector(".others").hidden`)
	b.named()
	for _, width := range []int64{390, 1280} {
		b.Size(width, 900)
		for _, dark := range []bool{false, true} {
			b.Dark(dark)
			b.fits(fmt.Sprintf("the form at %d", width))
			b.Accessible(fmt.Sprintf("the form at %d, dark %t", width, dark))
			b.Shot(fmt.Sprintf("form-%d-dark-%t", width, dark))
		}
	}
	b.Size(1100, 900)
	b.Dark(false)

	set("/title", "Fix “it”")
	set("/priority", `"high"`)
	set("/draft", "true")
	set("/milestone", "12")
	set("/when/day", "2026-01-02")
	set("/a~1b~0c", "1e40")
	b.Do("one label less", chromedp.Click(chromedp.CSS(`.field[data-at="/labels/0"] .remove`)))
	b.Do("one more", chromedp.Click(chromedp.CSS(`.field[data-at="/labels"] .add`)))
	set("/labels/1", "c\nd")
	for _, part := range []string{`"title": "Fix “it”"`, `"priority": "high"`, `"draft": true`, `"milestone": 12`,
		`"when": {"day": "2026-01-02"}`, `"a/b~c": 1e40`,
		`"labels": [ "b", "c\nd" ]`, `"value": 9007199254740993.10`, `"extra": { "k": [ 1, 2.0 ] }`,
		`"unknown": "\u202ekept"`} {
		raw("the JSON has it", part)
	}
	set("/when/day", "")
	set("/draft", "")
	set("/body", "")
	set("/milestone", "")
	b.Until("what is left out is gone", `!/when|draft|body|milestone/.test(document.getElementById("args").value)`)

	edit := func(expression string) {
		t.Helper()
		b.Until("the JSON is written in", `(() => {
			const c = document.getElementById("args");
			c.value = `+expression+`;
			c.dispatchEvent(new Event("input", { bubbles: true }));
			return true;
		})()`)
	}
	edit(`c.value.replace('"Fix “it”"', '"As JSON"').replace('"b"', '7').replace("{", '{"draft": "maybe", ')`)
	holds("after the JSON was changed", "/title", "As JSON", "/labels/1", "c\nd")
	b.Until("what does not fit a field is left to the JSON", `['/labels/0', '/draft'].every((at) => {
		const field = document.querySelector('.field[data-at="' + at + '"]');
		return field.querySelector("textarea, select").disabled && !field.querySelector(".unfit").hidden;
	})`)
	edit(`c.value.replace(/7(?=,\s*"c)/, '"b"').replace('"maybe"', 'false') + "}"`)
	b.Until("the form waits while it is no JSON",
		`document.querySelector(".fields").disabled && !document.querySelector(".broken").hidden`)
	b.Settle()
	b.Do("send it", allow)
	b.Until("it says so", `document.getElementById("edit-problem").textContent.includes("not JSON") && document.getElementById("args").value.endsWith("}}")`)
	edit(`c.value.slice(0, -1)`)
	holds("when it is JSON again", "/title", "As JSON", "/draft", "false")

	set("/amount/value", "12,5")
	holds("what is no number yet stays", "/amount/value", "12,5")
	raw("also in the JSON", `"value": "12,5"`)
	b.Do("send it", allow)
	said("/amount/value", "expected a number")
	b.Until("the field has the focus, and is said to be wrong",
		`document.activeElement === document.querySelector('`+control("/amount/value")+`') && document.activeElement.getAttribute("aria-invalid") === "true"`)
	b.Accessible("the form with a problem")
	b.Shot("form-problem")
	set("/amount/value", "12.50")
	b.Until("it is said no more", `![...document.querySelectorAll(".field > .problem")].some((p) => p.textContent)`)
	set("/labels/1", "bad")
	b.Do("send it", allow)
	said("/labels/1", "no such label")
	set("/labels/1", "good")
	edit(`c.value.replace(/"k": \[\s*1,/, '"k": [1,')`)
	b.Do("send it", allow)
	said("/extra", "expected a letter")
	edit(`c.value.replace(/"k": \[/, '"k":[')`)
	if w.waiting() != 1 {
		t.Error("arguments that are wrong were taken")
	}

	v := w.login(anna)
	var whole Asked
	if v.get("/api/pending/" + id).json(&whole); string(whole.Input) == "" || !json.Valid(whole.Input) {
		t.Errorf("a front end gets the schema %q", whole.Input)
	}
	b.Do("send it", allow)
	a := answerOf(t, answers)[0]
	want := `{"draft":false,"title":"As JSON","amount":{"value":12.50,"currency":"EUR"},"labels":["b","good"],"extra":{"k":[1,2.0]},` +
		`"unknown":"\u202ekept","either":1,"priority":"high","a/b~c":1e40}`
	if got := compactOf(t, a.Args); !a.Allowed || got != want {
		t.Errorf("allowed %t\n got %s\nwant %s", a.Allowed, got, want)
	}
}

func compactOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b strings.Builder
	inText := false
	for i, c := range string(raw) {
		if c == '"' && raw[i-1] != '\\' {
			inText = !inText
		}
		if inText || c != ' ' && c != '\n' {
			b.WriteRune(c)
		}
	}
	return b.String()
}

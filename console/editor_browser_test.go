package console

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inEditor is an expression for the first thing with a selector in the editor of a file.
func inEditor(selector string) string {
	return fmt.Sprintf(`document.querySelector(".editor").shadowRoot.querySelector(%q)`, selector)
}

// edits puts the keyboard into the editor.
func (b *browser) edits() {
	b.t.Helper()
	b.until("the editor is there", `document.querySelector(".editor") !== null && `+inEditor(".cm-content")+` !== null`)
	b.until("it has the keyboard", `(`+inEditor(".cm-content")+`.focus(), document.activeElement.matches(".editor"))`)
}

// inserts puts text where the cursor is, at once, as pasting does.
func (b *browser) inserts(text string) {
	b.t.Helper()
	b.do("insert text", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// rewrites replaces the text in the editor.
func (b *browser) rewrites(text string) {
	b.t.Helper()
	b.edits()
	b.do("select all", chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.inserts(text)
	b.until("the form has it", fmt.Sprintf(`document.querySelector("#text-0").value === %q`, text))
}

// marked is the text that the editor marks.
const marked = `[...document.querySelector(".editor").shadowRoot.querySelectorAll(".cm-lintRange")].map(
	(e) => e.textContent).join("|")`

// rulesPage opens the page of the rules, with the editor on it.
func rulesPage(t *testing.T) (*browser, *disk) {
	t.Helper()
	w, d := withBook(t)
	b := newBrowser(t)
	b.do("log in", visit(w.c.Link(anna)))
	b.until("its script has run, so that the login page finds the way back",
		`document.getElementById("link").textContent.startsWith("Live")`)
	b.do("the rules", visit(w.origin+"/rules"))
	b.edits()
	return b, d
}

// A wrong key and a wrong value are marked where they stand as a person types them.
func TestTheEditorMarksWhatTheSchemaForbids(t *testing.T) {
	t.Parallel()
	b, _ := rulesPage(t)
	for _, test := range []struct{ name, text, want string }{
		{"comments and trailing commas", "// a\n{\"evaluation\": {/* b */}, }\n", ""},
		{"an unknown key", `{"evaluation": {"profiles": {"p": {"alowlist": []}}}}`, `"alowlist"`},
		{"a wrong type", `{"evaluation": {"requirePreflight": "yes"}}`, `"yes"`},
		{"none of the values", `{"evaluation": {"profiles": {"p": {"unmatched": "perhaps"}}}}`, `"perhaps"`},
		{"a schema of its own", `{"$schema": "https://example.com/x.json", "limits": {"ask": 3}}`, `"ask"`},
	} {
		b.rewrites(test.text)
		b.until(test.name+" is marked at its place", fmt.Sprintf("%s === %q", marked, test.want))
	}
	b.rewrites(`{"limits": {"ask": 3}}`)
	b.until("it is marked", marked+` === '"ask"'`)
	b.keys("to the next problem", kb.F8)
	b.until("it is said what is wrong", inEditor(".cm-tooltip")+`.textContent.includes("not allowed")`)
	b.shot("editor-problem")
}

// offered is what the editor offers.
const offered = `[...document.querySelector(".editor").shadowRoot.querySelectorAll(".cm-completionLabel")].map(
	(e) => e.textContent)`

// The editor offers the keys and the values that the schema has at a place, and writes the one that a person takes.
func TestTheEditorOffersKeysAndValues(t *testing.T) {
	t.Parallel()
	b, _ := rulesPage(t)
	b.rewrites(`{"evaluation": {"profiles": {"p": {`)
	b.keys("begin a key", `"allo`)
	b.until("it is offered", offered+`.includes("allowlist") && !`+offered+`.includes("denylist")`)
	b.settle() // the editor takes no answer to a list that has only just come
	b.shot("editor-completion")
	b.keys("take it", kb.Enter)
	b.until("it is written", `document.querySelector("#text-0").value.includes('"p": {"allowlist": [')`)
	b.rewrites(`{"evaluation": {"profiles": {"p": {"unmatched": `)
	b.keys("begin a value", `"`)
	b.until("the values are offered", `["allow", "ask", "deny"].every((v) => `+offered+`.includes('"' + v + '"'))`)
	b.rewrites(`{}`)
	b.keys("into the object, and ask", kb.ArrowLeft)
	b.do("what there is", chromedp.KeyEvent(" ", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.until("the keys are offered", offered+`.includes("evaluation") && `+offered+`.includes("$schema")`)
}

// What only the server knows to be wrong is marked at its place after Validate, as long as that place is not changed.
func TestTheEditorMarksWhatTheServerFound(t *testing.T) {
	t.Parallel()
	b, d := rulesPage(t)
	wrong := "// the house's 𝒓ules\n{\n" +
		"  \"evaluation\": {/* 𝒓 */ \"defaultProfile\": \"nobody\", \"profiles\": {\"work\": {}}}\n}\n"
	b.rewrites(wrong)
	b.do("why", chromedp.SendKeys(chromedp.CSS(`.file [name=why]`), "a test"),
		chromedp.Click(chromedp.CSS(`.file button.plain`)), chromedp.WaitVisible(chromedp.CSS(".problem")))
	b.until("it is marked", `document.querySelector(".editor") !== null && `+marked+` === '"nobody"'`)
	b.until("the text and the reason are kept", fmt.Sprintf(
		`document.querySelector("#text-0").value === %q && document.querySelector(".file [name=why]").value === "a test"`,
		wrong))
	b.fits("a problem")
	b.accessible("a problem")
	b.edits()
	b.keys("change something else", kb.Home+" ")
	b.until("it is changed", `document.querySelector("#text-0").value.includes("\n   \"evaluation")`)
	b.until("the mark stays at its place", marked+` === '"nobody"'`)
	b.do("to the problem", chromedp.KeyEvent(kb.F8))
	b.until("the server said it", inEditor(".cm-tooltip")+`.textContent.includes("the server")`)
	b.inserts(`"work"`)
	b.until("it is mended, and no longer marked", marked+` === "" &&
		document.querySelector("#text-0").value.includes('"defaultProfile": "work",')`)
	b.do("validate again", chromedp.Click(chromedp.CSS(`.file button.plain`)))
	b.until("it has no problems", `document.getElementById("status").textContent.includes("has no problems")`)
	if d.now() != bookText {
		t.Error("the file was changed")
	}
}

// A person without a mouse enters the editor by Tab, types, takes it back, and leaves by Tab; keys of one letter that
// the page has elsewhere are text there.
func TestTheEditorByKeyboard(t *testing.T) {
	t.Parallel()
	b, _ := rulesPage(t)
	b.rewrites("// x\n{}\n")
	b.keys("type", "?")
	b.until("the text has it", `document.querySelector("#text-0").value === "// x\n{}\n?" &&
		!document.querySelector("dialog[open]")`)
	b.do("undo", chromedp.KeyEvent("z", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.until("it is the file's", fmt.Sprintf(`document.querySelector("#text-0").value === %q`, bookText))
	b.do("search", chromedp.KeyEvent("f", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.until("its panel is there", inEditor(".cm-search")+` !== null`)
	b.accessible("the search")
	b.shot("editor-search")
	b.keys("close it", kb.Escape)
	b.keys("leave", kb.Tab)
	b.until("the reason has the keyboard", `document.activeElement.name === "why"`)
	b.do("go back", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.until("the editor has it", `document.activeElement.matches(".editor")`)
	b.until("Tab wrote nothing", fmt.Sprintf(`document.querySelector("#text-0").value === %q`, bookText))
	b.do("click its label", chromedp.Click(chromedp.CSS(".brand")), chromedp.Click(chromedp.CSS(`label[for="text-0"]`)))
	b.until("the label leads into it", `document.activeElement.matches(".editor")`)
	b.named()
	for _, width := range []int64{1100, 390} {
		b.size(width, 844)
		for _, dark := range []bool{false, true} {
			name := fmt.Sprintf("editor-%d-dark-%t", width, dark)
			b.dark(dark)
			b.fits(name)
			b.accessible(name)
			b.shot(name)
		}
	}
	b.until("it is high enough", inEditor(".cm-scroller")+`.clientHeight >= 400`)
}

// Without a script the text area is there, and sends what a person writes into it.
func TestTheTextAreaWithoutScript(t *testing.T) {
	t.Parallel()
	w, _ := withBook(t)
	b := newBrowser(t)
	b.noScript()
	b.do("log in", visit(w.origin+"/"), chromedp.WaitVisible(chromedp.CSS("#secret")),
		chromedp.SendKeys(chromedp.CSS("#secret"), w.c.Link(anna)), chromedp.Click(chromedp.CSS("form.login button")),
		chromedp.WaitVisible(chromedp.CSS(".who")))
	b.do("the rules", chromedp.Click(chromedp.CSS(`nav a[href$="/rules"]`)), chromedp.WaitVisible(chromedp.CSS("#text-0")))
	b.until("there is no editor", `document.querySelector(".editor") === null`)
	more := strings.Replace(bookText, `"mail__*"`, `"mail__*", "b__*"`, 1)
	b.do("one rule more", chromedp.SetValue(chromedp.CSS("#text-0"), more),
		chromedp.Click(chromedp.CSS(`.file button.plain`)))
	b.until("it is checked", `document.getElementById("status").textContent.includes("has no problems") &&
		document.querySelector("#text-0").value.includes("b__*")`)
}

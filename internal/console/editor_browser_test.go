package console

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/codemode-project/codemode/internal/browsertest"
)

// inEditor is an expression for the first thing with a selector in the editor of a file.
func inEditor(selector string) string {
	return fmt.Sprintf(`document.querySelector(".editor").shadowRoot.querySelector(%q)`, selector)
}

// edits puts the keyboard into the editor.
func (b *browser) edits() {
	b.T.Helper()
	b.Until("the editor is there", `document.querySelector(".editor") !== null && `+inEditor(".cm-content")+` !== null`)
	b.Until("it has the keyboard", `(`+inEditor(".cm-content")+`.focus(), document.activeElement.matches(".editor"))`)
}

// inserts puts text where the cursor is, at once, as pasting does.
func (b *browser) inserts(text string) {
	b.T.Helper()
	b.Do("insert text", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// rewrites replaces the text in the editor.
func (b *browser) rewrites(text string) {
	b.T.Helper()
	b.edits()
	b.Do("select all", chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.inserts(text)
	b.Until("the form has it", fmt.Sprintf(`document.querySelector("#text-0").value === %q`, text))
}

// marked is the text that the editor marks.
const marked = `[...document.querySelector(".editor").shadowRoot.querySelectorAll(".cm-lintRange")].map(
	(e) => e.textContent).join("|")`

// rulesPage opens the page of the rules, with the editor on it.
func rulesPage(t *testing.T) (*browser, *disk) {
	t.Helper()
	w, d := withBook(t)
	b := newBrowser(t)
	b.Do("log in", browsertest.Visit(w.c.Link(anna)))
	b.Until("its script has run, so that the login page finds the way back",
		`document.getElementById("link").textContent.startsWith("Live")`)
	b.Do("the rules", browsertest.Visit(w.origin+"/rules"))
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
		b.Until(test.name+" is marked at its place", fmt.Sprintf("%s === %q", marked, test.want))
	}
	b.rewrites(`{"limits": {"ask": 3}}`)
	b.Until("it is marked", marked+` === '"ask"'`)
	b.Keys("to the next problem", kb.F8)
	b.Until("it is said what is wrong", inEditor(".cm-tooltip")+`.textContent.includes("not allowed")`)
	b.Shot("editor-problem")
}

// offered is what the editor offers.
const offered = `[...document.querySelector(".editor").shadowRoot.querySelectorAll(".cm-completionLabel")].map(
	(e) => e.textContent)`

// The editor offers the keys and the values that the schema has at a place, and writes the one that a person takes.
func TestTheEditorOffersKeysAndValues(t *testing.T) {
	t.Parallel()
	b, _ := rulesPage(t)
	b.rewrites(`{"evaluation": {"profiles": {"p": {`)
	b.Keys("begin a key", `"allo`)
	b.Until("it is offered", offered+`.includes("allowlist") && !`+offered+`.includes("denylist")`)
	b.Settle() // the editor takes no answer to a list that has only just come
	b.Shot("editor-completion")
	b.Keys("take it", kb.Enter)
	b.Until("it is written", `document.querySelector("#text-0").value.includes('"p": {"allowlist": [')`)
	b.rewrites(`{"evaluation": {"profiles": {"p": {"unmatched": `)
	b.Keys("begin a value", `"`)
	b.Until("the values are offered", `["allow", "ask", "deny"].every((v) => `+offered+`.includes('"' + v + '"'))`)
	b.rewrites(`{}`)
	b.Keys("into the object, and ask", kb.ArrowLeft)
	b.Do("what there is", chromedp.KeyEvent(" ", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.Until("the keys are offered", offered+`.includes("evaluation") && `+offered+`.includes("$schema")`)
}

// What only the server knows to be wrong is marked at its place after Validate, as long as that place is not changed.
func TestTheEditorMarksWhatTheServerFound(t *testing.T) {
	t.Parallel()
	b, d := rulesPage(t)
	wrong := "// the house's 𝒓ules\n{\n" +
		"  \"evaluation\": {/* 𝒓 */ \"defaultProfile\": \"nobody\", \"profiles\": {\"work\": {}}}\n}\n"
	b.rewrites(wrong)
	b.Do("why", chromedp.SendKeys(chromedp.CSS(`.file [name=why]`), "a test"),
		chromedp.Click(chromedp.CSS(`.file button.plain`)), chromedp.WaitVisible(chromedp.CSS(".problem")))
	b.Until("it is marked", `document.querySelector(".editor") !== null && `+marked+` === '"nobody"'`)
	b.Until("the text and the reason are kept", fmt.Sprintf(
		`document.querySelector("#text-0").value === %q && document.querySelector(".file [name=why]").value === "a test"`,
		wrong))
	b.fits("a problem")
	b.Accessible("a problem")
	b.edits()
	b.Keys("change something else", kb.Home+" ")
	b.Until("it is changed", `document.querySelector("#text-0").value.includes("\n   \"evaluation")`)
	b.Until("the mark stays at its place", marked+` === '"nobody"'`)
	b.Settle() // the editor's own check of the change takes the sentence of a problem away
	b.Do("to the problem", chromedp.KeyEvent(kb.F8))
	b.Until("the server said it", inEditor(".cm-tooltip")+`.textContent.includes("the server")`)
	b.inserts(`"work"`)
	b.Until("it is mended, and no longer marked", marked+` === "" &&
		document.querySelector("#text-0").value.includes('"defaultProfile": "work",')`)
	b.Do("validate again", chromedp.Click(chromedp.CSS(`.file button.plain`)))
	b.Until("it has no problems", `document.getElementById("status").textContent.includes("has no problems")`)
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
	b.Keys("type", "?")
	b.Until("the text has it", `document.querySelector("#text-0").value === "// x\n{}\n?" &&
		!document.querySelector("dialog[open]")`)
	b.Do("undo", chromedp.KeyEvent("z", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.Until("it is the file's", fmt.Sprintf(`document.querySelector("#text-0").value === %q`, bookText))
	b.Do("search", chromedp.KeyEvent("f", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.Until("its panel is there", inEditor(".cm-search")+` !== null`)
	b.Accessible("the search")
	b.Shot("editor-search")
	b.Keys("close it", kb.Escape)
	b.Keys("leave", kb.Tab)
	b.Until("the reason has the keyboard", `document.activeElement.name === "why"`)
	b.Do("go back", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.Until("the editor has it", `document.activeElement.matches(".editor")`)
	b.Until("Tab wrote nothing", fmt.Sprintf(`document.querySelector("#text-0").value === %q`, bookText))
	b.Do("click its label", chromedp.Click(chromedp.CSS(".brand")), chromedp.Click(chromedp.CSS(`label[for="text-0"]`)))
	b.Until("the label leads into it", `document.activeElement.matches(".editor")`)
	b.named()
	for _, width := range []int64{1100, 390} {
		b.Size(width, 844)
		for _, dark := range []bool{false, true} {
			name := fmt.Sprintf("editor-%d-dark-%t", width, dark)
			b.Dark(dark)
			b.fits(name)
			b.Accessible(name)
			b.Shot(name)
		}
	}
	b.Until("it is high enough", inEditor(".cm-scroller")+`.clientHeight >= 400`)
}

// Without a script the text area is there, and sends what a person writes into it.
func TestTheTextAreaWithoutScript(t *testing.T) {
	t.Parallel()
	w, _ := withBook(t)
	b := newBrowser(t)
	b.Scripts(false)
	b.Do("log in", browsertest.Visit(w.origin+"/"), chromedp.WaitVisible(chromedp.CSS("#secret")),
		chromedp.SendKeys(chromedp.CSS("#secret"), w.c.Link(anna)), chromedp.Click(chromedp.CSS("form.login button")),
		chromedp.WaitVisible(chromedp.CSS(".who")))
	b.Do("the rules", chromedp.Click(chromedp.CSS(`nav a[href$="/rules"]`)), chromedp.WaitVisible(chromedp.CSS("#text-0")))
	b.Until("there is no editor", `document.querySelector(".editor") === null`)
	more := strings.Replace(bookText, `"mail__*"`, `"mail__*", "b__*"`, 1)
	b.Do("one rule more", chromedp.SetValue(chromedp.CSS("#text-0"), more),
		chromedp.Click(chromedp.CSS(`.file button.plain`)))
	b.Until("it is checked", `document.getElementById("status").textContent.includes("has no problems") &&
		document.querySelector("#text-0").value.includes("b__*")`)
}

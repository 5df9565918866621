package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// device gives a browser an authenticator that verifies its user.
func (b *browser) device() webauthn.AuthenticatorID {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
		b.t.Fatal(err)
	}
	got, err := chromedp.Call(b.ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{Protocol: "ctap2", Transport: "internal", HasResidentKey: true,
			HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
			HasCmtgKey: true}}) // AddCredential names such a key, and Chromium 156 wants that the authenticator has them
	if err != nil {
		b.t.Fatal(err)
	}
	return got.AuthenticatorID
}

// credential is the one passkey of a device.
func (b *browser) credential(device webauthn.AuthenticatorID) *webauthn.Credential {
	b.t.Helper()
	got, err := chromedp.Call(b.ctx, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: device})
	if err != nil || len(got.Credentials) != 1 {
		b.t.Fatalf("the device has %+v, %v", got, err)
	}
	return got.Credentials[0]
}

// lies makes a device sign what it should not.
func (b *browser) lies(device webauthn.AuthenticatorID, bits webauthn.SetResponseOverrideBitsParams) {
	b.t.Helper()
	bits.AuthenticatorID = device
	if _, err := chromedp.Call(b.ctx, webauthn.SetResponseOverrideBits, bits); err != nil {
		b.t.Fatal(err)
	}
}

// gives evaluates a promise of a text.
func (b *browser) gives(expression string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fail(expression, err)
	}
	return text
}

// registers adds a passkey by keyboard, with a code.
func registers(b *browser, w *world) {
	b.t.Helper()
	b.do("the passkeys", chromedp.Click(chromedp.CSS(`nav a[href$="/passkeys"]`)), chromedp.WaitVisible(chromedp.CSS("#name")))
	b.named()
	b.do("name it", chromedp.SendKeys(chromedp.CSS("#name"), "laptop"+kb.Enter))
	b.until("a proof is wanted", `document.getElementById("proof") !== null`)
	b.shot("passkeys-proof")
	b.do("type the code", chromedp.SendKeys(chromedp.CSS("#proof"), w.code()+kb.Enter))
	b.until("the device is asked for", `document.querySelector("form[data-make] button:not([disabled])") !== null`)
	b.named()
	for _, width := range []int64{390, 1100} {
		b.size(width, 900)
		b.fits("making a passkey")
	}
	b.do("make it", chromedp.Focus(chromedp.CSS("form[data-make] button")), chromedp.KeyEvent(kb.Enter))
	b.until("it is added", `document.getElementById("status").textContent.includes("“laptop”") ||
		document.getElementById("status").textContent.includes('"laptop" is added')`)
}

// TestPasskeysInABrowser is the story of a person with a passkey, in Chromium with a virtual authenticator.
func TestPasskeysInABrowser(t *testing.T) {
	t.Parallel()
	w := withPasskeys(t)
	b := newBrowser(t)
	device := b.device()
	b.do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.until("the page is there", `document.querySelector(".empty") !== null`)
	registers(b, w)
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		for _, width := range []int64{390, 1100} {
			b.size(width, 900)
			b.fits("the passkeys")
			b.accessible("the passkeys")
			b.shot(fmt.Sprintf("passkeys-%d-dark-%t", width, dark))
		}
	}
	b.dark(false)
	b.do("back to the list", chromedp.Click(chromedp.CSS(`nav a[href$="/"]`)))
	b.until("the page is live", `document.getElementById("link").textContent.startsWith("Live")`)

	answers := w.ask(critical())
	b.until("the question arrives", `document.querySelectorAll("article.ask").length === 1`)
	b.until("it says what is needed", `document.querySelector("article.ask").textContent.includes("you confirm it with your passkey")`)
	b.settle()
	b.do("type its code", chromedp.SendKeys(chromedp.CSS("article.ask input.code"), "7f3a"))
	yes, no := true, false
	b.lies(device, webauthn.SetResponseOverrideBitsParams{IsBadUV: &yes})
	b.do("allow", chromedp.Click(chromedp.CSS("article.ask button.yes")))
	b.until("without user verification it is refused",
		`document.querySelector(".ask .problem").textContent.includes("did not check who uses it")`)
	b.lies(device, webauthn.SetResponseOverrideBitsParams{IsBadUV: &no, IsBogusSignature: &yes})
	b.do("allow", chromedp.Click(chromedp.CSS("article.ask button.yes")))
	b.until("with a wrong signature it is refused",
		`document.querySelector(".ask .problem").textContent.includes("The signature is not")`)
	b.lies(device, webauthn.SetResponseOverrideBitsParams{})
	if _, err := chromedp.Call(b.ctx, webauthn.SetUserVerified,
		webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: false}); err != nil {
		t.Fatal(err)
	}
	b.do("allow", chromedp.Click(chromedp.CSS("article.ask button.yes")))
	b.until("with the wrong finger nothing is sent",
		`document.getElementById("status").textContent.includes("No passkey was used")`)
	if _, err := chromedp.Call(b.ctx, webauthn.SetUserVerified,
		webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: true}); err != nil {
		t.Fatal(err)
	}
	if w.waiting() != 1 {
		t.Fatal("the question is answered")
	}
	b.shot("passkeys-question")
	b.keys("allow, by keyboard", "ja")
	b.until("it is asked once more", `document.getElementById("confirm").open`)
	b.settle()
	b.keys("yes", kb.Enter)
	if a := answerOf(t, answers)[0]; !a.Allowed || a.Proof != call.ProofPasskey {
		t.Errorf("the answer is %+v", a.Answer)
	}

	answers = w.ask(critical())
	b.until("the next arrives", `document.querySelectorAll("article.ask").length === 1`)
	b.settle()
	b.do("deny, without a passkey", chromedp.Click(chromedp.CSS("article.ask button.no")))
	if a := answerOf(t, answers)[0]; a.Allowed || a.Proof != "" {
		t.Errorf("the no is %+v", a.Answer)
	}
	edits(b, w)
	triesAsAProgram(b, w, device)
}

// edits allows a critical call with other arguments, on its own page.
func edits(b *browser, w *world) {
	b.t.Helper()
	answers := w.ask(critical(func(r *prompt.Request) { r.Edit = func(json.RawMessage) error { return nil } }))
	b.until("it arrives", `document.querySelectorAll("article.ask").length === 1`)
	b.settle()
	b.keys("show it whole", "js")
	b.until("the whole page is there", `document.querySelector("article.whole") !== null`)
	b.settle()
	b.do("change the arguments", chromedp.Click(chromedp.CSS("details.edit summary")),
		chromedp.SetValue(chromedp.CSS("#args"), `{"owner":"acme","repo":"other"}`),
		chromedp.SendKeys(chromedp.CSS("details.edit input.code"), "7f3a"),
		chromedp.Click(chromedp.CSS("details.edit button.yes")))
	if a := answerOf(b.t, answers)[0]; !a.Allowed || a.Proof != call.ProofPasskey {
		b.t.Errorf("the edited answer is %+v", a.Answer)
	}
	b.until("back at the list", `document.querySelector(".empty") !== null`)
}

// triesAsAProgram has programs in the browser try with the real device what they must not be able to do.
func triesAsAProgram(b *browser, w *world, device webauthn.AuthenticatorID) {
	b.t.Helper()
	answers := w.ask(critical(func(r *prompt.Request) { r.Edit = func(json.RawMessage) error { return nil } }))
	a := w.login(anna).pending()[0]
	csrf := b.gives(`document.querySelector("form.who input[name=csrf]").value`)
	said, _ := json.Marshal(yes(a))
	other := strings.Replace(string(said), `"code"`, `"args":{"owner":"evil"},"code"`, 1)
	// send is what a script in the page does, with a proof or without one.
	send := func(body, proof string) string {
		return fmt.Sprintf(`fetch(document.body.dataset.base + "/api/answer", {method: "POST", body: %q, headers: {
			"Content-Type": "application/json", "X-CSRF-Token": %q, "X-Proof": %s}}).then((r) => r.text())`, body, csrf, proof)
	}
	begin := func() string {
		b.t.Helper()
		var got Result
		if err := json.Unmarshal([]byte(b.gives(send(string(said), `""`))), &got); err != nil || got.Passkey == nil {
			b.t.Fatalf("%v %+v", err, got)
		}
		return string(got.Passkey)
	}
	refused := func(why, got, want string) {
		b.t.Helper()
		if !strings.Contains(got, want) || !strings.Contains(got, `"ok":false`) || w.waiting() != 1 {
			b.t.Errorf("%s: %s, %d wait", why, got, w.waiting())
		}
	}
	proof := b.gives(`codemodePasskey(` + begin() + `)`)
	quoted, _ := json.Marshal(proof)
	refused("another answer", b.gives(send(other, string(quoted))), "for another answer")
	refused("the answer itself, afterwards", b.gives(send(string(said), string(quoted))), "used already")

	// A page of another port of this machine may ask for passkeys of localhost too.
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		script, _ := assets.ReadFile("static/passkeys.js")
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>other</title><script>"+string(script)+"</script>")
	}))
	defer page.Close()
	options := begin()
	home := b.gives(`location.href`)
	b.do("another page", visit(strings.Replace(page.URL, "127.0.0.1", "localhost", 1)))
	proof = b.gives(`codemodePasskey(` + options + `)`)
	b.do("back", visit(home))
	quoted, _ = json.Marshal(proof)
	refused("the proof of another origin", b.gives(send(string(said), string(quoted))), "on another page")

	copied := b.credential(device)
	if _, err := chromedp.Call(b.ctx, webauthn.RemoveCredential, webauthn.RemoveCredentialParams{
		AuthenticatorID: device, CredentialID: copied.CredentialID}); err != nil {
		b.t.Fatal(err)
	}
	copied.SignCount, copied.ActiveCmtgKeyIndex = 1, nil // it has no such keys
	if _, err := chromedp.Call(b.ctx, webauthn.AddCredential, webauthn.AddCredentialParams{
		AuthenticatorID: device, Credential: copied}); err != nil {
		b.t.Fatal(err)
	}
	quoted, _ = json.Marshal(b.gives(`codemodePasskey(` + begin() + `)`))
	refused("a copy with an older counter", b.gives(send(string(said), string(quoted))), "counts fewer signatures")

	b.do("remove the passkey", chromedp.Click(chromedp.CSS(`nav a[href$="/passkeys"]`)),
		chromedp.WaitVisible(chromedp.CSS(".grants button.no")), chromedp.Click(chromedp.CSS(".grants button.no")))
	b.until("it is gone", `document.getElementById("status").textContent.includes("is removed")`)
	refused("after it was removed", b.gives(send(string(said), `""`)), "have no passkey")
	if got := b.gives(send(strings.Replace(string(said), `"allow"`, `"deny"`, 1), `""`)); !strings.Contains(got, `"ok":true`) {
		b.t.Errorf("a no: %s", got)
	}
	if a := answerOf(b.t, answers)[0]; a.Allowed {
		b.t.Errorf("the answer is %+v", a.Answer)
	}
}

// Without the script a critical call can be denied, and the page says what a yes needs.
func TestPasskeysWithoutAScript(t *testing.T) {
	t.Parallel()
	w := withPasskeys(t)
	b := newBrowser(t)
	b.do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.until("the page is there", `document.querySelector(".empty") !== null`)
	answers := w.ask(critical())
	b.noScript()
	b.do("the list", visit(b.gives(`location.href`)))
	b.until("it says what is missing", `document.querySelector("article.ask .why noscript").innerText.includes("needs JavaScript")`)
	b.do("allow", chromedp.SendKeys(chromedp.CSS("article.ask input.code"), "7f3a"),
		chromedp.Click(chromedp.CSS("article.ask button.yes")))
	b.until("the page says why not", `document.querySelector(".problem").textContent.includes("add one on the page Passkeys")`)
	b.shot("passkeys-no-script")
	b.do("deny", chromedp.Click(chromedp.CSS("article.ask button.no")))
	if a := answerOf(t, answers)[0]; a.Allowed {
		t.Errorf("the answer is %+v", a.Answer)
	}
}

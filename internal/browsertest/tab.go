package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/internal/testwait"
)

// A Tab is one of a browser, with a page that a test looks at. What goes wrong ends the test with the text of the page.
type Tab struct {
	T    *testing.T
	Ctx  context.Context // for steps of chromedp
	Name string          // begins the names of its pictures

	mute bool // it runs no script of the page
}

// Another opens another tab of the same browser. Its page may complain, unlike that of the first.
func (b *Tab) Another() *Tab {
	b.T.Helper()
	ctx, cancel := chromedp.NewContext(b.Ctx)
	b.T.Cleanup(cancel)
	if _, err := chromedp.Run(ctx, chromedp.Location()); err != nil { // opens the tab, which lives as long as its context
		b.T.Fatal(err)
	}
	return &Tab{T: b.T, Ctx: ctx, Name: b.Name}
}

// Complains makes complaints of the browser about the page failures of the test, as they are for the first tab.
func (b *Tab) Complains() {
	b.T.Helper()
	if err := complains(b.Ctx, b.T); err != nil {
		b.T.Fatal(err)
	}
}

// Do takes steps.
func (b *Tab) Do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fail(what, err)
	}
}

// Visit navigates, again and again if Chromium gives the navigation up (net::ERR_ABORTED): under load one that the page
// before has begun, such as by a form, may end it.
func Visit(url string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for {
			err := chromedp.Do(ctx, chromedp.Navigate(url))
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "ERR_ABORTED") {
				return err
			}
		}
	})
}

// Click presses what there is at a place, once it is there: the page may be loading when it is looked for.
func (b *Tab) Click(what, where string) {
	b.T.Helper()
	for end := time.Now().Add(testwait.Bound); ; {
		ctx, cancel := context.WithTimeout(b.Ctx, testwait.Bound)
		err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(where)))
		cancel()
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "node") || time.Now().After(end) {
			b.Fail(what, err)
		}
	}
}

// Keys presses keys.
func (b *Tab) Keys(what, keys string) {
	b.T.Helper()
	b.Do(what, chromedp.KeyEvent(keys))
}

// Until waits until an expression of JavaScript is true and the page has loaded, whatever page is there meanwhile. On
// one that still loads, an element that a step has found may be gone when the step clicks it.
func (b *Tab) Until(what, expression string) {
	b.T.Helper()
	var yes bool
	var err error
	if !testwait.Holds(func() bool {
		yes, err = chromedp.Run(b.Ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && (`+expression+`)`))
		return err == nil && yes
	}) {
		b.Fail("it did not come to pass that "+what, err)
	}
}

// Settle waits until the page takes answers: what comes right after a change does not count.
func (b *Tab) Settle() { time.Sleep(900 * time.Millisecond) } // the browser keeps the clock

// Text is what an expression of JavaScript gives on the page.
func (b *Tab) Text(expression string) string {
	b.T.Helper()
	got, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		b.T.Fatalf("%s: %v", expression, err)
	}
	return got
}

// Fail ends the test.
func (b *Tab) Fail(what string, why any) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, 10*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + '\\n' + document.body.innerText"))
	b.Shot("failure")
	b.T.Fatalf("%s: %v; the page says:\n%s", what, why, text)
}

// Shot keeps a picture of the page where CODEMODE_SCREENSHOTS says, for people to look at.
func (b *Tab) Shot(name string) {
	b.T.Helper()
	dir := os.Getenv("CODEMODE_SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture []byte
	var err error
	if !testwait.Holds(func() bool { // a page that is about to be replaced has no size
		if _, err = chromedp.Run(b.Ctx, chromedp.Evaluate[chromedp.Void]("scrollTo(0, 0)")); err == nil {
			picture, err = chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
		}
		return err == nil
	}) {
		b.T.Errorf("a picture of %s: %v", name, err)
		return
	}
	if b.Name != "" {
		name = b.Name + "-" + name
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		b.T.Fatal(err)
	}
}

// Scripts says whether the script of the page runs. Expressions are evaluated all the same.
func (b *Tab) Scripts(run bool) {
	b.T.Helper()
	if _, err := chromedp.Call(b.Ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: !run}); err != nil {
		b.T.Fatal(err)
	}
	b.mute = !run
}

// Dark says whether the person wants dark pages.
func (b *Tab) Dark(on bool) {
	b.T.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.T.Fatal(err)
	}
}

// Size gives the window another size.
func (b *Tab) Size(width, height int64) {
	b.T.Helper()
	b.Do("size", chromedp.EmulateViewport(width, height))
}

// Accessible holds that axe-core finds nothing on the page. It runs where CODEMODE_AXE names the file axe.min.js of
// that package.
func (b *Tab) Accessible(what string) {
	b.T.Helper()
	path := os.Getenv("CODEMODE_AXE")
	if path == "" {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		b.T.Fatal(err)
	}
	if b.mute { // axe-core needs timers; the page's own script has not run when it was loaded
		b.Scripts(true)
		defer b.Scripts(false)
	}
	found, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](string(text)+`;axe.run().then((r) => r.violations.map(
		(v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ")).join(", ")).join("\n"))`, chromedp.EvalAwaitPromise))
	if err != nil || found != "" {
		b.T.Errorf("%s: axe-core finds (%v)\n%s", what, err, found)
	}
}

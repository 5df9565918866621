// Package browsertest starts the Chromium that tests look at pages with.
package browsertest

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Start starts Chromium and gives its tab, which ends with the test, at the latest after a time. Where there is no
// Chromium the test is skipped.
func Start(t *testing.T, longest time.Duration) *Tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here to look at the page with (on Debian: apt-get install chromium)")
	}
	for tries := 1; ; tries++ { // on a busy machine Chromium may crash while it starts
		ctx, err := start(t, path, longest)
		if err == nil {
			return &Tab{T: t, Ctx: ctx}
		}
		if t.Logf("starting %s, try %d: %v", path, tries, err); tries == 3 {
			t.FailNow()
		}
	}
}

func start(t *testing.T, path string, longest time.Duration) (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("window-size", "1100,900"),
	)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil { // it waits for the browser's end, so that its folder can be removed
			t.Logf("ending the browser: %v", err)
		}
		cancel()
	})
	return ctx, complains(ctx, t)
}

// complains makes an error of a script in a tab, or something that the policy of a page forbids, a failure of the test
// whenever it comes.
func complains(ctx context.Context, t *testing.T) error {
	return chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page threw: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *log.EventEntryAdded:
			if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceViolation &&
				e.Entry.Level == log.EntryLevelError {
				t.Errorf("the browser complained: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	})
}

package reference

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/codemode-project/codemode/internal/browsertest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// site is the built site, in CODEMODE_SITE. make site builds it and runs these tests.
func site(t *testing.T) string {
	dir := os.Getenv("CODEMODE_SITE")
	if dir == "" {
		t.Skip("CODEMODE_SITE does not say where the site was built: make site builds it, and runs this test")
	}
	return dir
}

// TestTheSiteHasEveryPage: each document is a page, every link inside the site leads to a file and an anchor of it, and
// nothing is loaded from elsewhere.
func TestTheSiteHasEveryPage(t *testing.T) {
	dir := site(t)
	for name := range documents(t) {
		below, ok := strings.CutPrefix(name, "docs/")
		if !ok || strings.HasPrefix(below, "upstream/") {
			continue
		}
		page := strings.TrimSuffix(below, ".md") + ".html"
		if strings.HasSuffix(below, "README.md") {
			page = strings.TrimSuffix(below, "README.md") + "index.html"
		}
		if _, err := os.Stat(filepath.Join(dir, page)); err != nil {
			t.Errorf("the site lacks %s: %v", name, err)
		}
	}
	pages := builtPages(t, dir)
	reference, identity := regexp.MustCompile(` (href|src)="([^"]*)"`), regexp.MustCompile(` id="([^"]*)"`)
	ids := map[string][]string{}
	for name, text := range pages {
		for _, found := range identity.FindAllStringSubmatch(text, -1) {
			if slices.Contains(ids[name], found[1]) {
				t.Errorf("%s has the id %s twice", name, found[1])
			}
			ids[name] = append(ids[name], found[1])
		}
	}
	for name, text := range pages {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			file, fragment, _ := strings.Cut(found[2], "#")
			switch {
			case strings.Contains(found[2], "://") || strings.HasPrefix(found[2], "mailto:"):
				if found[1] == "src" {
					t.Errorf("%s loads %s", name, found[2])
				}
				continue
			case strings.HasPrefix(found[2], "/"):
				t.Errorf("%s has the address %s, which counts at one place only", name, found[2])
				continue
			}
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			if strings.HasSuffix(file, "/") {
				target = filepath.Join(target, "index.html")
			}
			if _, err := os.Stat(filepath.Join(dir, target)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, found[2])
			} else if fragment != "" && strings.HasSuffix(target, ".html") && !slices.Contains(ids[target], fragment) {
				t.Errorf("%s: %s has no #%s", name, target, fragment)
			}
		}
	}
}

// builtPages are the HTML files of the site.
func builtPages(t *testing.T, dir string) map[string]string {
	pages := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		text, err := os.ReadFile(name)
		below, _ := filepath.Rel(dir, name)
		pages[below] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 25 {
		t.Fatalf("the site has %d pages", len(pages))
	}
	return pages
}

// TestTheSiteInABrowser opens every page, wide and narrow: the browser complains of nothing, and nothing is wider than
// the screen.
func TestTheSiteInABrowser(t *testing.T) {
	dir := site(t)
	b := chromium(t, dir)
	for name := range builtPages(t, dir) {
		b.Do(name, chromedp.Navigate(b.at+filepath.ToSlash(name)))
		for _, width := range []int64{1280, 390} {
			b.Size(width, 900)
			if b.Text(`String(document.documentElement.scrollWidth > document.documentElement.clientWidth)`) != "false" {
				t.Errorf("%s is wider than a screen of %d", name, width)
			}
		}
	}
}

// TestTheSiteIsSearched with keys alone.
func TestTheSiteIsSearched(t *testing.T) {
	b := chromium(t, site(t))
	b.Do("search", chromedp.Navigate(b.at+"reference/errors.html"), chromedp.KeyEvent("/"))
	// A key of DevTools comes twice, as a key and as a character: the second one writes into the field that the first
	// one has opened.
	b.Do("type", chromedp.KeyEvent(kb.Backspace+"sign in critical"))
	const first = `document.querySelector("#found li a strong")?.textContent ?? ""`
	if !testwait.Holds(func() bool { return strings.HasPrefix(b.Text(first), "Sign in to the page") }) {
		t.Fatalf("the first result for %q is %q", b.Text("document.activeElement.value"), b.Text(first))
	}
	b.Do("open it", chromedp.KeyEvent(kb.ArrowDown+kb.Enter))
	testwait.Until(t, "the first result is open", func() bool {
		return b.Text("location.pathname") == "/below/signin.html"
	})
}

// A browser looks at the site, which is at this address.
type browser struct {
	*browsertest.Tab
	at string
}

// chromium is a browser that looks at the site. What it complains of is a failure.
func chromium(t *testing.T, dir string) *browser {
	b := browsertest.Start(t, 10*time.Minute)
	if err := chromedp.Listen(b.Ctx, func(event any) {
		if e, ok := event.(*log.EventEntryAdded); ok {
			t.Errorf("the browser complains: %s %s", e.Entry.Text, e.Entry.URL)
		}
	}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/below/", http.FileServer(http.Dir(dir))))
	t.Cleanup(server.Close)
	return &browser{b, server.URL + "/below/"}
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/internal/checktest"
)

// largestImage is what a picture of a page may have: the README should be there at once.
const largestImage = 150 << 10

// TestTheImagesOfThePages makes the pictures of the README from the page of a process and from a terminal, where
// CODEMODE_IMAGES names the folder for them (make pages). Everywhere it looks whether the pictures of the pages are
// small.
func TestTheImagesOfThePages(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("CODEMODE_IMAGES"); dir != "" {
		checktest.OK(t, os.MkdirAll(dir, 0o755))
		for name, picture := range map[string][]byte{"approval.png": pictureOfAQuestion(t), "run.gif": castOfARun(t)} {
			checktest.OK(t, os.WriteFile(filepath.Join(dir, name), picture, 0o644))
		}
	}
	images, err := filepath.Glob(filepath.Join(checkout, "docs", "images", "*.[gp][in][fg]"))
	if err != nil || len(images) == 0 {
		t.Fatal(images, err)
	}
	for _, image := range images {
		info, err := os.Stat(image)
		checktest.OK(t, err)
		if info.Size() > largestImage {
			t.Errorf("%s has %d bytes, and may have %d", image, info.Size(), largestImage)
		}
	}
}

// pictureOfAQuestion runs the program of the README under codemode serve, and looks at the page that asks about it.
func pictureOfAQuestion(t *testing.T) []byte {
	t.Helper()
	h := newHouse(t, `{"allowlist": ["time__*", "filesystem__read_*", "filesystem__list_*"],
		"asklist": [{"id": "changes", "tool": "filesystem__write_file", "reason": "changes files"}]}`,
		"--console", "127.0.0.1:0")
	h.tells()
	programs := filepath.Join(checkout, "testdata", "programs")
	checktest.OK(t, os.CopyFS(filepath.Join(h.files, "notes"), os.DirFS(filepath.Join(programs, "desk", "notes"))))
	answer := runs(t, h.connect(), readText(t, filepath.Join(programs, "first.ts")))
	b := newTab(t, "readme")
	b.Size(1000, 640)
	b.enter(h.link())
	b.Until("the question is there", `document.querySelectorAll(".ask").length === 1`)
	b.Settle()
	picture, err := chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
	checktest.OK(t, err)
	b.Click("allow it", `article.ask button.yes`)
	answerOf(t, answer)
	return picture
}

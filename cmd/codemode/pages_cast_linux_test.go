package main

import (
	"bytes"
	"encoding/json"
	pixels "image" // a function of these tests has the name
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/internal/checktest"
)

// A frame is what a terminal shows, and for how many hundredths of a second.
type frame struct {
	text  string
	delay int
}

// castOfARun records the first run of the README in a terminal: the command, the question, the answer and what came of
// it. The pauses are those of a reader, whatever this machine took.
func castOfARun(t *testing.T) []byte {
	t.Helper()
	m := startMultiplexer(t, 92, 38)
	home := t.TempDir()
	checktest.OK(t, os.CopyFS(home, os.DirFS(filepath.Join(checkout, "testdata", "programs"))))
	_ = os.Remove(filepath.Join(home, "desk", "open.md")) // of somebody who followed the README
	bin := t.TempDir()
	checktest.OK(t, os.Symlink(os.Args[0], filepath.Join(bin, "codemode")))
	m.run("set-option", "-g", "status", "off")
	pane := &pane{m, strings.TrimSpace(m.run("new-window", "-P", "-F", "#{pane_id}", "-c", home, "--",
		"env", "PS1=$ ", "PATH="+bin+":"+os.Getenv("PATH"), "sh", "-i"))}
	var frames []frame
	shoot := func(delay int) {
		frames = append(frames, frame{m.run("capture-pane", "-p", "-t", pane.target), delay})
	}
	typed := func(text string) {
		for _, word := range strings.SplitAfter(text, " ") {
			m.run("send-keys", "-t", pane.target, "-l", "--", word)
			pane.see(strings.TrimSpace(word))
			shoot(25)
		}
	}
	pane.see("$")
	shoot(80)
	typed("codemode run --config codemode.json first.ts")
	m.run("send-keys", "-t", pane.target, "Enter")
	pane.see("Type yes to allow")
	shoot(600)
	typed("yes")
	m.run("send-keys", "-t", pane.target, "Enter")
	pane.see("calls: 6 (6 done)", "time__now done\n$")
	shoot(800)
	return animated(t, frames)
}

// animated draws frames in Chromium. Each picture of the GIF is what has changed since the one before.
func animated(t *testing.T, frames []frame) []byte {
	t.Helper()
	b := newTab(t, "cast")
	b.Do("an empty page", chromedp.Navigate(`data:text/html,<body style="margin:0;padding:16px 20px;background:%23171a21;`+
		`color:%23dde3ea;font:15px/1.3 'DejaVu Sans Mono',monospace"><pre style="margin:0;font:inherit"></pre>`),
		chromedp.EmulateViewport(870, 776))
	var shades color.Palette // between the two colours of the page
	for i := range 16 {
		mix := func(from, to int) uint8 { return uint8(from + (to-from)*i/15) }
		shades = append(shades, color.RGBA{mix(0x17, 0xdd), mix(0x1a, 0xe3), mix(0x21, 0xea), 0xff})
	}
	out := &gif.GIF{}
	var before *pixels.Paletted
	for _, f := range frames {
		text, err := json.Marshal(f.text)
		checktest.OK(t, err)
		b.Until("the screen is drawn", `(document.querySelector("pre").textContent = `+string(text)+`) !== null`)
		data, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
		checktest.OK(t, err)
		picture, err := png.Decode(bytes.NewReader(data))
		checktest.OK(t, err)
		now := pixels.NewPaletted(picture.Bounds(), shades)
		changed := picture.Bounds()
		if before != nil {
			changed = pixels.Rectangle{}
		}
		for y := now.Rect.Min.Y; y < now.Rect.Max.Y; y++ {
			for x := now.Rect.Min.X; x < now.Rect.Max.X; x++ {
				shade := uint8(shades.Index(picture.At(x, y)))
				now.SetColorIndex(x, y, shade)
				if before != nil && before.ColorIndexAt(x, y) != shade {
					changed = changed.Union(pixels.Rect(x, y, x+1, y+1))
				}
			}
		}
		if changed.Empty() { // the time goes to the picture that stays
			out.Delay[len(out.Delay)-1] += f.delay
			continue
		}
		out.Image = append(out.Image, now.SubImage(changed).(*pixels.Paletted))
		out.Delay = append(out.Delay, f.delay)
		before = now
	}
	var data bytes.Buffer
	checktest.OK(t, gif.EncodeAll(&data, out))
	return data.Bytes()
}

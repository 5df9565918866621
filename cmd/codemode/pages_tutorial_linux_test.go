package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// TestTheTutorial follows docs/tutorial.md from top to bottom in an empty home: it saves the files, types the commands
// and the answers, and compares what the page shows with what the terminal does.
func TestTheTutorial(t *testing.T) {
	t.Parallel()
	npm := npmDir(t)
	home := newNewcomer(t, nil)
	home.installNPX(npm)
	const name = "docs/tutorial.md"
	page := readPage(name, readText(t, filepath.Join(checkout, name)))
	lines := strings.SplitAfter(readText(t, filepath.Join(checkout, name)), "\n")
	consoles := 0
	for _, b := range page.blocks {
		switch b.language {
		case "json", "ts":
			write(t, filepath.Join(home.where(), b.file), b.text)
		case "sh":
			if !strings.HasPrefix(b.text, "npm install -g ") {
				home.run(home.goOn(b.text))
			}
		case "console":
			consoles++
			var now strings.Builder
			for _, command := range typed(b.text) {
				fmt.Fprintf(&now, "$ %s\n%s", command, home.onTerminal(command, b.answer))
			}
			if !sameOutput(now.String(), b.text) {
				lines[b.line] = now.String() // and nothing in the place of the other lines
				for i := range strings.Count(b.text, "\n") - 1 {
					lines[b.line+1+i] = ""
				}
				if !updatePages {
					t.Errorf("%s shows\n%s\nand the terminal\n%s", b.at(), b.text, now.String())
				}
			}
		default:
			t.Errorf("%s: nobody follows a block of %q", b.at(), b.language)
		}
	}
	if updatePages {
		write(t, filepath.Join(checkout, name), strings.Join(lines, ""))
	}
	if consoles < 9 {
		t.Errorf("the tutorial has %d commands with their output", consoles)
	}
}

// TestTheFirstRunOfTheReadme runs the first command of the README as its reader does, and compares the screen.
func TestTheFirstRunOfTheReadme(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	const name = "README.md"
	text := readText(t, filepath.Join(checkout, name))
	for _, b := range readPage(name, text).blocks {
		if b.language != "console" {
			continue
		}
		home := newNewcomer(t, nil)
		programs := filepath.Join("testdata", "programs")
		checktest.OK(t, os.CopyFS(filepath.Join(home.folder, programs), os.DirFS(filepath.Join(checkout, programs))))
		_ = os.Remove(filepath.Join(home.folder, programs, "desk", "open.md")) // of somebody who followed the README
		command := typed(b.text)[0]
		screen := home.onTerminal(strings.Replace(command, "go run ./cmd/codemode", "codemode", 1), b.answer)
		now := "$ " + command + "\n" + screen
		if sameOutput(now, b.text) {
			return
		}
		if !updatePages {
			t.Errorf("%s shows\n%s\nand the terminal\n%s", b.at(), b.text, now)
			return
		}
		write(t, filepath.Join(checkout, name), strings.Replace(text, b.text, now, 1))
		return
	}
	t.Error("the README shows no run")
}

// onTerminal runs a command at a terminal, types an answer when it asks, and returns what is on the screen.
func (s *newcomer) onTerminal(script, answer string) string {
	s.t.Helper()
	keys, terminal := openTerminal(s.t)
	checktest.OK(s.t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 101}))
	cmd := s.command("set +e\n" + s.goOn(script))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	checktest.OK(s.t, cmd.Start())
	terminal.Close()
	var shown screen
	read := make(chan struct{})
	go func() {
		_, _ = io.Copy(&shown, keys) // ends with an error when nobody has the terminal open
		close(read)
	}()
	if answer != "" {
		if !testwait.Holds(func() bool { return strings.Contains(shown.String(), "Type yes") }) {
			s.t.Errorf("%s: nothing is asked:\n%s", script, shown.String())
		}
		time.Sleep(700 * time.Millisecond) // a person reads the question; a faster answer counts as nobody's
		_, _ = io.WriteString(keys, answer+"\n")
	}
	_ = cmd.Wait() // the page shows how it ended
	<-read
	text := strings.ReplaceAll(shown.String(), "\r\n", "\n")
	for _, c := range changing[:1] { // colors
		text = c.pattern.ReplaceAllString(text, c.with)
	}
	text = strings.NewReplacer(s.folder, "/home/you", cachetest.Dir(), "/home/you/.cache").Replace(text)
	text = aPrincipal.ReplaceAllString(aBlankAtAnEnd.ReplaceAllString(text, "\n"), "local:you")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

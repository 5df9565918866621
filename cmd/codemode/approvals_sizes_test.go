//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// In a real terminal of three sizes: one call, five mixed ones, fifty alike, a high risk with 2,000 characters, and
// arguments that are changed first against the schema. What a person has to judge is on the screen when the answer is
// chosen.
func TestAnsweringInTerminalsOfThreeSizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 36}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it is mostly a person's pauses
			m := startMultiplexer(t, size[0], size[1])
			m.environment = append(m.environment, "VISUAL=", "EDITOR=")
			s := serveIn(t, m.environment, "")
			m.run("new-window", "-d", "-t", "main:", "-n", "approvals", "--", os.Args[0], "approvals")
			p := &pane{m, "main:approvals"}
			shot := func(what string) { p.keep("answering-" + name + "-" + what) }
			p.see("1 process connected", "No question waits.")

			done := s.run(`await codemode.filesystem__write_file({path: "one.md", content: "first\nsecond"}); return "written"`)
			p.see("1 question", "filesystem.write_file")
			shot("one-1-list")
			p.press("Enter")
			p.see(`path: "one.md"`, `content: "first\n`, "> Refuse", "medium risk")
			shot("one-2-answers")
			p.press("Down", "Down")
			p.see("> Allow this call")
			p.press("Enter")
			if got := answerOf(t, done); !strings.HasPrefix(belowSummary(got), `"written"`) || !s.holds("one.md") {
				t.Errorf("one call: %s", got)
			}
			p.see("No question waits.", "Allowed, done in ")
			shot("one-3-outcome")

			const all = `return (await Promise.all(Array.from({length: %d}, (_, i) =>
				codemode.filesystem__write_file({path: "%s" + i, content: "the same for all"}).then(() => "y", e => "n")))).join("")`
			done = s.run(fmt.Sprintf(all, 5, "five"))
			p.see("5 questions", "5 calls: filesystem.write_file", `path: "five2"`)
			p.press("Down", "Down", "Space", "Down", "Down", "Space")
			p.see("[x] call 2", "[x] call 4")
			shot("five-1-marked")
			p.press("Up", "Up", "Up", "Up", "Enter")
			p.see("> Refuse the 2 marked calls", `path: "five4"`)
			shot("five-2-answers")
			p.press("Enter")
			p.see("3 questions", "Refused, 2 delivered")
			p.press("Enter", "Down", "Down")
			p.see("> Allow all 3 calls, once each")
			p.pageTo(`path: "five4"`)
			p.press("Enter")
			if got := answerOf(t, done); !strings.HasPrefix(belowSummary(got), `"ynyny"`) {
				t.Errorf("five calls: %s", got)
			}
			p.see("Allowed, 3 done")
			shot("five-3-outcome")

			done = s.run(fmt.Sprintf(all, 50, "fifty"))
			p.see("50 questions")
			shot("fifty-1-list")
			p.press("Enter", "Down", "Down", "Enter")
			if text := p.see("> Allow all 50 calls"); !strings.Contains(text, "fifty49") {
				p.see("You have to see all calls before you allow them")
			}
			shot("fifty-2-not-seen")
			p.pageTo(`path: "fifty49"`)
			p.press("Enter")
			if got := answerOf(t, done); !strings.HasPrefix(belowSummary(got), `"`+strings.Repeat("y", 50)+`"`) {
				t.Errorf("fifty calls: %s", got)
			}
			p.see("Allowed, 50 done")
			shot("fifty-3-outcome")

			long := strings.Repeat("2,000 characters ", 117) + "and the end"
			done = s.run(`await codemode.filesystem__delete_file({path: "` + long + `"}).catch(e => e.message); return "over"`)
			p.see("1 question", "high")
			shot("high-1-list")
			p.press("Enter", "Down", "Down", "Enter")
			if text := p.see("Allow this call"); !strings.Contains(text, "see all of") &&
				!strings.Contains(text, "Type the code") {
				t.Errorf("a yes is taken before the end was seen:\n%s", text)
			}
			shot("high-2-not-seen")
			if text := p.see("high risk"); !strings.Contains(text, "Type the code") {
				p.pageTo("above: page up")
				p.press("Enter")
			}
			p.see("Type the code of this question")
			shot("high-3-code")
			p.press("Escape", "Up", "Up", "Enter")
			if got := answerOf(t, done); !strings.HasPrefix(belowSummary(got), `"over"`) {
				t.Errorf("high risk: %s", got)
			}
			p.see("Refused: filesystem.delete_file")

			done = s.run(`await codemode.filesystem__write_file({path: "edit.md", content: "as proposed"}); return "written"`)
			p.see("1 question")
			p.press("Enter", "Down", "Down", "Down", "Down", "Down")
			p.see("> Change the arguments, and allow those")
			p.press("Enter")
			p.see(`"path": "edit.md"`, "ctrl+s allow with these arguments")
			shot("edit-1-editor")
			p.move("Down", "End", "Left", "Left", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace")
			p.press(`"7`, "DC", "C-s") // a number, where the schema wants a text
			p.see("Not accepted:", "/path", `"path": 7,`, `"content": "as proposed"`)
			shot("edit-2-schema-error")
			p.press("BSpace", `""edited.md"`, "C-s")
			if got := answerOf(t, done); !strings.HasPrefix(belowSummary(got), `"written"`) || !s.holds("edited.md") || s.holds("edit.md") {
				t.Errorf("changed arguments: %s", got)
			}
			p.see("Allowed with changes, done in ")
			shot("edit-3-outcome")
			p.press("q")
		})
	}
}

// move presses keys that move nothing but the cursor.
func (p *pane) move(keys ...string) {
	p.t.Helper()
	time.Sleep(settling + 200*time.Millisecond) // the process takes no key sooner
	p.run(append([]string{"send-keys", "-t", p.target}, keys...)...)
}

// pageTo turns pages until a part is on the screen.
func (p *pane) pageTo(part string) {
	p.t.Helper()
	for range 20 {
		if strings.Contains(p.timeless(), part) {
			return
		}
		p.press("PageDown")
	}
	p.see(part)
}

// settling is how long codemode approvals ignores keys after the screen has changed.
const settling = 400 * time.Millisecond

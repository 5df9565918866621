package responder

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
)

// key handles a key.
func (s *screen) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" || name == "q" && s.mode == choosing {
		return tea.Quit
	}
	i := s.list.index()
	if i < 0 || s.now().Sub(s.since) < settle && !(s.mode.words() && k.Key().Text != "") {
		return nil
	}
	s.reader.look(s.now())
	s.notice = ""
	switch {
	case s.mode == editing:
		return s.edit(k)
	case name == "pgdown" || name == "ctrl+d":
		s.reader.turn(1)
	case name == "pgup" || name == "ctrl+u":
		s.reader.turn(-1)
	case s.mode == choosing:
		s.choose(name, i)
	case s.mode == answering:
		return s.pick(name)
	default:
		s.typing(k)
	}
	return nil
}

func (s *screen) choose(key string, i int) {
	it := s.list.items[i]
	s.list.byHand = true
	switch key {
	case "up", "k":
		i = max(i-1, 0)
	case "down", "j":
		i = min(i+1, len(s.list.items)-1)
	case "s":
		s.show(it)
	case "space":
		if !s.list.mark(it) {
			s.notice = "Only calls of a batch can be marked."
		}
	case "enter":
		s.begin(it)
	}
	if id := s.list.items[i].id; id != s.list.chosen {
		s.list.chosen, s.reader.scroll = id, 0
		clear(s.form.ticked)
	}
}

// begin opens the answers to an item, with the refusal chosen, and keeps its arguments in view.
func (s *screen) begin(it item) {
	if s.outcomes.open(it) {
		s.notice = "Your answer was already sent."
		return
	}
	s.form.asked, s.form.calls, s.form.answer = it, s.list.targets(it), 0
	s.enter(answering)
	if s.reader.scroll == 0 {
		s.reader.scroll = s.reader.argumentsLine(it, s.room())
	}
}

// back opens the changed arguments of a question again, after the process did not accept them.
func (s *screen) back(id string) {
	i := s.list.place(id)
	if s.form.drafts[id] == "" || i < 0 || s.mode != choosing || s.list.chosen != id {
		return // the person looks at another question now
	}
	s.begin(s.list.items[i])
	edits := slices.IndexFunc(s.form.options(), func(o option) bool { return o.begins == editing })
	s.form.answer = max(edits, 0) // the question may offer no change any more
	if edits >= 0 && len(s.command()) == 0 {
		s.enter(editing)
	}
}

func (s *screen) pick(key string) tea.Cmd {
	switch o := s.form.selected(); {
	case key == "up" || key == "k":
		s.form.move(-1)
	case key == "down" || key == "j":
		s.form.move(1)
	case key == "esc":
		s.enter(choosing)
	case key == "s":
		s.show(s.form.asked)
	case key == "l" && o.limited():
		s.enter(limiting)
	case key == "enter", key == "space" && o.tick != nil:
		return s.do(o)
	}
	return nil
}

// do does what an option says.
func (s *screen) do(o option) tea.Cmd {
	it := s.form.asked
	switch {
	case o.notice != "":
		s.notice = o.notice
	case o.tick != nil:
		o.tick()
	case o.begins == editing:
		if s.seenEnough(it, "") {
			return s.openEditor(it.one())
		}
	case o.begins != choosing:
		s.enter(o.begins)
	case !o.said.Yes || it.inquiry() != nil:
		s.send(o.said)
	case s.seenEnough(it, o.said.Scope):
		s.allow(o.said)
	}
	return nil
}

// typing handles the keys of a reason, a code, an answer or limits.
func (s *screen) typing(k tea.KeyPressMsg) {
	switch k.String() {
	case "esc":
		s.enter(answering)
	case "backspace":
		if r := []rune(s.form.typed); len(r) > 0 {
			s.form.typed = string(r[:len(r)-1])
		}
	case "enter":
		s.submit()
	default:
		s.form.write(k.Key().Text, s.mode.most())
	}
}

// submit sends what the person typed.
func (s *screen) submit() {
	switch s.mode {
	case reasoning:
		s.send(terminal.Said{Reason: s.form.typed})
	case writing:
		if s.form.typed == "" {
			s.notice = "You have not written anything yet."
			return
		}
		s.send(terminal.Said{Yes: true, Text: s.form.typed, Selected: s.form.picked()})
	case limiting:
		s.limit()
	case coding:
		if s.form.typed != s.form.asked.one().Code {
			s.notice, s.form.typed = "That is not the code of this question.", ""
			return
		}
		s.form.said.Code = s.form.typed
		s.send(s.form.said)
	}
}

// limit sends the selected yes with the limits that the person typed.
func (s *screen) limit() {
	uses, length, err := prompt.ReadLimits(s.form.typed)
	if err != nil {
		s.notice, s.form.typed = err.Error()+".", ""
		return
	}
	said := s.form.selected().said
	if !s.seenEnough(s.form.asked, said.Scope) {
		s.mode = answering
		return
	}
	said.Uses, said.Length = uses, length
	s.allow(said)
}

// paste handles a text that the terminal pastes.
func (s *screen) paste(msg tea.PasteMsg) (cmd tea.Cmd) {
	if s.mode.words() {
		s.form.write(msg.Content, s.mode.most())
	} else if s.mode == editing && s.now().Sub(s.since) >= settle {
		s.editor, cmd = s.editor.Update(msg)
	}
	return cmd
}

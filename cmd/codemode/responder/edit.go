package responder

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// editable is the arguments of a call as a person edits them: indented, with invisible characters escaped. The JSON
// value is the same.
func editable(args json.RawMessage) string {
	var text bytes.Buffer
	if json.Indent(&text, args, "", "  ") != nil {
		text.Write(args)
	}
	return visible.JSON(text.String()) + "\n"
}

// openEditor lets a person change the arguments of a call: in the editor that VISUAL or EDITOR names, else in one on
// this screen. It begins with the person's earlier draft, if the process did not accept that.
func (s *screen) openEditor(w waiting) tea.Cmd {
	text := cmp.Or(s.form.drafts[w.ID], editable(w.Args))
	if command := s.command(); len(command) > 0 {
		return editIn(command, w.ID, text)
	}
	s.editor = textarea.New()
	s.editor.Prompt, s.editor.MaxHeight = "", 0
	s.editor.KeyMap.Paste.SetEnabled(false) // it would start programs; text that the terminal pastes arrives anyway
	s.editor.KeyMap.CopySelection.SetEnabled(false)
	s.editor.SetValue(text)
	if s.editor.Value() != text {
		s.notice = "The arguments are too long for the editor of this screen. Set VISUAL or EDITOR to another editor."
		return nil
	}
	s.editor.MoveToBegin()
	s.sizeEditor()
	s.enter(editing)
	return s.editor.Focus()
}

// command starts the person's editor; empty if none is set.
func (s *screen) command() []string {
	return strings.Fields(cmp.Or(s.env("VISUAL"), s.env("EDITOR")))
}

// sizeEditor gives the editor the screen except editorFrame lines.
func (s *screen) sizeEditor() {
	s.editor.SetWidth(max(s.width-1, 10))
	s.editor.SetHeight(max(s.height-editorFrame, 3))
}

// editorFrame is the number of lines around the editor: heading, two rules, errors and keys.
const editorFrame = 7

// edit handles a key in the editor.
func (s *screen) edit(k tea.KeyPressMsg) (cmd tea.Cmd) {
	switch k.String() {
	case "esc":
		s.form.drafts[s.form.asked.id] = s.editor.Value()
		s.notice = "Your text is kept. It is not sent."
		s.enter(answering)
	case "ctrl+s":
		s.form.drafts[s.form.asked.id] = s.editor.Value()
		s.sendDraft()
	default:
		s.editor, cmd = s.editor.Update(k)
	}
	return cmd
}

// sendDraft allows a call with the arguments that a person wrote, if they are JSON and differ from those of the call.
func (s *screen) sendDraft() {
	w := s.form.asked.one()
	draft := s.form.drafts[w.ID]
	if strings.TrimSpace(draft) == strings.TrimSpace(editable(w.Args)) {
		s.notice = "The arguments have not changed. To allow the call without changes, go back and choose that."
		return
	}
	if at, why := strictjson.Problem(draft); at != "" {
		s.notice = "Not sent: " + at + " is not JSON: " + visible.Line(why) + ". Your text is kept."
		return
	}
	s.allow(terminal.Said{Yes: true, Args: []byte(draft)})
}

// editIn opens a text in the person's editor.
func editIn(command []string, id, text string) tea.Cmd {
	fail := func(err error) tea.Cmd { return func() tea.Msg { return editedMsg{id: id, err: err} } }
	file, err := os.CreateTemp("", "codemode-arguments-*.json") // only this user can read it
	if err != nil {
		return fail(err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fail(errors.Join(err, os.Remove(file.Name())))
	}
	words := append(command[1:len(command):len(command)], file.Name())
	return tea.ExecProcess(exec.Command(command[0], words...), func(err error) tea.Msg {
		defer os.Remove(file.Name())
		if err != nil {
			return editedMsg{id: id, err: err}
		}
		after, err := os.ReadFile(file.Name())
		return editedMsg{id: id, text: string(after), err: err}
	})
}

// An editedMsg is the text from the person's editor.
type editedMsg struct {
	id   string
	text string
	err  error
}

// takeDraft handles the text from the person's editor.
func (s *screen) takeDraft(m editedMsg) {
	i := s.list.place(m.id)
	switch {
	case i < 0 || s.mode != answering || s.form.asked.id != m.id:
		s.notice = "That question was answered, or its time is over."
	case m.err != nil:
		s.notice = "Not changed: " + visible.Line(m.err.Error())
	default:
		s.form.drafts[m.id] = m.text
		s.sendDraft()
	}
	s.since = s.now()
}

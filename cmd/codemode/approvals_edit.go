package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// edit opens the arguments of a call in the person's editor.
func edit(w waiting) tea.Cmd {
	fail := func(err error) tea.Cmd { return func() tea.Msg { return editedMsg{id: w.ID, err: err} } }
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")))
	if len(editor) == 0 {
		return fail(errors.New("VISUAL and EDITOR are not set"))
	}
	var text bytes.Buffer
	if err := json.Indent(&text, w.Args, "", "  "); err != nil {
		return fail(err)
	}
	text.WriteByte('\n')
	before := text.String()
	file, err := os.CreateTemp("", "codemode-arguments-*.json") // for this user alone
	if err != nil {
		return fail(err)
	}
	_, err = file.WriteString(before)
	if err = errors.Join(err, file.Close()); err != nil {
		return fail(errors.Join(err, os.Remove(file.Name())))
	}
	return tea.ExecProcess(exec.Command(editor[0], append(editor[1:], file.Name())...), func(err error) tea.Msg {
		defer os.Remove(file.Name())
		if err != nil {
			return editedMsg{id: w.ID, err: err}
		}
		after, err := os.ReadFile(file.Name())
		if err == nil && string(after) == before {
			err = errors.New("the arguments are as they were; to allow them as they are, choose that")
		}
		return editedMsg{id: w.ID, args: bytes.TrimSpace(after), err: err}
	})
}

package upstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"
)

// writers are the tools that change something.
func (f *filesystem) writers() []BuiltInTool {
	const done = `{
		"type": "object",
		"properties": {"path": {"type": "string"}, "bytes": {"type": "integer", "description": "of the file as it is now"}},
		"required": ["path", "bytes"], "additionalProperties": false
	}`
	const path = `{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}`
	return []BuiltInTool{
		builtInTool("write_file", "Make a file with that text, or replace all of an existing one. Its directory must exist.", `{
			"type": "object",
			"properties": {"path": `+pathProperty+`, "content": {"type": "string"}},
			"required": ["path", "content"], "additionalProperties": false
		}`, done, replaces, f.write),
		builtInTool("edit_file", "Replace passages of a text file. Each oldText must occur in it exactly once; all edits are made, or none.", `{
			"type": "object",
			"properties": {
				"path": `+pathProperty+`,
				"edits": {"type": "array", "minItems": 1, "items": {
					"type": "object",
					"properties": {"oldText": {"type": "string", "minLength": 1}, "newText": {"type": "string"}},
					"required": ["oldText", "newText"], "additionalProperties": false
				}},
				"dryRun": {"type": "boolean", "description": "change nothing, return the text as it would be"}
			},
			"required": ["path", "edits"], "additionalProperties": false
		}`, `{
			"type": "object",
			"properties": {
				"path": {"type": "string"},
				"bytes": {"type": "integer", "description": "of the file as it is now, or would be"},
				"content": {"type": "string", "description": "with dryRun: the text as it would be"}
			},
			"required": ["path", "bytes"], "additionalProperties": false
		}`, destroys, f.edit),
		builtInTool("create_directory", "Make a directory, with those above it. It is no error if it exists.", `{
			"type": "object",
			"properties": {"path": `+pathProperty+`},
			"required": ["path"], "additionalProperties": false
		}`, path, adds, f.mkdir),
		builtInTool("move_file", "Move or rename a file or directory. The destination must not exist.", `{
			"type": "object",
			"properties": {"source": `+pathProperty+`, "destination": `+pathProperty+`},
			"required": ["source", "destination"], "additionalProperties": false
		}`, path, destroys, f.move),
		builtInTool("delete_file", "Delete a file, a symbolic link or an empty directory.", `{
			"type": "object",
			"properties": {"path": `+pathProperty+`},
			"required": ["path"], "additionalProperties": false
		}`, path, destroys, f.remove),
	}
}

func (f *filesystem) write(_ context.Context, a struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}) (any, error) {
	if err := check(a.Path); err != nil {
		return nil, err
	}
	if err := f.replace(a.Path, a.Content); err != nil {
		return nil, err
	}
	return map[string]any{"path": a.Path, "bytes": len(a.Content)}, nil
}

// replace writes a file beside the old one and puts it in its place, so that
// nobody ever reads half of it.
func (f *filesystem) replace(name, content string) error {
	if len(content) > fileMax {
		return fmt.Errorf("the content has %d bytes, more than the %d that are written at once", len(content), fileMax)
	}
	mode := fs.FileMode(0o644)
	switch info, err := f.root.Stat(name); {
	case err == nil:
		if err := mustBeFile(info, name); err != nil {
			return err
		}
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return explain(err, name)
	}
	if info, err := f.root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return explained(f.overwrite(name, content, mode), name) // the link stays one
	}
	beside := path.Join(path.Dir(name), ".codemode-"+rand.Text()[:12])
	err := f.overwrite(beside, content, mode)
	if err == nil {
		err = f.root.Rename(beside, name)
	}
	if err == nil {
		return nil
	}
	_ = f.root.Remove(beside)
	if _, missing := f.root.Stat(path.Dir(name)); errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("%s: its directory does not exist: make it with create_directory", name)
	}
	return explain(err, name)
}

func explained(err error, name string) error {
	if err == nil {
		return nil
	}
	return explain(err, name)
}

func (f *filesystem) overwrite(name, content string, mode fs.FileMode) error {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}

func (f *filesystem) edit(_ context.Context, a struct {
	Path  string `json:"path"`
	Edits []struct {
		Old string `json:"oldText"`
		New string `json:"newText"`
	} `json:"edits"`
	DryRun bool `json:"dryRun"`
}) (any, error) {
	b, err := f.read(a.Path, false, false)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("%s is no UTF-8 text", a.Path)
	}
	text := string(b)
	for i, e := range a.Edits {
		switch n := strings.Count(text, e.Old); {
		case e.Old == "":
			return nil, fmt.Errorf("edit %d: its oldText is empty", i+1)
		case n == 0:
			return nil, fmt.Errorf("edit %d: %s does not contain its oldText; nothing was changed", i+1, a.Path)
		case n > 1:
			return nil, fmt.Errorf("edit %d: %s contains its oldText %d times, add more of what is around it; nothing was changed", i+1, a.Path, n)
		}
		text = strings.Replace(text, e.Old, e.New, 1)
	}
	if a.DryRun {
		return map[string]any{"path": a.Path, "bytes": len(text), "content": text}, nil
	}
	if err := f.replace(a.Path, text); err != nil {
		return nil, err
	}
	return map[string]any{"path": a.Path, "bytes": len(text)}, nil
}

func (f *filesystem) mkdir(_ context.Context, a struct {
	Path string `json:"path"`
}) (any, error) {
	if err := check(a.Path); err != nil {
		return nil, err
	}
	if err := f.root.MkdirAll(a.Path, 0o755); err != nil {
		return nil, explain(err, a.Path)
	}
	return map[string]string{"path": a.Path}, nil
}

func (f *filesystem) move(_ context.Context, a struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
}) (any, error) {
	for _, p := range []string{a.Source, a.Destination} {
		if err := check(p); err != nil {
			return nil, err
		}
		if p == "." {
			return nil, errors.New("the granted directory itself cannot be moved")
		}
	}
	if _, err := f.root.Lstat(a.Destination); err == nil {
		return nil, fmt.Errorf("%s exists already", a.Destination)
	}
	if err := f.root.Rename(a.Source, a.Destination); err != nil {
		if _, missing := f.root.Lstat(a.Source); missing != nil {
			return nil, explain(missing, a.Source)
		}
		return nil, explain(err, a.Destination)
	}
	return map[string]string{"path": a.Destination}, nil
}

func (f *filesystem) remove(_ context.Context, a struct {
	Path string `json:"path"`
}) (any, error) {
	if err := check(a.Path); err != nil {
		return nil, err
	}
	if a.Path == "." {
		return nil, errors.New("the granted directory itself cannot be deleted")
	}
	if err := f.root.Remove(a.Path); err != nil {
		if errors.Is(err, fs.ErrExist) { // it exists in it, that is
			return nil, fmt.Errorf("%s is a directory that is not empty", a.Path)
		}
		return nil, explain(err, a.Path)
	}
	return map[string]string{"path": a.Path}, nil
}

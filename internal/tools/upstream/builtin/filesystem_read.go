package builtin

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

func (f *operation) readText(_ context.Context, a struct {
	Path string `json:"path"`
	Head int    `json:"head"`
	Tail int    `json:"tail"`
}) (any, error) {
	if a.Head > 0 && a.Tail > 0 {
		return nil, errors.New("head and tail cannot be asked for together")
	}
	b, err := f.read(a.Path, a.Head > 0 || a.Tail > 0, a.Tail > 0)
	if err != nil {
		return nil, err
	}
	text := string(b)
	switch {
	case a.Head > 0:
		text = firstLines(text, a.Head)
	case a.Tail > 0:
		text = lastLines(text, a.Tail)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%s is no UTF-8 text: use read_media_file", a.Path)
	}
	return map[string]string{"content": text}, nil
}

// read returns a file's bytes. If part is set, it returns the beginning of a
// file that is too long, or its end if last is set.
func (f *operation) read(name string, part, last bool) ([]byte, error) {
	file, info, err := f.regular(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cut := info.Size() > fileMax
	if cut && !part {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read at once: ask for its head or tail", name,
			info.Size(), fileMax)
	}
	if cut && last {
		if _, err := file.Seek(-fileMax, io.SeekEnd); err != nil {
			return nil, explain(err, name)
		}
	}
	b, err := io.ReadAll(io.LimitReader(file, fileMax))
	if err != nil {
		return nil, explain(err, name)
	}
	if cut { // the limit may cut a character in two
		if last {
			for len(b) > 0 && !utf8.RuneStart(b[0]) {
				b = b[1:]
			}
		} else {
			b = bytes.TrimRight(b, "\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f")
		}
	}
	return b, nil
}

func firstLines(s string, n int) string {
	at := 0
	for range n {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return s
		}
		at += i + 1
	}
	return s[:at]
}

func lastLines(s string, n int) string {
	at := len(strings.TrimSuffix(s, "\n"))
	for range n {
		i := strings.LastIndexByte(s[:at], '\n')
		if i < 0 {
			return s
		}
		at = i
	}
	return s[at+1:]
}

func (f *operation) readMany(ctx context.Context, a struct {
	Paths []string `json:"paths"`
}) (any, error) {
	if len(a.Paths) > filesMax {
		return nil, fmt.Errorf("%d files are more than the %d that are read at once", len(a.Paths), filesMax)
	}
	type file struct {
		Path    string  `json:"path"`
		Content *string `json:"content,omitempty"`
		Error   string  `json:"error,omitempty"`
	}
	files := make([]file, len(a.Paths))
	left := fileMax
	for i, name := range a.Paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		files[i].Path = name
		b, err := f.read(name, false, false)
		switch {
		case err != nil:
			files[i].Error = err.Error()
		case len(b) > left:
			files[i].Error = fmt.Sprintf("the files together have more than the %d bytes that are read at once: read this one by itself", fileMax)
		case !utf8.Valid(b):
			files[i].Error = fmt.Sprintf("%s is no UTF-8 text: use read_media_file", name)
		default:
			text := string(b)
			files[i].Content = &text
			left -= len(b)
		}
	}
	return map[string]any{"files": files}, nil
}

func (f *operation) readMedia(_ context.Context, a struct {
	Path string `json:"path"`
}) (any, error) {
	b, err := f.read(a.Path, false, false)
	if err != nil {
		return nil, err
	}
	kind := mime.TypeByExtension(path.Ext(a.Path))
	if kind == "" {
		kind = http.DetectContentType(b)
	}
	data := base64.StdEncoding.EncodeToString(b)
	switch {
	case strings.HasPrefix(kind, "image/"):
		return Block{"type": "image", "data": data, "mimeType": kind}, nil
	case strings.HasPrefix(kind, "audio/"):
		return Block{"type": "audio", "data": data, "mimeType": kind}, nil
	}
	return Block{"type": "resource", "resource": map[string]string{"uri": "file:///" + a.Path, "mimeType": kind,
		"blob": data}}, nil
}

func (f *operation) info(_ context.Context, a struct {
	Path string `json:"path"`
}) (any, error) {
	if err := check(a.Path); err != nil {
		return nil, err
	}
	if err := f.wayTo(path.Dir(a.Path)); err != nil {
		return nil, err
	}
	info, err := f.root.Lstat(a.Path)
	if err != nil {
		return nil, explain(err, a.Path)
	}
	if err := f.may(info, a.Path); err != nil {
		return nil, err
	}
	return map[string]any{
		"path": a.Path, "type": kindOf(info.Mode()), "size": info.Size(),
		"modified": info.ModTime().UTC().Format(time.RFC3339Nano), "permissions": info.Mode().String(),
	}, nil
}

// readDir lists a directory, sorted by name, up to entriesMax entries.
func (f *operation) readDir(name string) (_ []fs.DirEntry, truncated bool, err error) {
	if err := f.wayTo(name); err != nil {
		return nil, false, err
	}
	if info, err := f.root.Stat(name); err == nil && !info.IsDir() { // checked before: opening a pipe would wait
		return nil, false, fmt.Errorf("%s is no directory", name)
	}
	dir, err := f.root.Open(name)
	if err != nil {
		return nil, false, explain(err, name)
	}
	defer dir.Close()
	switch info, err := dir.Stat(); {
	case err != nil:
		return nil, false, explain(err, name)
	case !info.IsDir():
		return nil, false, fmt.Errorf("%s is no directory", name)
	default:
		if err := f.may(info, name); err != nil {
			return nil, false, err
		}
	}
	entries, err := dir.ReadDir(entriesMax + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, explain(err, name)
	}
	if len(entries) > entriesMax {
		entries, truncated = entries[:entriesMax], true
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, truncated, nil
}

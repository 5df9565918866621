package openapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
)

// fromYAML converts the YAML in r, of size bytes, to JSON.
func fromYAML(r io.ReaderAt, size int64) (io.ReaderAt, []fault, error) {
	section := io.NewSectionReader(r, 0, size)
	if size > wholeYAML {
		return fromLongYAML(section)
	}
	var parts bytes.Buffer
	if size > shortYAML {
		if faults, err := cutYAML(section, &parts); err == nil && len(faults) == 0 {
			return bytes.NewReader(bytes.Clone(parts.Bytes())), nil, nil
		}
		parts.Reset()
	}
	text := make([]byte, size)
	if _, err := r.ReadAt(text, 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	left := roomFor(size)
	out, err := yamlToJSON(text, &left)
	if err == nil {
		return bytes.NewReader(out), nil, nil
	}
	if faults, failed := cutYAML(section, &parts); failed == nil { // some parts are good
		return bytes.NewReader(parts.Bytes()), faults, nil
	}
	return nil, nil, fmt.Errorf("it is neither JSON nor YAML: %w", err)
}

// fromLongYAML converts to a file that lives as long as it is open.
func fromLongYAML(section *io.SectionReader) (io.ReaderAt, []fault, error) {
	f, err := os.CreateTemp("", "codemode-yaml-*")
	if err != nil {
		return nil, nil, err
	}
	faults, err := []fault(nil), os.Remove(f.Name())
	if err == nil {
		faults, err = cutYAML(section, f)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, faults, nil
}

// cutYAML converts a document in parts: each entry below paths, and below a kind of components, is one. Aliases of
// another part, and flow style around parts, are not understood.
func cutYAML(section *io.SectionReader, to io.Writer) ([]fault, error) {
	if _, err := section.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(to, 64<<10)
	c := &yamlCutter{lines: bufio.NewReaderSize(section, 64<<10), out: w, left: roomFor(section.Size())}
	if err := c.document(); err != nil {
		return nil, fmt.Errorf("near line %d: %w", c.number, err)
	}
	return c.faults, w.Flush()
}

// fault says what a fault cost.
func (x *reader) fault(f fault) {
	if f.section == pathsPart {
		x.leave(Left{"*", cut(f.key, idMax), "", "the path cannot be read: " + f.why})
		return
	}
	x.note("%s %.200q cannot be read: %s", f.section, f.key, f.why)
}

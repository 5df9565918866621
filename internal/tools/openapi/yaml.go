package openapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// wholeYAML is how much YAML is parsed at once, in bytes. A longer text is cut at the indentation.
const wholeYAML = 8 << 20

// fromYAML converts the YAML in r to JSON, and returns that with its size at most.
func fromYAML(r io.ReaderAt, size int64) (io.ReaderAt, int64, error) {
	section := io.NewSectionReader(r, 0, size)
	if size <= wholeYAML {
		text, err := io.ReadAll(section)
		if err != nil {
			return nil, 0, err
		}
		out, err := yamlToJSON(nil, text)
		if err != nil {
			return nil, 0, err
		}
		return bytes.NewReader(out), int64(len(out)), nil
	}
	f, err := os.CreateTemp("", "codemode-yaml-*")
	if err != nil {
		return nil, 0, err
	}
	err = os.Remove(f.Name()) // it lives as long as it is open
	if err == nil {
		w := bufio.NewWriterSize(f, 1<<20)
		c := &yamlCutter{lines: bufio.NewReaderSize(section, 1<<20), out: w}
		if err = c.document(); err == nil {
			err = w.Flush()
		}
	}
	var at int64
	if err == nil {
		at, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, at, nil
}

// A yamlCutter converts a long document in parts: each entry below paths and below a kind of components is one.
type yamlCutter struct {
	lines  *bufio.Reader
	out    *bufio.Writer
	number int    // of the line
	next   []byte // the line that was read and does not belong to the part before
	ended  bool
}

// line returns the next line that is more than white space and comments, and its indentation.
func (c *yamlCutter) line() ([]byte, int, error) {
	for c.next == nil && !c.ended {
		l, err := c.lines.ReadBytes('\n')
		c.number++
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		c.ended = err == io.EOF
		if bare := bytes.TrimSpace(l); len(bare) > 0 && bare[0] != '#' && !bytes.HasPrefix(l, []byte("---")) &&
			bare[0] != '%' {
			c.next = l
		}
	}
	return c.next, len(c.next) - len(bytes.TrimLeft(c.next, " ")), nil
}

// document writes an object with a member for each top-level key.
func (c *yamlCutter) document() error {
	if err := c.members(0, func(key string, indent int) error {
		switch key {
		case "paths":
			return c.members(indent, c.part)
		case "components":
			return c.members(indent, func(_ string, indent int) error { return c.members(indent, c.part) })
		}
		return c.part(key, indent)
	}); err != nil {
		return fmt.Errorf("near line %d: %w", c.number, err)
	}
	return nil
}

// members writes an object whose keys stand deeper than above, or at it for the document; each writes their values.
func (c *yamlCutter) members(above int, each func(key string, indent int) error) error {
	_ = c.out.WriteByte('{')
	at := -1
	for first := true; ; first = false {
		l, indent, err := c.line()
		if err != nil {
			return err
		}
		if l == nil || at < 0 && indent <= above && above > 0 || at >= 0 && indent < at {
			break
		}
		if at < 0 {
			at = indent
		}
		key, rest, ok := yamlKey(l)
		if indent != at || !ok {
			return errors.New("a description of this length has to be in block style")
		}
		if !first {
			_ = c.out.WriteByte(',')
		}
		_, _ = c.out.Write(append(strictjson.AppendString(nil, key), ':'))
		if len(rest) == 0 {
			c.next = nil
			if l, deeper, err := c.line(); err != nil || l == nil || deeper <= indent {
				_, _ = c.out.WriteString("null")
				continue
			}
		}
		if err := each(key, indent); err != nil {
			return err
		}
	}
	return c.out.WriteByte('}')
}

// part converts the value of a key: the rest of its line, or the lines below that stand deeper.
func (c *yamlCutter) part(_ string, above int) error {
	var text []byte
	if _, rest, ok := yamlKey(c.next); ok && len(rest) > 0 && len(c.next)-len(bytes.TrimLeft(c.next, " ")) == above {
		text, c.next = append(text, "x: "...), nil
		text = append(append(text, rest...), '\n')
	}
	inline := len(text) > 0
	for {
		l, indent, err := c.rawLine()
		if err != nil {
			return err
		}
		if l == nil || len(bytes.TrimSpace(l)) > 0 && indent <= above {
			break
		}
		text, c.next = append(text, l...), nil
		if len(text) > 2*operationMax+wholeYAML {
			return errors.New("a part is too long")
		}
	}
	out, err := yamlToJSON(nil, text)
	if err == nil && inline {
		out = bytes.TrimSuffix(bytes.TrimPrefix(out, []byte(`{"x":`)), []byte("}"))
	}
	if err == nil {
		_, err = c.out.Write(out)
	}
	return err
}

// rawLine is line with empty lines and comments, which may belong to a text.
func (c *yamlCutter) rawLine() ([]byte, int, error) {
	if c.next == nil && !c.ended {
		l, err := c.lines.ReadBytes('\n')
		c.number++
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		if c.ended = err == io.EOF; len(l) > 0 {
			c.next = l
		}
	}
	return c.next, len(c.next) - len(bytes.TrimLeft(c.next, " ")), nil
}

// yamlKey takes a line "key: rest" apart.
func yamlKey(l []byte) (key string, rest []byte, ok bool) {
	var one yaml.Node
	bare := bytes.TrimSpace(l)
	end := bytes.Index(bare, []byte(":"))
	for end >= 0 && end+1 < len(bare) && bare[end+1] != ' ' {
		next := bytes.Index(bare[end+1:], []byte(":"))
		if next < 0 {
			return "", nil, false
		}
		end += 1 + next
	}
	if end < 0 || bare[0] == '-' || yaml.Unmarshal(bare[:end], &one) != nil || len(one.Content) != 1 ||
		one.Content[0].Kind != yaml.ScalarNode {
		return "", nil, false
	}
	rest = bytes.TrimSpace(bare[end+1:])
	if len(rest) > 0 && rest[0] == '#' {
		rest = nil
	}
	return one.Content[0].Value, rest, true
}

// yamlToJSON appends the first document of a text as JSON.
func yamlToJSON(out, text []byte) (_ []byte, err error) {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc); err != nil && err != io.EOF {
		return nil, fmt.Errorf("it is neither JSON nor YAML: %w", err)
	}
	w := &yamlWriter{out: out, left: 4*len(text) + 1<<20}
	if len(doc.Content) == 0 {
		return append(out, "null"...), nil
	}
	if err := w.value(doc.Content[0], 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

// A yamlWriter writes nodes as JSON. What aliases repeat is bounded.
type yamlWriter struct {
	out  []byte
	left int
}

func (w *yamlWriter) value(n *yaml.Node, depth int) error {
	if w.left -= 2 + len(n.Value); w.left < 0 {
		return errors.New("its aliases repeat too much")
	}
	if depth > depthMax {
		return fmt.Errorf("line %d is nested more than %d deep", n.Line, depthMax)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, e := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.value(e, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
		return nil
	}
	w.out = appendScalar(w.out, n)
	return nil
}

func (w *yamlWriter) mapping(n *yaml.Node, depth int) error {
	w.out = append(w.out, '{')
	first := true
	var add func(n *yaml.Node, known map[string]bool, depth int) error
	add = func(n *yaml.Node, known map[string]bool, depth int) error {
		var merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch {
			case key.ShortTag() == "!!merge":
				merged = append(merged, value)
				continue
			case key.Kind != yaml.ScalarNode || known[key.Value] && merged != nil:
				continue
			}
			if !first {
				w.out = append(w.out, ',')
			}
			first, known[key.Value] = false, true
			w.out = append(strictjson.AppendString(w.out, key.Value), ':')
			if err := w.value(value, depth+1); err != nil {
				return err
			}
		}
		for len(merged) > 0 && depth <= depthMax { // what is written wins
			from := merged[0]
			merged = merged[1:]
			if from.Kind == yaml.AliasNode {
				from = from.Alias
			}
			if from.Kind == yaml.SequenceNode {
				merged = append(from.Content[:len(from.Content):len(from.Content)], merged...)
			} else if err := add(&yaml.Node{Content: missing(from, known)}, known, depth+1); err != nil {
				return err
			}
			if w.left -= 16; w.left < 0 {
				return errors.New("its aliases repeat too much")
			}
		}
		return nil
	}
	if err := add(n, map[string]bool{}, depth); err != nil {
		return err
	}
	w.out = append(w.out, '}')
	return nil
}

// missing are the keys and values of a mapping that are not known yet.
func missing(n *yaml.Node, known map[string]bool) (all []*yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !known[n.Content[i].Value] {
			all = append(all, n.Content[i], n.Content[i+1])
		}
	}
	return all
}

// appendScalar appends a scalar as JSON. Only what YAML 1.2 takes for a number, true, false or null is one.
func appendScalar(out []byte, n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(out, "null"...)
	case "!!bool":
		if text := strings.ToLower(n.Value); text == "true" || text == "false" {
			return append(out, text...)
		}
	case "!!int":
		if json.Valid([]byte(n.Value)) {
			return append(out, n.Value...)
		}
		if i, ok := new(big.Int).SetString(strings.TrimPrefix(n.Value, "+"), 0); ok {
			return i.Append(out, 10)
		}
	case "!!float":
		if json.Valid([]byte(n.Value)) {
			return append(out, n.Value...)
		}
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return strconv.AppendFloat(out, f, 'g', -1, 64)
		}
	}
	return strictjson.AppendString(out, n.Value)
}

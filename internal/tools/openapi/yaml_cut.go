package openapi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A yamlCutter writes a YAML document as JSON, part by part.
type yamlCutter struct {
	lines  *bufio.Reader
	number int    // of the line
	next   []byte // the line that was read and does not belong to the part before
	at     int    // the line of the last key
	begun  bool   // a line of the document was read
	ended  bool

	out    *bufio.Writer
	comma  bool // one stands before the next key
	left   int  // bytes of JSON that may still come
	faults []fault
}

// raw returns the next line and its indentation; nil at the end of the first document.
func (c *yamlCutter) raw() ([]byte, int, error) {
	for c.next == nil && !c.ended {
		l, err := c.lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		c.number++
		c.ended = err == io.EOF
		mark, comment, _ := bytes.Cut(bytes.TrimRight(l, " \t\r\n"), []byte(" "))
		switch begins := string(mark) == "---"; {
		case begins && !c.begun && (len(comment) == 0 || comment[0] == '#'):
		case begins || string(mark) == "...":
			c.ended = true
		case len(l) > 0 && l[0] == '%' && !c.begun:
		case len(l) > 0:
			c.next = l
		}
	}
	return c.next, len(c.next) - len(bytes.TrimLeft(c.next, " ")), nil
}

// line is raw without empty lines and comments.
func (c *yamlCutter) line() ([]byte, int, error) {
	for {
		l, indent, err := c.raw()
		if bare := bytes.TrimSpace(l); err != nil || l == nil || len(bare) > 0 && bare[0] != '#' {
			c.begun = true
			return l, indent, err
		}
		c.next = nil
	}
}

// sections are the top-level keys below which there are parts.
var sections = []string{pathsPart, "components", "definitions", "parameters", "responses"}

// document writes an object with a member for each top-level key that says something to us.
func (c *yamlCutter) document() error {
	return c.members(-1, func(key string, indent int) error {
		each := func(name string, indent int) error { return c.part(key, name, indent, nil) }
		switch {
		case key == "components":
			return c.object(key, indent, func(kind string, indent int) error { return c.object(kind, indent, each) })
		case slices.Contains(sections, key):
			return c.object(key, indent, each)
		}
		return c.part("", key, indent, nil)
	})
}

// object writes a key whose value is an object, if it is none in flow style and no list.
func (c *yamlCutter) object(key string, indent int, each func(key string, indent int) error) error {
	if l, _, err := c.line(); err == nil && l != nil && bytes.IndexByte([]byte("-{["), bytes.TrimLeft(l, " ")[0]) >= 0 {
		return c.part("", key, indent, nil)
	}
	c.key(key)
	return c.members(indent, each)
}

func (c *yamlCutter) key(key string) {
	if c.comma {
		_ = c.out.WriteByte(',') // errors stay until Flush
	}
	_, _ = c.out.Write(append(strictjson.AppendString(nil, strings.ToValidUTF8(key, "\ufffd")), ':'))
}

// members writes an object whose keys stand deeper than above. each writes a key whose value is in the lines below it.
func (c *yamlCutter) members(above int, each func(key string, indent int) error) error {
	_ = c.out.WriteByte('{')
	c.comma = false
	for at := -1; ; {
		l, indent, err := c.line()
		if err != nil {
			return err
		}
		if l == nil || at < 0 && indent <= above || indent < at {
			break
		}
		key, rest, ok := yamlKey(l)
		if !ok || at >= 0 && indent != at {
			return errors.New("the line is no key, and a description that is read in parts has to be in block style")
		}
		at, c.at, c.next = indent, c.number, nil
		if above < 0 && !slices.Contains(topNames, key) && !slices.Contains(sections, key) {
			_, err = c.below(indent, nil, false)
		} else if len(rest) > 0 {
			err = c.part("", key, indent, rest)
		} else if l, deeper, failed := c.line(); failed != nil || l == nil ||
			deeper <= indent && !isEntry(l, deeper, indent) {
			c.key(key)
			_, err = c.out.WriteString("null")
			c.comma = true
		} else {
			err = each(key, indent)
		}
		if err != nil {
			return err
		}
	}
	c.comma = true
	return c.out.WriteByte('}')
}

// isEntry reports whether a line is of the value of a key although it is not indented more than that: an entry of a
// list, or the end of a list or object in flow style.
func isEntry(l []byte, indent, key int) bool {
	bare := bytes.TrimSpace(l)
	return indent == key && (bare[0] == '-' && (len(bare) == 1 || bare[1] == ' ') || bare[0] == '}' || bare[0] == ']')
}

// part writes a key with its value: the rest of its line, and the lines below that belong to it. section is the
// top-level key above an entry that may be at fault; "" if it may not.
func (c *yamlCutter) part(section, key string, above int, rest []byte) error {
	text := append(bytes.Repeat([]byte(" "), above), "x: "...)
	text, err := c.below(above, append(append(text, rest...), '\n'), true)
	if err != nil {
		return err
	}
	if len(text) > wholeYAML {
		return fmt.Errorf("%.200q has more than %d bytes", key, wholeYAML)
	}
	value, err := yamlToJSON(text, &c.left)
	switch {
	case err != nil && (section == "" || c.left < 0 || len(c.faults) >= faultsMax):
		return err
	case err != nil:
		c.faults = append(c.faults, fault{section, key, lineOf(err, c.at)})
		return nil
	}
	value = bytes.TrimPrefix(value, []byte(`{"x":`))
	c.key(key)
	c.comma = true
	_, err = c.out.Write(value[:len(value)-1])
	return err
}

// below returns a text with the lines after it that belong to a key of this indentation; keep says whether to add them.
func (c *yamlCutter) below(above int, text []byte, keep bool) ([]byte, error) {
	for {
		l, indent, err := c.raw()
		if err != nil {
			return nil, err
		}
		bare := bytes.TrimSpace(l)
		outside := len(bare) > 0 && indent <= above
		switch {
		case l == nil || outside && bare[0] != '#' && !isEntry(l, indent, above):
			return text, nil
		case outside && bare[0] == '#': // a comment, wherever it is
			l = []byte("\n")
		}
		if c.next = nil; keep && len(text) <= wholeYAML {
			text = append(text, l...)
		}
	}
}

// lineOf is an error of the parser about a part that begins at a line of the document.
func lineOf(err error, first int) string {
	text, n := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if line, rest, ok := strings.Cut(text, ": "); ok {
		if _, err := fmt.Sscanf(line, "line %d", &n); err == nil {
			return fmt.Sprintf("near line %d: %s", first+n-1, rest)
		}
	}
	return fmt.Sprintf("near line %d: %s", first, text)
}

// yamlKey takes a line "key: rest" apart. rest is empty if the value is in the lines below.
func yamlKey(l []byte) (key string, rest []byte, ok bool) {
	bare := bytes.TrimSpace(l)
	end := 0
	if bare[0] == '"' || bare[0] == '\'' {
		end = 1
		for end < len(bare) && bare[end] != bare[0] {
			if bare[end] == '\\' && bare[0] == '"' {
				end++
			}
			end++
		}
	}
	for end < len(bare) && (bare[end] != ':' || end+1 < len(bare) && bare[end+1] != ' ' && bare[end+1] != '\t') {
		end++
	}
	var one yaml.Node
	if end >= len(bare) || bare[0] == '-' && end > 1 && bare[1] == ' ' || decodeYAML(bare[:end], &one) != nil ||
		len(one.Content) != 1 || one.Content[0].Kind != yaml.ScalarNode {
		return "", nil, false
	}
	rest = bytes.TrimSpace(bare[end+1:])
	if len(rest) > 0 && rest[0] == '#' {
		rest = nil
	}
	return one.Content[0].Value, rest, true
}

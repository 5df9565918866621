package openapi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A yamlCutter writes a YAML document as JSON, part by part.
type yamlCutter struct {
	lines  *bufio.Reader
	number int    // of the line
	next   []byte // the line that was read and does not belong to the part before
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

// document writes an object with a member for each top-level key.
func (c *yamlCutter) document() error {
	return c.members(-1, func(key string, indent int) error {
		each := func(name string, indent int) error { return c.part(key, name, indent, nil) }
		switch key {
		case pathsPart, "definitions", "parameters", "responses":
			return c.object(key, indent, each)
		case "components":
			return c.object(key, indent, func(kind string, indent int) error { return c.object(kind, indent, each) })
		}
		return c.part("", key, indent, nil)
	})
}

// object writes a key whose value is an object.
func (c *yamlCutter) object(key string, indent int, each func(key string, indent int) error) error {
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
		at, c.next = indent, nil
		if len(rest) > 0 {
			err = c.part("", key, indent, rest)
		} else if l, deeper, failed := c.line(); failed != nil || l == nil || deeper <= indent && !isEntry(l, deeper, indent) {
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
	text = append(append(text, rest...), '\n')
	first := c.number
	for {
		l, indent, err := c.raw()
		if err != nil {
			return err
		}
		bare := bytes.TrimSpace(l)
		if l == nil || len(bare) > 0 && indent <= above && bare[0] != '#' && !isEntry(l, indent, above) {
			break
		}
		if c.next = nil; len(bare) > 0 && indent <= above && bare[0] == '#' {
			l = []byte("\n")
		}
		if text = append(text, l...); len(text) > wholeYAML {
			return fmt.Errorf("%.200q has more than %d bytes", key, wholeYAML)
		}
	}
	value, err := yamlToJSON(text, &c.left)
	switch {
	case c.left < 0 || err != nil && section == "" || len(c.faults) >= faultsMax:
		return err
	case err != nil:
		c.faults = append(c.faults, fault{section, key, fmt.Sprintf("near line %d: %s", first, err)})
		return nil
	}
	value = bytes.TrimPrefix(value, []byte(`{"x":`))
	c.key(key)
	c.comma = true
	_, err = c.out.Write(value[:len(value)-1])
	return err
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

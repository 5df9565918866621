package results

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
)

// longestPointer bounds a JSON Pointer, in bytes.
const longestPointer = 4 << 10

// A cursor reads a kept value. It is at a place in one chunk, and holds no other.
type cursor struct {
	place
	ctx    context.Context
	starts []place
	size   int64
	chunk  func(ctx context.Context, n int) ([]byte, error)

	n    int    // of the chunk
	rest []byte // of the chunk, from the place on
}

// jump moves to the beginning of a chunk.
func (c *cursor) jump(n int) error {
	b, err := c.chunk(c.ctx, n)
	if err != nil {
		return err
	}
	end := c.size
	if n+1 < len(c.starts) {
		end = c.starts[n+1].At
	}
	if int64(len(b)) != end-c.starts[n].At {
		return errDamaged
	}
	c.place, c.n, c.rest = c.starts[n], n, b
	return nil
}

// ahead moves to the last chunk that f accepts, if it begins behind the place.
func (c *cursor) ahead(f func(start *place) bool) error {
	for n := len(c.starts) - 1; n > c.n; n-- {
		if c.starts[n].At > c.At && f(&c.starts[n]) {
			return c.jump(n)
		}
	}
	return nil
}

// more makes sure that there is a rest. The error at the end of the value is io.EOF.
func (c *cursor) more() error {
	switch {
	case len(c.rest) > 0:
		return nil
	case c.n+1 == len(c.starts):
		return io.EOF
	}
	return c.jump(c.n + 1)
}

// next returns the next unit, and moves behind it.
func (c *cursor) next() ([]byte, error) {
	if err := c.more(); err != nil {
		return nil, err
	}
	n, err := c.step(c.rest, chunkSize)
	if err != nil {
		return nil, err
	}
	unit := c.rest[:n]
	c.rest = c.rest[n:]
	return unit, nil
}

// peek moves to the beginning of the next value, and returns its first byte.
func (c *cursor) peek() (byte, error) {
	for {
		if err := c.more(); err != nil {
			return 0, err
		}
		switch b := c.rest[0]; b {
		case ' ', '\t', '\r', '\n', ':':
			c.rest = c.rest[1:]
			c.At++
		default:
			return b, nil
		}
	}
}

// ends reports whether the place is behind a member of the container of depth d, or at the end of the value.
func (c *cursor) ends(d int) (bool, error) {
	switch err := c.more(); {
	case err == io.EOF && d == 0:
		return true, nil
	case err != nil:
		return false, err
	}
	b := c.rest[0]
	return c.Depth == d && !c.Text && (b == ',' || b == ']' || b == '}'), nil
}

// skip moves behind the value that begins here.
func (c *cursor) skip() error {
	from := c.place
	if err := c.ahead(func(start *place) bool { return start.within(&from) }); err != nil {
		return err
	}
	for {
		if over, err := c.ends(from.Depth); over || err != nil {
			return err
		}
		if _, err := c.next(); err != nil {
			return err
		}
	}
}

// enter moves into the array or object that begins here.
func (c *cursor) enter() error {
	_, err := c.next()
	return err
}

// member moves from the beginning of a container, just entered, to its member n. If it has fewer, left is how many.
func (c *cursor) member(n int64) (there bool, left int64, err error) {
	d, at := c.Depth, int64(0)
	switch first, err := c.peek(); {
	case err != nil:
		return false, 0, err
	case first == ']' || first == '}':
		return n < 0, 0, nil
	}
	if d <= mostLevels {
		from := c.place
		from.Depth = d - 1
		err := c.ahead(func(start *place) bool {
			return start.within(&from) && start.Depth >= d && start.Path[d-1] < n
		})
		if err != nil {
			return false, 0, err
		}
		at = c.Path[d-1]
	}
	for at < n {
		over, err := c.ends(d)
		switch {
		case err != nil:
			return false, 0, err
		case over && c.rest[0] != ',':
			return false, at + 1, nil
		case over:
			at++
		}
		if _, err := c.next(); err != nil {
			return false, 0, err
		}
	}
	return true, 0, nil
}

// key reads the key of a member that begins here. It cuts a key that is longer than any pointer.
func (c *cursor) key() (string, error) {
	raw := []byte{'"'}
	if b, err := c.peek(); err != nil || b != '"' {
		return "", errDamaged
	}
	for first := true; first || c.Text; first = false {
		unit, err := c.next()
		if err != nil {
			return "", err
		}
		if !first && c.Text && len(raw) <= 6*longestPointer {
			raw = append(raw, unit...)
		}
	}
	var key string
	return key, json.Unmarshal(append(raw, '"'), &key)
}

// find moves from the beginning of an object, just entered, to the value of a key. If there is none, keys are some that
// there are.
func (c *cursor) find(key string) (there bool, keys []string, err error) {
	if b, err := c.peek(); err != nil || b == '}' {
		return false, nil, err
	}
	for {
		found, err := c.key()
		if err != nil || found == key {
			return err == nil, nil, err
		}
		if len(keys) < someKeys {
			keys = append(keys, found)
		}
		if _, err := c.peek(); err != nil {
			return false, nil, err
		}
		if err := c.skip(); err != nil {
			return false, nil, err
		}
		if unit, err := c.next(); err != nil || unit[0] != ',' {
			return false, keys, err
		}
	}
}

// someKeys is how many keys of an object are named.
const someKeys = 8

// index reads a number of a member as in a JSON Pointer.
func index(token string) (int64, bool) {
	n, err := strconv.ParseInt(token, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == token
}

package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// frameMax limits one message from a server. A longer one ends the connection:
// after it, no place in the stream is sure to be the start of a message.
const frameMax = 64 << 20

var errFrameTooLarge = fmt.Errorf("it sent a message of more than %d MiB", frameMax>>20)

// A frameReader finds the JSON-RPC messages in a server's standard output: one
// on a line, as the specification says. It drops and counts other lines.
type frameReader struct {
	r       *bufio.Reader
	max     int
	dropped atomic.Int64 // lines that held no message
	found   [][]byte     // in the last line, not yet returned
	spread  []byte       // the lines of an object that began with a line of its own

	// instead returns the message in place of a text that holds none; nil drops the text. It may be nil.
	instead func(text []byte) []byte
}

func newFrameReader(r io.Reader, max int) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, readAtOnce), max: max}
}

// next returns the next message, which the caller owns. The error is io.EOF,
// errFrameTooLarge or the reader's.
func (f *frameReader) next() ([]byte, error) {
	for len(f.found) == 0 {
		line, cut, err := f.line()
		if cut || len(bytes.TrimSpace(line)) > 0 {
			if f.found = messagesIn(line); len(f.found) == 0 {
				f.dropped.Add(1)
				if err == nil { // at its end, the server's status says more than half a line
					f.found = f.without(line)
				}
			}
		}
		if err != nil && len(f.found) == 0 {
			return nil, err
		}
	}
	m := f.found[0]
	f.found = f.found[1:]
	return m, nil
}

// without returns the messages in place of a line that holds none. Some servers print a message over several lines.
func (f *frameReader) without(line []byte) [][]byte {
	text := bytes.TrimRight(line, " \t\r\n")
	switch {
	case string(text) == "{" || string(text) == "[":
		f.spread = append(f.spread[:0], line...)
		return nil
	case len(f.spread) > 0 && len(f.spread)+len(line) <= min(searchMax, f.max):
		f.spread = append(f.spread, line...)
		if text[0] != '}' && text[0] != ']' {
			return nil
		}
		text = bytes.TrimSpace(bytes.Clone(f.spread))
	}
	f.spread = nil
	if m := message(text); m != nil {
		return [][]byte{m}
	}
	if f.instead != nil {
		if m := f.instead(text); m != nil {
			return [][]byte{m}
		}
	}
	return nil
}

// readAtOnce is the size of the buffer for a server's output.
const readAtOnce = 64 << 10

// A chunk is a part of a long line.
type chunk struct {
	bytes [readAtOnce]byte
	n     int
}

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// line returns the next line, which the caller owns. It cuts off the beginning of a line that is too long,
// unless a message may begin there. It joins the parts of a long line at the end: a slice that grows would
// allocate 196 MB for a message of 32 MB, and this allocates 36.
func (f *frameReader) line() (line []byte, cut bool, err error) {
	var parts []*chunk
	size := 0
	release := func() {
		for _, p := range parts {
			chunks.Put(p)
		}
		parts, size = nil, 0
	}
	defer release()
	for {
		part, err := f.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if !more && len(parts) == 0 && len(part) <= f.max {
			return bytes.Clone(part), cut, err
		}
		p := chunks.Get().(*chunk)
		p.n = copy(p.bytes[:], part)
		parts = append(parts, p)
		if size += p.n; size > f.max {
			if slices.ContainsFunc(parts, func(p *chunk) bool { return bytes.IndexByte(p.bytes[:p.n], '{') >= 0 }) {
				return nil, false, errFrameTooLarge
			}
			release()
			cut = true
		}
		if more {
			continue
		}
		line = make([]byte, 0, size)
		for _, p := range parts {
			line = append(line, p.bytes[:p.n]...)
		}
		return line, cut, err
	}
}

// searchMax is the maximum length of a line without a message in which we search for messages: the search reads a line
// several times.
const searchMax = 1 << 20

// messagesIn returns the messages of one line. A program that prints text
// without a line end puts it in front of a message, and two writers can put two
// messages on one line.
func messagesIn(line []byte) [][]byte {
	line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\xef\xbb\xbf"))
	if m := message(line); m != nil {
		return [][]byte{m}
	}
	if len(line) > searchMax {
		return nil
	}
	var out [][]byte
	for tries := 0; tries < 8; tries++ {
		at := bytes.Index(line, []byte(`{"`))
		if at < 0 {
			break
		}
		line = line[at:]
		d := json.NewDecoder(bytes.NewReader(line))
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			if looseKeys(line)["jsonrpc"] != "" {
				break // what looks like a message inside a message that cannot be read is data
			}
			line = line[1:]
			continue
		}
		line = line[d.InputOffset():]
		if m := message(raw); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// message returns b as valid UTF-8 if it is a JSON-RPC message or a batch of
// them, else nil, as for a log line in JSON.
func message(b []byte) []byte {
	if !enclosed(b, '{', '}') && !enclosed(b, '[', ']') {
		return nil // do not decode an incomplete message, however long
	}
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	if b[0] == '[' {
		var batch []envelope
		if json.Unmarshal(b, &batch) != nil || len(batch) == 0 {
			return nil
		}
		for _, e := range batch {
			if !e.message() {
				return nil
			}
		}
		return b
	}
	var e envelope
	if json.Unmarshal(b, &e) != nil || !e.message() {
		return nil
	}
	return b
}

func enclosed(b []byte, first, last byte) bool {
	return len(b) > 1 && b[0] == first && b[len(b)-1] == last
}

// An envelope is the outside of a JSON-RPC message.
type envelope struct {
	Version string  `json:"jsonrpc"`
	ID      present `json:"id"`
	Method  present `json:"method"`
	Result  present `json:"result"`
	Error   present `json:"error"`
}

func (e *envelope) message() bool {
	return e.Version == "2.0" && (bool(e.Method) || bool(e.ID) && e.Result != e.Error)
}

// A present says that a key is there, with a value other than null. It does not copy the value, which may be long.
type present bool

// UnmarshalJSON implements [json.Unmarshaler]; json calls it for null, too.
func (p *present) UnmarshalJSON(b []byte) error {
	*p = string(b) != "null"
	return nil
}

package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An eventFilter stands between a server's event stream and the SDK. Events
// that hold no message are left out, because the SDK ends the session at them;
// and the answer to a captured request is taken out.
type eventFilter struct {
	body    io.Closer
	r       *bufio.Reader
	max     int
	capture *capture
	ready   bytes.Buffer
	err     error
}

func newEventFilter(body io.ReadCloser, max int, c *capture) *eventFilter {
	return &eventFilter{body: body, r: bufio.NewReaderSize(body, 16<<10), max: max, capture: c}
}

func (f *eventFilter) Close() error { return f.body.Close() }

func (f *eventFilter) Read(p []byte) (int, error) {
	for f.ready.Len() == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.err = f.event()
	}
	return f.ready.Read(p)
}

// event reads one event and makes what the SDK shall read of it ready. As the
// specification of event streams has it, an event without its blank line at
// the end of the stream is none.
func (f *eventFilter) event() error {
	var fields, data []byte
	name := ""
	hasData := false
	for size := 0; ; {
		line, err := f.line(f.max - size)
		if err != nil {
			return err
		}
		size += len(line)
		if len(line) == 0 {
			break
		}
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(key) {
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			data, hasData = append(data, value...), true
		case "event":
			name = string(value)
			fields = append(append(fields, line...), '\n')
		case "id", "retry":
			fields = append(append(fields, line...), '\n')
		}
	}
	if hasData && len(data) > 0 && (name == "" || name == "message") {
		if data = f.capture.replace(data); data == nil {
			hasData = false
		}
	}
	f.ready.Write(fields)
	if hasData {
		f.ready.WriteString("data: ")
		f.ready.Write(data)
		f.ready.WriteByte('\n')
	}
	if f.ready.Len() == 0 {
		f.ready.WriteString(":\n") // a comment; the SDK must see that something is alive
	}
	f.ready.WriteByte('\n')
	return nil
}

// line returns the next line without its end.
func (f *eventFilter) line(max int) ([]byte, error) {
	var line []byte
	for {
		part, err := f.r.ReadSlice('\n')
		if len(line)+len(part) > max {
			return nil, errFrameTooLarge
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// replace returns a message as the SDK shall see it, on one line: without its
// result, if the capture wants it alone. It returns nil for what is no message.
func (c *capture) replace(b []byte) []byte {
	if b = message(bytes.TrimSpace(b)); b == nil {
		return nil
	}
	if c == nil || b[0] == '[' {
		return oneLine(b)
	}
	b = c.party.mark(b)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method present         `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  *jsonrpc.Error  `json:"error"`
	}
	if json.Unmarshal(b, &m) == nil && !bool(m.Method) {
		c.noteError(m.Error)
		if m.Result != nil && c.take(m.Result) {
			b = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, marshal(errTaken))
		}
	}
	return oneLine(b)
}

func oneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	var out bytes.Buffer
	if json.Compact(&out, b) != nil { // cannot happen: it was decoded before
		return nil
	}
	return out.Bytes()
}

// A jsonBody is the body of an answer that is one message, treated as the
// events of an [eventFilter] are.
type jsonBody struct {
	body    io.ReadCloser
	capture *capture
	ready   *bytes.Reader
}

func (b *jsonBody) Close() error { return b.body.Close() }

func (b *jsonBody) Read(p []byte) (int, error) {
	if b.ready == nil {
		all, err := io.ReadAll(io.LimitReader(b.body, frameMax+1))
		if err != nil {
			return 0, err
		}
		if len(all) > frameMax {
			return 0, errFrameTooLarge
		}
		if m := b.capture.replace(all); m != nil {
			all = m
		}
		b.ready = bytes.NewReader(all)
	}
	return b.ready.Read(p)
}

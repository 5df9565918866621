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

// An eventFilter reads a server's event stream for the SDK. It removes events
// without a message, because the SDK ends the session at them, and records the
// answer of the exchange.
type eventFilter struct {
	body     io.Closer
	r        *bufio.Reader
	max      int
	exchange *exchange
	ready    bytes.Buffer
	err      error
}

func newEventFilter(body io.ReadCloser, max int, x *exchange) *eventFilter {
	return &eventFilter{body: body, r: bufio.NewReaderSize(body, 16<<10), max: max, exchange: x}
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

// event reads one event and stores the SDK's part of it in ready. By the specification of event streams, an event
// without its blank line at the end of the stream does not count.
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
		if data = f.exchange.filter(data); data == nil {
			hasData = false
		}
	}
	f.ready.Write(fields)
	if hasData {
		f.ready.WriteString("data: ")
		f.ready.Write(bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: ")))
		f.ready.WriteByte('\n')
	}
	if f.ready.Len() == 0 {
		f.ready.WriteString(":\n") // a comment shows the SDK that the server is alive
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

// filter records a message, and returns it as the SDK gets it: without its
// result, if the exchange withholds it. It returns nil if b is no message.
func (x *exchange) filter(b []byte) []byte {
	if b = message(bytes.TrimSpace(b)); b == nil {
		return nil
	}
	if x == nil || b[0] == '[' {
		return b
	}
	b = x.caller.mark(b)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method present         `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  *jsonrpc.Error  `json:"error"`
	}
	if json.Unmarshal(b, &m) == nil && !bool(m.Method) && x.noteAnswer(m.Result, m.Error) {
		b = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, marshal(errWithheld))
	}
	return b
}

// A jsonBody reads an answer that is one message, as an [eventFilter] reads its events.
type jsonBody struct {
	body     io.ReadCloser
	exchange *exchange
	ready    *bytes.Reader
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
		if m := b.exchange.filter(all); m != nil {
			all = m
		}
		b.ready = bytes.NewReader(all)
	}
	return b.ready.Read(p)
}

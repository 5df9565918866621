package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// An eventFilter reads a server's event stream for the SDK. It removes events
// without a message, because the SDK ends the session at them, and records the
// answer of the exchange.
type eventFilter struct {
	body  io.Closer
	r     *bufio.Reader
	max   int
	to    *reading
	ready bytes.Buffer
	err   error
}

func newEventFilter(body io.ReadCloser, max int, to *reading) *eventFilter {
	return &eventFilter{body: body, r: bufio.NewReaderSize(body, 16<<10), max: max, to: to}
}

func (f *eventFilter) Close() error { return f.body.Close() }

func (f *eventFilter) Read(p []byte) (int, error) {
	for f.ready.Len() == 0 {
		if f.err != nil {
			return 0, f.err
		}
		if f.err = f.event(); f.err != nil && f.to.id != "" && !f.to.done {
			f.to.ended(f.err)
		}
	}
	return f.ready.Read(p)
}

// ended notes that the stream is over before the answer. The SDK may open another one for the rest.
func (rd *reading) ended(err error) {
	if rd.exchange == nil || rd.exchange.unreadable() != nil {
		return
	}
	text := "its event stream ended before the answer"
	if !errors.Is(err, io.EOF) {
		text += ": " + rd.masked(err.Error(), rd.exchange.given())
	}
	rd.exchange.noteUnreadable(&unreadable{text})
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
	all := [][]byte{data}
	if !hasData {
		all = nil
	} else if len(data) > 0 && (name == "" || name == "message") {
		if all = f.to.messages(data); len(all) == 0 {
			if m := f.to.lost(data); m != nil {
				all = [][]byte{m}
			}
		}
	}
	f.ready.Write(fields)
	for i, data := range all {
		if i > 0 {
			f.ready.WriteByte('\n')
		}
		f.ready.Write(eventData(data))
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

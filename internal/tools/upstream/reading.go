package upstream

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A posted is the request in the body of a POST.
type posted struct {
	id     string // as we wrote it; "" for a notification and for an answer of ours
	method string
}

// postedIn reads the beginning of the body, where the SDK writes id and method.
func postedIn(r *http.Request) (p posted) {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return p
	}
	body, err := r.GetBody()
	if err != nil {
		return p
	}
	defer body.Close()
	begin, _ := io.ReadAll(io.LimitReader(body, 1<<10)) // of a buffer
	keys := looseKeys(begin)
	p.method = strings.Trim(keys["method"], `"`)
	if p.method != "" {
		p.id = strings.Trim(keys["id"], `"`)
	}
	return p
}

// A reading is how the answers to one request are read.
type reading struct {
	posted
	exchange *exchange
	masked   masking
	byID     *pending // finds the requests of a stream with the answers to all (SSE); nil: there is one request
	// again repeats a request to initialize for another version of the protocol. It returns the answer, and the session.
	again   func(failed *jsonrpc.Error) (message []byte, session string)
	session string // that again returned
	done    bool   // the answer has come
}

// messages returns the messages of a text, as the SDK gets them. It leaves out what is no message, and answers to other
// requests: they would reach the wrong caller.
func (rd *reading) messages(b []byte) (out [][]byte) {
	var found [][]byte
	for _, m := range messagesIn(b) {
		if m[0] != '[' {
			found = append(found, m)
			continue
		}
		batch, _, _ := elements(m, requestsMax) // messagesIn has read it
		for _, one := range batch {
			found = append(found, one)
		}
	}
	for _, m := range found {
		if m = rd.message(m); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// lost returns the message that ends the request to which an event is an unreadable answer; nil if there is none.
func (rd *reading) lost(b []byte) []byte {
	switch {
	case rd.byID != nil:
		return rd.byID.lost(b, rd.masked)
	case rd.id == "":
		return nil
	}
	e := &unreadable{"its answer cannot be read: " + words(b, rd.masked, rd.exchange.given())}
	rd.exchange.noteUnreadable(e) // counts if no answer comes
	if answerID(b) != rd.id {
		return nil
	}
	return unreadableAnswer(rd.id, e)
}

// message returns one message as the SDK gets it: without its result, if the exchange withholds it. It returns nil for
// an answer that is not for this request, or that the SDK cannot decode.
func (rd *reading) message(b []byte) []byte {
	if rd.exchange != nil {
		b = rd.exchange.caller.mark(b)
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method present         `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(b, &m) != nil {
		return nil
	}
	if bool(m.Method) || rd.byID != nil {
		return decodable(b)
	}
	if rd.done || !sameID(m.ID, rd.id) { // the first answer counts
		return nil
	}
	r := response{id: rd.id, result: m.Result}
	if present := bytes.TrimSpace(m.Error); len(present) > 0 && string(present) != "null" {
		r.result = nil
		if json.Unmarshal(m.Error, &r.failed) != nil {
			return nil
		}
	}
	return rd.answer(r)
}

// A response is an answer of a server, for its request.
type response struct {
	id     string
	result json.RawMessage
	failed *jsonrpc.Error
}

func (rd *reading) answer(r response) []byte {
	rd.done = true
	if r.failed != nil && rd.again != nil {
		if b, session := rd.again(r.failed); b != nil {
			rd.session = session
			return b
		}
	}
	switch {
	case r.failed != nil:
	case rd.method == methodInitialize:
		r.result = tidyInitialize(r.result)
	case rd.method == methodDiscover:
		r.result = tidyDiscover(r.result)
	}
	if rd.exchange.noteAnswer(r.result, r.failed) {
		r.failed = errWithheld
	}
	if r.failed != nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, r.id, marshal(r.failed))
	}
	return decodable(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.id, r.result))
}

// decodable returns a message if the SDK can decode it, else nil.
func decodable(b []byte) []byte {
	if _, err := decode(b); err != nil {
		return nil
	}
	return b
}

// isAnswered reports whether one of the messages answers the request.
func (rd *reading) isAnswered(messages [][]byte) bool {
	for _, m := range messages {
		var e envelope
		if json.Unmarshal(m, &e) == nil && !bool(e.Method) {
			return true
		}
	}
	return false
}

// with returns the answer with these messages.
func (rd *reading) with(resp *http.Response, messages ...[]byte) *http.Response {
	body := messages[0]
	if rd.session != "" {
		resp.Header.Set(sessionHeader, rd.session)
	}
	resp.Header.Set("Content-Type", "application/json")
	if len(messages) > 1 {
		resp.Header.Set("Content-Type", eventStream)
		body = nil
		for _, m := range messages {
			body = append(append(body, eventData(m)...), '\n')
		}
	}
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}

// A plainBody reads a body that may be compressed, whatever its header says.
type plainBody struct {
	body io.ReadCloser
	r    io.Reader // nil before the first Read
}

func (p *plainBody) Close() error { return p.body.Close() }

func (p *plainBody) Read(b []byte) (int, error) {
	if p.r == nil {
		buffered := bufio.NewReader(p.body)
		p.r = buffered
		if head, _ := buffered.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
			unzipped, err := gzip.NewReader(buffered)
			if err != nil {
				return 0, fmt.Errorf("reading gzip: %w", err)
			}
			p.r = unzipped
		}
	}
	return p.r.Read(b)
}

// errorBodyMax is how much to read of an answer that is not a message.
const errorBodyMax = 1 << 20

func limited(body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, errorBodyMax), body}
}

// A silence is an event stream without events.
type silence struct{ ctx context.Context }

func (s *silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (s *silence) Close() error { return nil }

const (
	eventStream   = "text/event-stream"
	sessionHeader = "Mcp-Session-Id"
	resumeHeader  = "Last-Event-Id"
)

// eventData writes a message as the lines of an event.
func eventData(message []byte) []byte {
	return fmt.Appendf(nil, "data: %s\n", bytes.ReplaceAll(message, []byte("\n"), []byte("\ndata: ")))
}

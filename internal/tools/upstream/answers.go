package upstream

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/codemode-project/codemode/internal/lazy"
)

// What a server answers to one HTTP request concerns that request alone. The SDK ends the whole connection, with all
// calls in flight, at an answer that it cannot read and at most error statuses. So the SDK gets only what it can read:
// the answer of exactly this request, or an error of the round trip, which it takes for the error of one request.

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

// answer makes of an HTTP answer to a request what the SDK can read, or an error that concerns this request alone.
func (w *httpWire) answer(r *http.Request, resp *http.Response, rd *reading) (*http.Response, error) {
	resp.Body = &plainBody{body: resp.Body}
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	resp.Header.Del("Content-Encoding")
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // an invalid one is not a known media type
	if rd.method != methodInitialize {
		resp.Header.Del(sessionHeader) // another one than that of the session would end it
	}
	switch code := resp.StatusCode; {
	case r.Method == http.MethodDelete || redirects(resp):
		resp.Body = limited(resp.Body)
		return resp, nil
	case r.Method == http.MethodGet:
		return w.stream(r, resp, media, rd)
	case code < 200 || code > 299:
		return w.failure(r, resp, media, rd)
	case rd.id == "" || w.sse:
		resp.Body = limited(resp.Body)
		return resp, nil
	case media == eventStream:
		f := newEventFilter(resp.Body, frameMax, rd)
		for rd.again != nil && !rd.done && f.err == nil {
			f.err = f.event()
		}
		if rd.session != "" {
			resp.Header.Set(sessionHeader, rd.session)
		}
		resp.Body = f
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, frameMax+1))
	_ = resp.Body.Close()
	if err == nil && len(body) > frameMax {
		err = errFrameTooLarge
	}
	if err == nil {
		if messages := rd.messages(body); rd.isAnswered(messages) {
			return rd.with(resp, messages...), nil
		}
		if failed := nobodysError(body); failed != nil {
			return rd.with(resp, rd.answer(response{id: rd.id, failed: failed})), nil
		}
	}
	return nil, w.unreadable(resp, media, rd, body, err)
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

// nobodysError returns the error in a body that is one without the id of a request: the server could not read it.
func nobodysError(body []byte) *jsonrpc.Error {
	var m struct {
		ID    present        `json:"id"`
		Error *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\xef\xbb\xbf")), &m) != nil || bool(m.ID) ||
		m.Error == nil || m.Error.Message == "" {
		return nil
	}
	return m.Error
}

// unreadable is the error of a request whose answer cannot be read.
func (w *httpWire) unreadable(resp *http.Response, media string, rd *reading, body []byte, err error) error {
	kind := "no content type"
	if media != "" {
		kind = "content type " + words([]byte(media), nil, nil)
	}
	text := fmt.Sprintf("its answer cannot be read (HTTP %s, %s): ", words([]byte(resp.Status), nil, nil), kind)
	switch {
	case err != nil && len(body) > 0 && !errors.Is(err, errFrameTooLarge):
		return fmt.Errorf("%s%s: %w", text, words(body, w.masked, rd.exchange.given()), err)
	case err != nil:
		return fmt.Errorf("%s%w", text, err)
	case len(bytes.TrimSpace(body)) == 0:
		text += "it is empty"
	default:
		text += words(body, w.masked, rd.exchange.given())
	}
	return &unreadable{text}
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

const (
	eventStream   = "text/event-stream"
	sessionHeader = "Mcp-Session-Id"
	resumeHeader  = "Last-Event-Id"
)

// redirects reports whether the HTTP client follows an answer.
func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// errorBodyMax is how much to read of an answer that is not a message.
const errorBodyMax = 1 << 20

func limited(body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, errorBodyMax), body}
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

// stream makes of the answer to a GET an event stream that the SDK can read. A stream that cannot be opened does not
// end the session: calls have streams of their own.
func (w *httpWire) stream(r *http.Request, resp *http.Response, media string, rd *reading) (*http.Response, error) {
	if resp.StatusCode == http.StatusOK && media == eventStream {
		if rd.exchange == nil {
			w.listens.Store(true)
		}
		resp.Body = newEventFilter(resp.Body, frameMax, rd)
		return resp, nil
	}
	if w.sse {
		return w.failure(r, resp, media, rd)
	}
	e := w.refusal(resp, media, rd)
	switch {
	case rd.exchange != nil: // the rest of the answer to a call
		err := &unreadable{"the rest of its answer cannot be read: " + e.Error()}
		rd.exchange.noteUnreadable(err)
		body := append(eventData(unreadableAnswer(rd.id, err)), '\n')
		resp.Header.Set("Content-Type", eventStream)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	case !w.listens.Load():
		resp.StatusCode, resp.Status = http.StatusMethodNotAllowed, "405 Method Not Allowed"
		resp.Body = http.NoBody
	default: // there was one: without it, notices come when the list is read again
		if r.Header.Get(sessionHeader) != "" && e.isForgotten() {
			w.forgotten(e)
		}
		resp.Header.Set("Content-Type", eventStream)
		resp.Body = &silence{r.Context()}
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	}
	return resp, nil
}

// A silence is an event stream without events.
type silence struct{ ctx context.Context }

func (s *silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (s *silence) Close() error { return nil }

// A statusError is an HTTP answer that is an error.
type statusError struct {
	code       int
	media      string
	words      string         // of the server; "" for none
	failed     *jsonrpc.Error // the body was an error of the protocol
	own        bool           // failed has the id of the request
	challenge  bool           // it names a way to log in
	retryAfter time.Duration  // when the server says to try again; 0 if it does not
}

func (e *statusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("it answered HTTP %d %s", e.code, http.StatusText(e.code)))
	if e.words != "" {
		if e.media != "" && e.failed == nil && e.media != "text/plain" && e.media != "application/json" {
			text += " (" + e.media + ")"
		}
		text += ": " + e.words
	}
	if e.retryAfter > 0 {
		text += fmt.Sprintf("; it says to try again in %v", e.retryAfter)
	}
	return text
}

// refusal reads an answer that is an error, and closes its body.
func (w *httpWire) refusal(resp *http.Response, media string, rd *reading) *statusError {
	said := func(text []byte) string { return words(text, w.masked, rd.exchange.given()) }
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBodyMax)) // an unreadable body has no words
	_ = resp.Body.Close()
	e := &statusError{code: resp.StatusCode, media: words([]byte(media), nil, nil),
		retryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	for _, challenge := range resp.Header["Www-Authenticate"] {
		e.challenge = e.challenge || strings.HasPrefix(strings.ToLower(strings.TrimSpace(challenge)), "bearer")
	}
	e.words = said(body)
	var m map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), &m) != nil {
		return e
	}
	if json.Unmarshal(m["error"], &e.failed) == nil && e.failed != nil && e.failed.Message != "" {
		e.words, e.own = said([]byte(e.failed.Message)), sameID(m["id"], rd.id)
		return e
	}
	e.failed = nil
	for _, key := range []string{"error_description", "message", "detail", "error", "title"} {
		if text := text(m[key], wordsRead); text != "" {
			e.words = said([]byte(text))
			break
		}
	}
	return e
}

// retryAfterMax is the longest time to wait that we believe a server.
const retryAfterMax = 24 * time.Hour

// retryAfter reads a Retry-After header, which has seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(header, 64); err == nil && seconds > 0 && seconds < retryAfterMax.Seconds() {
		return time.Duration(seconds * float64(time.Second))
	} else if at, err := http.ParseTime(header); err == nil {
		return max(0, min(at.Sub(now).Round(time.Second), retryAfterMax))
	}
	return 0
}

// failure makes of an error status the error of its request, or the server's own answer to it.
func (w *httpWire) failure(r *http.Request, resp *http.Response, media string, rd *reading) (*http.Response, error) {
	e := w.refusal(resp, media, rd)
	gone := (r.Header.Get(sessionHeader) != "" || w.sse && r.Method == http.MethodPost) && e.isForgotten()
	if gone {
		w.forgotten(e)
	}
	switch {
	case r.Method == http.MethodPost && rd.id == "" && !w.sse: // a notice of ours that the server does not want
		resp.Body = http.NoBody
		resp.StatusCode, resp.Status = http.StatusAccepted, "202 Accepted"
		return resp, nil
	case gone:
		return nil, &forgottenError{e}
	case e.failed != nil && !w.sse && e.isAnswer():
		return rd.with(resp, rd.answer(response{id: rd.id, failed: e.failed})), nil
	}
	return nil, e
}

// isAnswer reports whether an error of the protocol in the body counts, rather than the status: the server has read the
// request and says what is wrong with it.
func (e *statusError) isAnswer() bool {
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooManyRequests:
		return false
	}
	return e.code >= 400 && e.code < 500
}

// A forgottenError is the answer to a request of a session that the server no longer knows. The server did not act on
// it.
type forgottenError struct{ *statusError }

func (e *forgottenError) Error() string {
	return "it has forgotten the session: " + e.statusError.Error()
}
func (e *forgottenError) Unwrap() error { return e.statusError }

// Sentences by which servers say that they do not know a session. They have to be the whole message.
var forgetful = lazy.Regexp(`(?i)^((bad request|unauthorized|not found|invalid request|error|gone)[:,]? *)?` +
	`((no|no valid|no active|invalid|unknown|missing|expired|unrecogni[sz]ed)` +
	`( or (missing|expired|invalid|unknown))? (mcp[ -])?session([ -]?ids?)?( header)?( provided| found| given)?|` +
	`((the|your|mcp)[ -])*session([ -]?ids?)?( header)?( (with id )?["'\x60]?[\w.-]+["'\x60]?)? ` +
	`(is |was |has |has been |does |is no longer |no longer )?` +
	`(not (found|exist|recogni[sz]ed|known|valid|active)|unknown|invalid|missing|required|expired|terminated|closed|` +
	`ended|gone|exists?|valid|active)|` +
	`(the )?(server|session|client|connection|transport) (is |was |has )?not (yet )?(been )?initiali[sz]ed|` +
	`unexpected message, expect initiali[sz]e request)` +
	`([.:;,] *[^ ].{0,80})?[.!]?$`)

// isForgotten reports whether the server says that it does not know the session of the request. By the specification it
// answers 404. Many servers answer otherwise, and say so in words. An error with the id of the request answers the
// request, unless its code is one of those by which transports refuse.
func (e *statusError) isForgotten() bool {
	said := forgetful().MatchString(e.words)
	if e.failed != nil && e.own {
		said = said && (e.failed.Code == jsonrpc.CodeInvalidRequest || e.failed.Code == -32000 || e.failed.Code == -32001)
	}
	switch e.code {
	case http.StatusNotFound:
		return said || e.failed == nil || e.failed.Code != jsonrpc.CodeMethodNotFound && !e.own
	case http.StatusBadRequest, http.StatusGone, http.StatusUnprocessableEntity:
		return said
	case http.StatusUnauthorized:
		return said && !e.challenge
	}
	return false
}

// initializeAgain returns [reading.again] for a request to initialize.
func (w *httpWire) initializeAgain(r *http.Request) func(*jsonrpc.Error) ([]byte, string) {
	return func(failed *jsonrpc.Error) ([]byte, string) {
		body, err := r.GetBody()
		if err != nil {
			return nil, ""
		}
		raw, _ := io.ReadAll(body) // of a buffer
		m, err := jsonrpc.DecodeMessage(raw)
		first, ok := m.(*jsonrpc.Request)
		if err != nil || !ok {
			return nil, ""
		}
		again := otherVersion(first, failed)
		if again == nil {
			return nil, ""
		}
		if raw, err = jsonrpc.EncodeMessage(again); err != nil {
			return nil, ""
		}
		next := r.Clone(context.WithValue(r.Context(), asked, true))
		next.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
		next.Body, _ = next.GetBody()
		next.ContentLength = int64(len(raw))
		resp, err := w.RoundTrip(next)
		if err != nil {
			return nil, ""
		}
		defer resp.Body.Close()
		return answerIn(resp), resp.Header.Get(sessionHeader)
	}
}

// answerIn returns the answer in a response of [httpWire.RoundTrip], nil if there is none.
func answerIn(resp *http.Response) []byte {
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, schemaMax)
	for lines.Scan() {
		line := bytes.TrimPrefix(lines.Bytes(), []byte("data: "))
		var e envelope
		if m := message(line); m != nil && json.Unmarshal(m, &e) == nil && !bool(e.Method) {
			return bytes.Clone(m)
		}
	}
	return nil
}

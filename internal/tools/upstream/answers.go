package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What a server answers to one HTTP request concerns that request alone. The SDK ends the whole connection, with all
// calls in flight, at an answer that it cannot read and at most error statuses. So the SDK gets only what it can read:
// the answer of exactly this request, or an error of the round trip, which it takes for the error of one request.

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

// redirects reports whether the HTTP client follows an answer.
func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
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

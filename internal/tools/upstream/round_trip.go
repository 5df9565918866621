package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/codemode-project/codemode/internal/secrets"
)

// RoundTrip implements [http.RoundTripper].
func (w *httpWire) RoundTrip(r *http.Request) (*http.Response, error) {
	if secrets.SchemeHostPort(r.URL) != w.origin { // an SSE server may name any address as its endpoint
		return nil, fmt.Errorf("it names another origin, %s, as its endpoint", secrets.SchemeHostPort(r.URL))
	}
	x := exchangeOf(r.Context())
	rd := &reading{posted: postedIn(r), exchange: x, masked: w.masked}
	switch {
	case r.Method != http.MethodPost:
	case x != nil:
		x.begin()
		x.id = rd.id
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.noteSent() },
			WroteRequest: func(httptrace.WroteRequestInfo) { x.passOn() }}
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	default: // mostly an answer to a request of the server
		select {
		case w.untaken <- struct{}{}:
			defer func() { <-w.untaken }()
		default:
			return nil, fmt.Errorf("%d messages to the server are still being sent", requestsMax)
		}
	}
	switch {
	case r.Method == http.MethodGet && w.sse:
		rd.byID = &w.pending
	case r.Method == http.MethodGet && x != nil:
		rd.id = x.id
	case rd.method == methodInitialize && r.Context().Value(asked) == nil:
		rd.again = w.initializeAgain(r)
	}
	r = r.Clone(r.Context())
	w.addHeaders(r, x)
	resp, err := w.account.RoundTrip(w.base, r)
	if resp != nil && r.Method == http.MethodPost {
		x.noteStatus(resp.StatusCode)
		w.noteStatus(resp.StatusCode)
	}
	if err != nil {
		return nil, err
	}
	if w.raw {
		resp.Body = limited(&plainBody{body: resp.Body})
		return resp, nil
	}
	return w.answer(r, resp, rd)
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

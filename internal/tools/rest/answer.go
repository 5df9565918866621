package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// An Answer is an answer of the API.
type Answer struct {
	Status int
	// Value is a JSON answer with its digits as they came, a text as a JSON string, or null if there is none.
	Value json.RawMessage
	// Block holds bytes that are no text, as a content block of MCP: an image, audio, or a resource. nil: none.
	Block map[string]any
	Next  json.RawMessage // the arguments of the next page of the same operation; nil: none is known
}

const (
	errorMax   = 64 << 10 // bytes of the body of an error
	messageMax = 300      // characters of its sentence
)

// read reads an answer.
func (c *Client) read(resp *http.Response, hidden *secrets.Values) (*Answer, error) {
	code := resp.StatusCode
	a := &Answer{Status: code, Value: json.RawMessage("null")}
	fail := func(format string, args ...any) error {
		return &AnswerError{code, visible.Sprintf("the answer "+format, args...)}
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case code >= 400 || code >= 300 && code != http.StatusNotModified:
		return nil, readError(resp, hidden)
	case code == http.StatusNoContent || code == http.StatusResetContent || code == http.StatusNotModified,
		resp.Request != nil && resp.Request.Method == http.MethodHead:
		return a, nil
	case media == "text/event-stream":
		return nil, fail("is a stream of events, which cannot be read here")
	case resp.Header.Get("Content-Encoding") != "":
		return nil, fail("is encoded as %.20s, which nobody asked for", resp.Header.Get("Content-Encoding"))
	}
	raw, readErr := io.ReadAll(io.LimitReader(resp.Body, c.o.MaxAnswer+1))
	long := int64(len(raw)) > c.o.MaxAnswer
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	text := hidden.Hide(string(raw))
	switch {
	case long:
		return nil, fail("is longer than %d bytes", c.o.MaxAnswer)
	case readErr != nil:
		return nil, &lostError{readErr}
	case len(raw) == 0:
	case err == nil && isJSON(media):
		if text != string(raw) {
			raw = []byte(text)
		}
		if !utf8.Valid(raw) || !json.Valid(raw) {
			return nil, fail("says that it is JSON, and is not")
		}
		a.Value = bytes.TrimSpace(raw)
	case isText(media) || err != nil && utf8.Valid(raw):
		a.Value = quote(strings.ToValidUTF8(text, "\ufffd"))
	case text != string(raw):
		return nil, fail("holds a credential")
	default:
		a.Block = block(media, raw)
	}
	return a, nil
}

// block is the content block of bytes.
func block(media string, raw []byte) map[string]any {
	if media == "" {
		media = "application/octet-stream"
	}
	data := base64.StdEncoding.EncodeToString(raw)
	if kind, _, _ := strings.Cut(media, "/"); kind == "image" || kind == "audio" {
		return map[string]any{"type": kind, "mimeType": media, "data": data}
	}
	return map[string]any{"type": "resource",
		"resource": map[string]any{"uri": "urn:codemode:answer", "mimeType": media, "blob": data}}
}

func isText(media string) bool {
	switch media {
	case "application/xml", "application/x-www-form-urlencoded", "application/yaml", "application/x-yaml",
		"application/javascript", "application/graphql", "application/x-ndjson", "application/jsonl":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml")
}

func quote(s string) json.RawMessage { return strictjson.AppendString(nil, s) }

// readError reads an answer that is no success. What cannot be read of it is missing.
func readError(resp *http.Response, hidden *secrets.Values) *StatusError {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, errorMax))
	text := hidden.Hide(strings.ToValidUTF8(string(raw), "\ufffd"))
	e := &StatusError{Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	e.RetryAfter, _ = retryAfter(resp.Header)
	said := ""
	switch {
	case strings.TrimSpace(text) == "":
	case isJSON(media) && json.Valid([]byte(text)):
		e.Body = bytes.TrimSpace([]byte(text))
		said = sentence(e.Body, 3)
	case media == "text/html":
		_, said, _ = strings.Cut(text, "<title>")
		said, _, _ = strings.Cut(said, "</")
		e.Body = quote(visible.Short(said, messageMax))
	case isText(media) || media == "" || isJSON(media):
		e.Body, said = quote(text), text
	}
	if said = visible.Short(strings.TrimSpace(said), messageMax); said != "" {
		e.Message = said
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("the API answered with status %d", resp.StatusCode)
	}
	return e
}

// sayings are the members in which APIs say what is wrong, the clearest first.
var sayings = []string{"detail", "message", "title", "error_description", "error", "errors", "description", "reason",
	"msg", "fault"}

// sentence finds what an error says.
func sentence(raw json.RawMessage, depth int) string {
	if text, ok := str(raw); ok || depth == 0 {
		return strings.TrimRight(text, ". ")
	}
	said := map[string]string{}
	for name, v := range each(raw, membersMax) {
		if raw[0] == '[' {
			return sentence(v, depth-1)
		}
		if slices.Contains(sayings, name) {
			said[name] = sentence(v, depth-1)
		}
	}
	if said["title"] != "" && said["detail"] != "" {
		return said["title"] + ": " + said["detail"]
	}
	for _, name := range sayings {
		if said[name] != "" {
			return said[name]
		}
	}
	return ""
}

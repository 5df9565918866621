package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/server/limits"
)

// maxBody bounds a request, in bytes. It is many times the size of a program with its input and people's answers.
const maxBody = 4 << 20

const (
	// bodyWait is how long a client may take to send its request.
	bodyWait = 30 * time.Second
	// maxOpening bounds a request without a session before MCP 2026-07-28, in bytes: such a request can only open a
	// session.
	maxOpening = 64 << 10
	// firstBody is the largest size of a request's first buffer, in bytes; the buffer doubles each time it is full.
	firstBody = 4 << 10
)

// readBody reads the whole request, so that afterwards a silent client is a waiting client. It acquires memory as the
// buffer fills: the length that the client announces counts only if it is small, as that of most requests is. The error
// is a [*fair.Full] if there is no memory, else one for bodyStatus.
func readBody(w http.ResponseWriter, r *http.Request, memory *limits.Memory) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWait)) // tests have responses without one
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	most := int64(maxBody)
	if r.Header.Get(sessionHeader) == "" && r.Header.Get("Mcp-Protocol-Version") < stateless {
		most = maxOpening
	}
	from := http.MaxBytesReader(w, r.Body, most)
	first := int64(firstBody)
	if r.ContentLength > 0 {
		first = min(r.ContentLength+1, first) // one byte of room shows the end
	}
	if err := memory.Grow(first); err != nil {
		return nil, err
	}
	body := make([]byte, 0, first)
	for {
		if len(body) == cap(body) {
			if err := memory.Grow(int64(2 * cap(body))); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, 2*cap(body)), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, err
		}
	}
}

// bodyStatus is the status when reading a request failed.
func bodyStatus(err error) int {
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}

// A message is what the server reads of a message of the protocol before the SDK does.
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// messages reads the messages of a request. The SDK reports what is wrong with them.
func messages(body []byte) (all []message) {
	var one message
	if json.Unmarshal(body, &one) == nil {
		return []message{one}
	}
	_ = json.Unmarshal(body, &all)
	return all
}

// tool returns the name of the tool that a message calls, "" if it calls none.
func (m message) tool() string {
	var call struct {
		Name string `json:"name"`
	}
	if m.Method != "tools/call" || json.Unmarshal(m.Params, &call) != nil {
		return ""
	}
	return call.Name
}

// begins reports whether a request starts a session or a tool call, or comes back to a waiting call.
func begins(body []byte) bool {
	return slices.ContainsFunc(messages(body), func(m message) bool {
		return m.Method == "tools/call" || m.Method == "initialize"
	})
}

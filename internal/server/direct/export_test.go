package direct

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// ReadInSession returns the call that a [Session] would serve for a request with this body; nil is none.
func ReadInSession(body []byte) *jsonrpc.Request {
	return readInSession(&http.Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, versionHeader: {"2025-11-25"}}}, body)
}

package direct

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// ReadInSession returns the call that a [Session] would serve for a request with this body; nil is none.
func ReadInSession(body []byte) *jsonrpc.Request {
	message, err := strictjson.Parse(body, strictjson.Options{})
	if err != nil || !isText(message, "jsonrpc", "2.0") {
		return nil
	}
	return readCall(message, body)
}

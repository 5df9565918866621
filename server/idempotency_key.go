package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Where a client puts its idempotency key, see [codemode.Request.IdempotencyKey]. The header is the one of
// draft-ietf-httpapi-idempotency-key-header, a text in quotes; codemode accepts it without quotes too. Over stdio there
// is only _meta.
const (
	keyHeader = "Idempotency-Key"
	keyMeta   = "codemode/idempotencyKey"
)

var errKeyHeader = errors.New(`the header ` + keyHeader +
	` has to be one text, such as "8e03978e-40d5-43e8-bc93-6894a57f9324"`)

// idempotencyKey reads the key of a call; "" is none.
func idempotencyKey(req *mcp.CallToolRequest) (string, error) {
	var inMeta string
	if v, ok := req.Params.Meta[keyMeta]; ok {
		if inMeta, ok = v.(string); !ok || inMeta == "" {
			return "", fmt.Errorf("%s in _meta has to be a text that is not empty", keyMeta)
		}
	}
	var header http.Header
	if req.Extra != nil {
		header = req.Extra.Header
	}
	values := header.Values(keyHeader)
	if len(values) == 0 {
		return inMeta, nil
	}
	key := strings.TrimSpace(values[0])
	if inner, ok := strings.CutPrefix(key, `"`); ok {
		if key, ok = strings.CutSuffix(inner, `"`); !ok || strings.ContainsAny(key, `"\`) {
			return "", errKeyHeader
		}
	}
	switch {
	case len(values) > 1 || key == "":
		return "", errKeyHeader
	case inMeta != "" && inMeta != key:
		return "", errors.New("the idempotency keys in the header " + keyHeader + " and in _meta are not the same")
	}
	return key, nil
}

// hasIdempotencyKey reports whether the client can come back for the result. Then the call need not end with the
// request.
func hasIdempotencyKey(req *mcp.CallToolRequest) bool {
	key, err := idempotencyKey(req)
	return err == nil && key != ""
}

package upstream

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// shortMessage is the length up to which decode decodes by itself. A message of that length cannot be nested more
// deeply than the SDK's decoder permits.
const shortMessage = 1000

// decode decodes a message. The SDK's decoder allocates 32 KiB for each, which is most of the cost of a flood of short
// ones, so decode reads those by itself and leaves errors and odd messages to the SDK. Both match keys exactly.
func decode(raw []byte) (jsonrpc.Message, error) {
	if len(raw) > shortMessage {
		return jsonrpc.DecodeMessage(raw)
	}
	var m map[string]json.RawMessage
	var version, method string
	if json.Unmarshal(raw, &m) != nil || json.Unmarshal(m["jsonrpc"], &version) != nil || version != "2.0" ||
		m["error"] != nil {
		return jsonrpc.DecodeMessage(raw)
	}
	var id jsonrpc.ID
	if text := m["id"]; text != nil {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, err
		}
		var err error
		if id, err = jsonrpc.MakeID(v); err != nil {
			return nil, err
		}
	}
	switch text := m["method"]; {
	case text == nil && id.IsValid():
		return &jsonrpc.Response{ID: id, Result: m["result"]}, nil
	case text == nil || json.Unmarshal(text, &method) != nil:
		return jsonrpc.DecodeMessage(raw)
	}
	return &jsonrpc.Request{ID: id, Method: method, Params: m["params"]}, nil
}

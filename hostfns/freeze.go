package hostfns

import (
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// freeze turns the argument of a call into the one byte string that is decided on, shown, hashed and sent. A missing
// argument becomes {}. Input that two JSON readers could take for two different things is an error: see [strictjson].
func freeze(raw json.RawMessage, limit int) (json.RawMessage, error) {
	if len(raw) > limit {
		return nil, fmt.Errorf("the arguments take %d bytes, the limit is %d", len(raw), limit)
	}
	v, err := strictjson.Parse(raw, strictjson.Options{})
	if err != nil {
		return nil, fmt.Errorf("the arguments are not strict JSON: %w", err)
	}
	if v.Kind() == strictjson.Null {
		return json.RawMessage("{}"), nil
	}
	if text := v.Compact(); len(text) != len(raw) {
		return json.RawMessage(text), nil
	}
	return raw, nil // as programs write it; it may be megabytes
}

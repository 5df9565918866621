package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/server"
)

// The key is in the header, with quotes or without, or in _meta. One that is not clear is refused, and nothing runs.
func TestWhereAnIdempotencyKeyStands(t *testing.T) {
	h := open(t, `{}`, server.Options{}, func(o *codemode.Options) { o.RecordDir = t.TempDir() })
	url := h.listen()
	_, _, session := knock{body: initializeBody}.send(t, url)
	n := 0
	call := func(header []string, meta string) string {
		t.Helper()
		n++
		const message = `{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {
			"name": "codemode_eval", "arguments": {"code": "return Math.random()"}%s}}`
		k := knock{body: fmt.Sprintf(message, 100+n, meta), header: map[string]string{"Mcp-Session-Id": session}}
		if len(header) > 0 {
			k.header["Idempotency-Key"] = header[0]
		}
		_, body, _ := k.send(t, url)
		_, text, _ := strings.Cut(body, `"text":"`)
		text, _, _ = strings.Cut(text, `"}`)
		return text
	}
	first := call([]string{`"a-key"`}, "")
	if !strings.HasPrefix(first, "0.") {
		t.Fatalf("got %s", first)
	}
	for what, same := range map[string]string{
		"without quotes": call([]string{"a-key"}, ""),
		"in _meta":       call(nil, `, "_meta": {"codemode/idempotencyKey": "a-key"}`),
		"in both":        call([]string{`"a-key"`}, `, "_meta": {"codemode/idempotencyKey": "a-key"}`),
	} {
		if same != first {
			t.Errorf("%s: %s, was %s", what, same, first)
		}
	}
	for what, other := range map[string]string{
		"another key": call([]string{`"b-key"`}, ""),
		"none":        call(nil, ""),
	} {
		if other == first || !strings.HasPrefix(other, "0.") {
			t.Errorf("%s: %s, was %s", what, other, first)
		}
	}
	for what, refused := range map[string]struct{ got, want string }{
		"half a text":    {call([]string{`"a-key`}, ""), "has to be one text"},
		"two texts":      {call([]string{`"a-key", "b-key"`}, ""), "has to be one text"},
		"an empty text":  {call([]string{`""`}, ""), "has to be one text"},
		"words":          {call([]string{`"a key"`}, ""), "no spaces"},
		"two keys":       {call([]string{`"a-key"`}, `, "_meta": {"codemode/idempotencyKey": "b-key"}`), "are not the same"},
		"a number":       {call(nil, `, "_meta": {"codemode/idempotencyKey": 7}`), "has to be a text"},
		"an empty value": {call(nil, `, "_meta": {"codemode/idempotencyKey": ""}`), "has to be a text"},
	} {
		if !strings.HasPrefix(refused.got, "error: ") || !strings.Contains(refused.got, refused.want) {
			t.Errorf("%s: %s", what, refused.got)
		}
	}
}

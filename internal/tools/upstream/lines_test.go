package upstream_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A line with the id of a call that is no answer ends the call at once, with the server's words. Log lines do not, and
// what can be read is read.
func TestALineThatIsNoAnswerEndsItsCall(t *testing.T) {
	t.Parallel()
	const good = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok"}]}}`
	s := fakeServer(t, "s", "prints")
	s.Env["API_TOKEN"] = "hush-hush-hush-hush"
	m := manage(t, upstream.Options{}, s)
	for _, row := range []struct{ name, text, want string }{
		{"NaN", strings.Replace(good, `"ok"`, "NaN", 1) + "\n", `"text":NaN`},
		{"Infinity, the id last", `{"jsonrpc":"2.0","result":{"id":99,"x":-Infinity},"id":ID}` + "\n", "-Infinity"},
		{"half of it", good[:60] + "\n", `"type`},
		{"a line end in a text", strings.Replace(good, "ok", "o\nk", 1) + "\n", `"text":"o`},
		{"result and error", `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"both"}}` + "\n", "both"},
		{"neither", `{"jsonrpc":"2.0","id":ID}` + "\n", `"id":`},
		{"no result", `{"jsonrpc":"2.0","id":ID,"result":null}` + "\n", `"result":null`},
		{"an error that is text", `{"jsonrpc":"2.0","id":ID,"error":"disk full"}` + "\n", "disk full"},
		{"a code that is text", `{"jsonrpc":"2.0","id":ID,"error":{"code":"E1","message":"disk full"}}` + "\n", "disk full"},
		{"no version", `{"id":ID,"result":{"content":[]}}` + "\n", `"result"`},
		{"an error without a version", `{"id":ID,"error":{"code":1,"message":"disk full"}}` + "\n", "disk full"},
		{"version 1.0", `{"jsonrpc":"1.0","id":ID,"result":{}}` + "\n", "1.0"},
		{"single quotes", `{"jsonrpc":"2.0","id":ID,"result":{'a':1}}` + "\n", "'a'"},
		{"over lines, broken", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": ID,\n  \"result\": {\"x\": NaN}\n}\n", "NaN"},
		{"control characters and secrets", `{"jsonrpc":"2.0","id":ID,"result":` + "\x1b ITS TOKEN\n",
			`\u{1b} [secret]`},
		{"the id as text", `{"jsonrpc":"2.0","id":"ID","result":{"x":NaN}}` + "\n", "NaN"},
		{"a byte order mark", "\xef\xbb\xbf" + strings.Replace(good, `"ok"`, "NaN", 1) + "\r\n", "NaN"},

		{"log lines", "starting call ID\n" + `{"level":30,"id":ID,"msg":"x"}` + "\n" + `{"id":ID,"error":"x","time":1}` + "\n" +
			`{"jsonrpc":"2.0","id":ID,"method":5}` + "\n" + `DEBUG {"jsonrpc":"2.0","id":ID,"res` + "\n" + good + "\n", ""},
		{"a byte order mark before the answer", "\xef\xbb\xbf" + good + "\n", ""},
		{"CRLF", "\r\n" + good + "\r\n", ""},
		{"several on a line", `{"jsonrpc":"2.0","method":"notifications/message"}` + good + good + "\n", ""},
		{"an array", "[" + good + "]\n", ""},
		{"an array over lines", "[\n" + good + "\n]\n", ""},
		{"text in front", "result: " + good + "\n", ""},
		{"the answer's id as text", strings.Replace(good, "ID", `"ID"`, 1) + "\n", ""},
		{"error: null", strings.Replace(good, `"result"`, `"error":null,"result"`, 1) + "\n", ""},
		{"over lines", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": ID,\n  \"result\": {\n\t\"structuredContent\": \"ok\"\n  }\n}\n", ""},
		{"a message in the data of one that cannot be read", `{"jsonrpc":"2.0","id":ID,"result":{"x":NaN,"log":` + good + "}}\n",
			"NaN"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, _ := json.Marshal(map[string]string{"text": strings.ReplaceAll(row.text, "\xef\xbb\xbf", "\uFEFF")})
			began := time.Now()
			r, err := call(t, m, "s", "raw", string(text))
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			var e *upstream.Error
			switch {
			case row.want == "" && (err != nil || string(r.Value) != `"ok"`):
				t.Errorf("got %v, %v", r, err)
			case row.want != "" && (!errors.As(err, &e) || !e.Unknown || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want an unknown outcome and %q", err, row.want)
			}
		})
	}
	if st := status(t, m, "s"); st.Restarts != 0 || st.State != upstream.Ready {
		t.Errorf("it was started %d times again, and is %s", st.Restarts, st.State)
	}
}

package upstream

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var wireMessages = []string{
	`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
	`{"jsonrpc":"2.0","id":"one","result":null}`,
	`{"jsonrpc":"2.0","id":7,"method":"ping"}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":9007199254740993}}`,
	`{"jsonrpc":"2.0","method":""}`,
	`{"jsonrpc":"2.0","method":null}`,
	`{"jsonrpc":"2.0","method":5}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":[1]}}`,
	`{"jsonrpc":"2.0","id":1,"error":null,"result":{}}`,
	`{"jsonrpc":"2.0","id":null,"result":{}}`,
	`{"jsonrpc":"2.0","id":{},"result":{}}`,
	`{"jsonrpc":"2.0","id":1.5,"result":{}}`,
	`{"jsonrpc":"2.0","ID":1,"Result":{},"Method":"x"}`,
	`{"jsonrpc":"2.0","id":1,"id":2,"result":1,"result":2}`,
	`{"jsonrpc":"1.0","id":1,"result":{}}`,
	`{"JSONRPC":"2.0","id":1,"result":{}}`,
	`{"id":1,"result":{}}`,
	`null`, `[]`, `{`, ``,
	`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 2*shortMessage) + `"}`,
	`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`,
}

// same reports how our reading of a message differs from the SDK's.
func differs(raw string) string {
	want, wantErr := jsonrpc.DecodeMessage([]byte(raw))
	got, err := decode([]byte(raw))
	if (err == nil) != (wantErr == nil) {
		return "the SDK says " + cmp.Diff(wantErr, err)
	}
	return cmp.Diff(want, got, cmp.Comparer(func(a, b jsonrpc.ID) bool { return a == b }))
}

func TestMessagesAreReadAsTheSDKReadsThem(t *testing.T) {
	for _, raw := range wireMessages {
		if d := differs(raw); d != "" {
			t.Errorf("%.80s (-sdk +got):\n%s", raw, d)
		}
	}
}

func FuzzMessagesAreReadAsTheSDKReadsThem(f *testing.F) {
	for _, raw := range wireMessages {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if message([]byte(raw)) == nil {
			return // such a line is dropped before
		}
		if d := differs(raw); d != "" {
			t.Errorf("%q (-sdk +got):\n%s", raw, d)
		}
	})
}

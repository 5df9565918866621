package hostfns

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTaint is POLICY.md N4: what an untrusted server says taints the run from then on,
// whether it is an answer, an error of its own, or the words of a lost connection.
func TestTaint(t *testing.T) {
	for _, tt := range []struct {
		name    string
		trusted bool
		reply   *Reply
		err     error
		want    bool // of the call after it
	}{
		{"an answer", false, &Reply{Value: json.RawMessage(`1`)}, nil, true},
		{"an answer of a trusted server", true, &Reply{Value: json.RawMessage(`1`)}, nil, false},
		{"an error of its own", false, nil, &ToolFailure{Message: "do as I say"}, true},
		{"an error of a trusted server", true, nil, &ToolFailure{Message: "no such file"}, false},
		{"a connection that broke", false, nil, &SendError{Message: "EOF", Unknown: true}, true},
		{"a server that was not reached", false, nil, &SendError{Message: "refused"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.tools["fs__read"].Trusted = tt.trusted
			w.reply = func(_ context.Context, tool *Tool, _ json.RawMessage) (*Reply, error) {
				if tool.Name == "fs__read" {
					return tt.reply, tt.err
				}
				return &Reply{Value: json.RawMessage(`"ok"`)}, nil
			}
			var seen []Counters
			policy := counting{w, &seen}
			r := NewGate(Deps{Tools: w, Recorder: w, Sender: w}).Run(RunInfo{Policy: policy})
			use(t, r, 1, "fs__read", `{}`)
			use(t, r, 2, "pay__send", `{}`)
			if got := []bool{seen[0].Tainted, seen[1].Tainted}; cmp.Diff([]bool{false, tt.want}, got) != "" {
				t.Errorf("tainted before the first and the second call: %v, want false and %v", got, tt.want)
			}
		})
	}
}

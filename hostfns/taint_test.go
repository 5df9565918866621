package hostfns

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
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
		{"a server that still starts", false, nil, &SendError{Message: "it starts", Reason: ReasonStarting}, false},
		{"a server without a login", false, nil, &SendError{Message: "log in", Login: true}, false},
		{"a process that ended", false, nil, &SendError{Message: "it last wrote: do as I say"}, true},
		{"one that ended, of a trusted server", true, nil, &SendError{Message: "it last wrote: do as I say"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.tools["fs__read"].Trusted = tt.trusted
			w.reply = func(_ context.Context, tool *call.Tool, _ json.RawMessage) (*Reply, error) {
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

// TestWhatReachesACall: only what is written in the text, with single values of trusted servers in its gaps, is free of
// what an untrusted server answered.
func TestWhatReachesACall(t *testing.T) {
	trusted, stranger := &call.Tool{Name: "time__now", Server: "time", Trusted: true},
		&call.Tool{Name: "mail__read", Server: "mail"}
	written := []WrittenCall{
		{Tool: "http__post", Args: json.RawMessage(`{"url":"https://example.org","n":1}`)},
		{Tool: "http__post", Args: json.RawMessage(`{"at":null,"list":[null,"fixed"]}`), Unknown: []string{"/at", "/list/0"}},
		{Tool: "http__post", Args: json.RawMessage(`null`), Unknown: []string{""}},
		{Tool: "http__get", Args: json.RawMessage(`{}`)},
	}
	for _, tt := range []struct {
		tool, args string
		want       bool // something may have reached it
	}{
		{"http__post", `{"url":"https://example.org","n":1}`, false},
		{"http__post", `{"n":1,"url":"https://example.org"}`, false},
		{"http__post", `{"url":"https://example.org","n":2}`, true},
		{"http__post", `{"url":"https://example.org"}`, true},
		{"http__post", `{"url":"https://example.org","n":1,"x":1}`, true},
		{"http__post", `{}`, true},
		{"http__get", `{}`, false},
		{"http__get", `{"url":"https://example.org","n":1}`, true},
		{"other__tool", `{}`, true},
		{"http__post", `{"list":["2026-11-23","fixed"]}`, true},
		{"http__post", `{"at":"2026-11-23","list":["2026-11-23","fixed"]}`, false},
		{"http__post", `{"at":"2026-11-2","list":["2026-11-23","fixed"]}`, true},
		{"http__post", `{"at":["2026-11-23"],"list":["2026-11-23","fixed"]}`, true},
		{"http__post", `{"at":"both say it","list":["2026-11-23","fixed"]}`, true},
		{"http__post", `{"at":"a secret","list":["2026-11-23","fixed"]}`, true},
		{"http__post", `{"at":"now","list":["2026-11-23","fixed"]}`, true},
		{"http__post", `{"list":["2026-11-23","fixed","2026-11-23"]}`, true},
		{"http__post", `"2026-11-23"`, false}, // the Gate takes no such arguments
	} {
		var clean, read taint
		for _, x := range []*taint{&clean, &read} {
			x.answered(1, trusted, json.RawMessage(`{"date":"2026-11-23","short":"now","both":"both say it"}`), true)
		}
		read.answered(2, stranger, json.RawMessage(`["a secret","both say it"]`), true)
		if why := clean.reaches(tt.tool, json.RawMessage(tt.args), written); why != "" {
			t.Errorf("%s %s: before anything was read: %s", tt.tool, tt.args, why)
		}
		if why := read.reaches(tt.tool, json.RawMessage(tt.args), written); (why != "") != tt.want {
			t.Errorf("%s %s: got %q, want a reason %t", tt.tool, tt.args, why, tt.want)
		}
		if why := read.reaches(tt.tool, json.RawMessage(tt.args), nil); why == "" {
			t.Errorf("%s %s: without the text nothing is known to be written", tt.tool, tt.args)
		}
	}
	var full taint
	full.answered(1, trusted, json.RawMessage(`"2026-11-23"`), true)
	full.answered(2, stranger, json.RawMessage(`"`+strings.Repeat("x", mostTraced)+`"`), true)
	if why := full.reaches("http__post", json.RawMessage(`{"list":["2026-11-23","fixed"]}`), written); why == "" {
		t.Error("after more answers than are kept a value still counts as a trusted server's")
	}
}

// TestP39_5WordsOfServersTaint has all ways in which words of an untrusted server reach a program, and an echo.
func TestP39_5WordsOfServersTaint(t *testing.T) {
	written := []WrittenCall{
		{Tool: "pay__send", Args: json.RawMessage(`{"to":"fixed"}`)},
		{Tool: "pay__send", Args: json.RawMessage(`{"to":null}`), Unknown: []string{"/to"}},
		{Tool: "fs__write", Args: json.RawMessage(`null`), Unknown: []string{""}},
	}
	stranger := func(w *world) { w.tools["fs__read"].Trusted = false }
	for _, tt := range []struct {
		name  string
		world func(w *world)
		calls []Invocation
		to    string // what pay__send is called with
		want  bool
	}{
		{"a description, by search_tools", stranger, []Invocation{{Name: "search_tools", Args: json.RawMessage(`"read"`)}}, "other", true},
		{"a description, by search", stranger, []Invocation{{Name: "search", Args: json.RawMessage(`{}`)}}, "other", true},
		{"a declaration, by get_tools", stranger, []Invocation{{Name: "get_tools", Args: json.RawMessage(`["fs__read"]`)}}, "other", true},
		{"all declarations of a server", stranger, []Invocation{{Name: "get_tools", Args: json.RawMessage(`{"server":"fs"}`)}}, "other", true},
		{"a declaration, and what the text has", stranger, []Invocation{{Name: "get_tools", Args: json.RawMessage(`["fs__read"]`)}}, "fixed", false},
		{"declarations of trusted servers", func(*world) {}, []Invocation{{Name: "get_tools", Args: json.RawMessage(`{}`)}}, "other", false},
		{"a schema, in an error", func(w *world) {
			stranger(w)
			w.tools["fs__read"].Validate = func(context.Context, call.Arguments) error {
				return &ArgumentError{Path: "/x", Expected: "one of \"do as I say\""}
			}
		}, []Invocation{{Name: "fs__read", Args: json.RawMessage(`{}`)}}, "other", true},
		{"a value that a trusted server answered", func(w *world) {
			stranger(w)
			w.reply = func(_ context.Context, tool *call.Tool, _ json.RawMessage) (*Reply, error) {
				return &Reply{Value: json.RawMessage(`["mallory of ` + tool.Server + `"]`)}, nil
			}
		}, []Invocation{{Name: "fs__read", Args: json.RawMessage(`{}`)}, {Name: "pay__send", Args: json.RawMessage(`{"to":"fixed"}`)}},
			"mallory of pay", false},
		{"a value that a trusted server echoes", func(w *world) {
			stranger(w)
			w.reply = func(_ context.Context, tool *call.Tool, args json.RawMessage) (*Reply, error) {
				if tool.Name == "fs__read" {
					return &Reply{Value: json.RawMessage(`["to mallory"]`)}, nil
				}
				return &Reply{Value: json.RawMessage(`["mallory"]`)}, nil
			}
		}, []Invocation{{Name: "fs__read", Args: json.RawMessage(`{}`)}, {Name: "pay__send", Args: json.RawMessage(`{"to":"mall"}`)}},
			"mallory", true},
		{"a value that a trusted server echoes later", func(w *world) {
			stranger(w)
			w.reply = func(_ context.Context, tool *call.Tool, args json.RawMessage) (*Reply, error) {
				if tool.Name == "pay__send" && string(args) == `{"to":"fixed"}` {
					return &Reply{Value: json.RawMessage(`["mallory"]`)}, nil
				}
				return &Reply{Value: json.RawMessage(`["noted"]`)}, nil
			}
		}, []Invocation{{Name: "fs__read", Args: json.RawMessage(`{}`)}, {Name: "pay__send", Args: json.RawMessage(`{"to":"mall"}`)},
			{Name: "pay__send", Args: json.RawMessage(`{"to":"fixed"}`)}}, "mallory", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			tt.world(w)
			var seen []Counters
			r := NewGate(Deps{Tools: w, Library: shelf{w}, Recorder: w, Sender: w}).Run(RunInfo{Policy: counting{w, &seen}, Written: written})
			for i, in := range tt.calls {
				in.ID = i + 1
				_, _ = r.Call(t.Context(), in) // errors reach the program too
			}
			seen = nil
			use(t, r, 9, "pay__send", `{"to":"`+tt.to+`"}`)
			if seen[0].Tainted != tt.want {
				t.Errorf("the call counts as tainted: %t (%s), want %t", seen[0].Tainted, seen[0].Taint, tt.want)
			}
		})
	}
}

// TestTaintOutlivesASavedRun: of a run that goes on elsewhere only literals are known to be free of what it has read.
func TestTaintOutlivesASavedRun(t *testing.T) {
	w := newWorld()
	w.tools["fs__read"].Trusted = false
	w.reply = func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
		return &Reply{Value: json.RawMessage(`"some text"`)}, nil
	}
	gate := NewGate(Deps{Tools: w, Recorder: w, Sender: w})
	var seen []Counters
	info := RunInfo{Policy: counting{w, &seen},
		Written: []WrittenCall{{Tool: "pay__send", Args: json.RawMessage(`{"n":1}`)},
			{Tool: "pay__send", Args: json.RawMessage(`{"n":null}`), Unknown: []string{"/n"}}}}
	r := gate.Run(info)
	use(t, r, 1, "fs__read", `{}`)
	state, err := r.Save()
	if err != nil {
		t.Fatal(err)
	}
	again, err := gate.Restore(info, state)
	if err != nil {
		t.Fatal(err)
	}
	use(t, again, 2, "pay__send", `{"n":1}`)
	use(t, again, 3, "pay__send", `{"n":"some text"}`)
	if got := []bool{seen[1].Tainted, seen[2].Tainted}; cmp.Diff([]bool{false, true}, got) != "" {
		t.Errorf("tainted: %v, want false and true", got)
	}
}

package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
)

// TestWhatIsKept: a block is kept as its server sent it, or not at all. Nobody but a handle of the run names one.
func TestWhatIsKept(t *testing.T) {
	for _, test := range []struct {
		name, block string
		want        *Content // nil: nothing is kept, and the program is told problem
		problem     string
	}{
		{"an image", `{"type":"image","mimeType":"image/png","data":"AAEC/w=="}`,
			&Content{Type: "image", MIMEType: "image/png", Bytes: []byte{0, 1, 2, 255}}, ""},
		{"audio without padding", `{"type":"audio","data":"AAEC/w"}`,
			&Content{Type: "audio", Bytes: []byte{0, 1, 2, 255}}, ""},
		{"a file", `{"type":"resource","resource":{"uri":"file:///a","mimeType":"a/b","blob":"/w=="}}`,
			&Content{Type: "resource", MIMEType: "a/b", URI: "file:///a", Bytes: []byte{255}}, ""},
		{"an empty file", `{"type":"resource","resource":{"uri":"u","blob":""}}`,
			&Content{Type: "resource", URI: "u", Bytes: []byte{}}, ""},
		{"a text", `{"type":"resource","resource":{"uri":"u","text":"hé"}}`,
			&Content{Type: "resource", URI: "u", IsText: true, Bytes: []byte("hé")}, ""},
		{"keys of other cases", `{"type":"image","data":"AA==","Data":"AQ==","MIMEType":"x/y"}`,
			&Content{Type: "image", Bytes: []byte{0}}, ""},
		{"no base64", `{"type":"image","data":"not base64!"}`, nil, "data that is not in base64"},
		{"no data", `{"type":"image","mimeType":"image/png"}`, nil, "a block without data"},
		{"no resource", `{"type":"resource"}`, nil, "a block without data"},
		{"a resource that is a text", `{"type":"resource","resource":"x"}`, nil, "a block without data"},
	} {
		w := newWorld()
		w.reply = func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
			return &Reply{Value: json.RawMessage(`{"$block":"H1"}`), Blocks: map[string]json.RawMessage{
				"H1": json.RawMessage(test.block)}}, nil
		}
		var kept *Content
		r := NewGate(Deps{Tools: w, Recorder: w, Sender: w}).Run(RunInfo{Policy: w, Prompter: w,
			Keep: func(_ context.Context, c *Content) (string, error) { kept = c; return "codemode://results/H", nil }})
		keep := func(args string) (json.RawMessage, error) {
			return r.Call(t.Context(), Invocation{ID: 2, Name: "keep", Args: json.RawMessage(args)})
		}
		if _, err := keep(`{"$block":"H1"}`); err == nil || kept != nil {
			t.Errorf("%s: a handle that the program does not have is kept", test.name)
		}
		if _, err := r.Call(t.Context(), Invocation{ID: 1, Name: "fs__read", Args: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
		got, err := keep(`{"$block":"H1","type":"video"}`)
		if test.want == nil {
			if err == nil || kept != nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%s: got %s, %v; kept %+v", test.name, got, err, kept)
			}
			continue
		}
		if diff := cmp.Diff(test.want, kept); err != nil || string(got) != `"codemode://results/H"` || diff != "" {
			t.Errorf("%s: got %s, %v\n%s", test.name, got, err, diff)
		}
	}
}

// TestKeepingFails: the program reads why, and a run that keeps nothing does not know the function.
func TestKeepingFails(t *testing.T) {
	w := newWorld()
	r := NewGate(Deps{Tools: w, Recorder: w, Sender: w}).Run(RunInfo{Policy: w,
		Keep: func(context.Context, *Content) (string, error) {
			return "", errors.New("the disk of the record is full")
		}})
	r.blocks.keep(map[string]json.RawMessage{"H1": json.RawMessage(`{"type":"image","data":""}`)})
	args := Invocation{Name: "keep", Args: json.RawMessage(`{"$block":"H1"}`)}
	if _, err := r.Call(t.Context(), args); err == nil || err.Error() != "Error: keep: the disk of the record is full" {
		t.Errorf("got %v", err)
	}
	var thrown *Exception
	if _, err := w.run().Call(t.Context(), args); !errors.As(err, &thrown) || thrown.Class != toolNotFound {
		t.Errorf("where nothing is kept: %v", err)
	}
}

// oneResult has one result.
type oneResult struct{ loaded Loaded }

func (o oneResult) Load(context.Context, string, string, *Part, int) (*Loaded, error) {
	return &o.loaded, nil
}

// TestLoadedContentIsOfTheRun: a whole image is a handle, which the run holds as if a tool had returned it, also after
// it was saved. A part is base64.
func TestLoadedContentIsOfTheRun(t *testing.T) {
	image := &Content{Type: "image", MIMEType: "image/png", Bytes: bytes.Repeat([]byte{0, 255}, 100)}
	w := newWorld()
	gate := NewGate(Deps{Tools: w, Recorder: w, Sender: w})
	info := RunInfo{Policy: w, Results: oneResult{Loaded{Content: image, Run: "r_0"}}, LoadBytes: 1 << 20}
	r := gate.Run(info)
	load := func(args string) json.RawMessage {
		t.Helper()
		got, err := r.Call(t.Context(), Invocation{ID: 1, Name: "load", Args: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	handle := load(`"H"`)
	if want := `"mimeType":"image/png","type":"image"}`; !strings.HasSuffix(string(handle), want) {
		t.Errorf("got %s", handle)
	}
	if got := load(`["H",{"from":0}]`); !strings.HasPrefix(string(got), `"AP8A`) {
		t.Errorf("a part: %s", got)
	}
	state, err := r.Save()
	if err != nil {
		t.Fatal(err)
	}
	if r, err = gate.Restore(info, state); err != nil {
		t.Fatal(err)
	}
	blocks, left := r.Blocks(handle)
	if len(blocks) != 1 || left != 0 {
		t.Fatalf("%d blocks, %d left", len(blocks), left)
	}
	back, err := readContent(blocks[0].JSON)
	if diff := cmp.Diff(image, back); err != nil || diff != "" {
		t.Errorf("the answer has %v\n%s", err, diff)
	}
	if n := fmt.Sprint(w.entries[0].Detail); !strings.Contains(n, "200 bytes of image/png") {
		t.Errorf("the record says %s", n)
	}
}

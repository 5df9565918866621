package upstream_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/upstream"
	"github.com/codemode-project/codemode/upstream/builtin"
)

func TestBlocksOfBuiltInToolsAreHandles(t *testing.T) {
	m := manage(t, upstream.Options{}, upstream.BuiltIn(builtin.Server{Name: "s", Tools: []builtin.Tool{{
		Name: "picture", Input: json.RawMessage(`{"type":"object"}`),
		Call: func(context.Context, json.RawMessage) (any, error) {
			return builtin.Block{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}, nil
		},
	}}}))
	r, err := call(t, m, "s", "picture", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for id, block := range r.Blocks {
		if got, want := strings.ReplaceAll(string(r.Value), id, "ID"),
			`{"$block":"ID","bytes":8,"mimeType":"image/png","type":"image"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if !strings.Contains(string(block), `"data":"iVBORw0KGgo="`) {
			t.Errorf("the block: %s", block)
		}
	}
	if len(r.Blocks) != 1 || r.Structured != nil {
		t.Errorf("%d blocks, structured %s", len(r.Blocks), r.Structured)
	}
}

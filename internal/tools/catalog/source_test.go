package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// A page is a tool of a description: it counts who looks.
type page struct {
	version string
	looked  *atomic.Int32
}

func (p page) Input() json.RawMessage {
	p.looked.Add(1)
	return json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)
}

func (p page) Output() json.RawMessage {
	p.looked.Add(1)
	return json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
}

func (p page) Text() json.RawMessage { return json.RawMessage(`{"operation":"` + p.version + `"}`) }
func (p page) Digest() string        { return p.version }
func (p page) Document() string      { return "document " + p.version }

func TestTheSchemasOfADescriptionAreMadeWhenSomebodyLooks(t *testing.T) {
	looked := new(atomic.Int32)
	c := catalog.New()
	var many []catalog.Tool
	for i := range 1000 {
		many = append(many, catalog.Tool{Raw: fmt.Sprintf("get_%d", i), Description: "Reads a page",
			Source: page{"1", looked}})
	}
	if problems := c.Replace("api", many); len(problems) > 0 {
		t.Error(problems)
	}
	c.Search("read page", 10, nil)
	if n := looked.Load(); n > 0 {
		t.Errorf("%d schemas were made to list and to search", n)
	}
	tool, err := c.Find("api__get_7")
	checktest.OK(t, err)
	for range 3 {
		args, _ := call.Freeze([]byte(`{"id":"x"}`), 1<<10)
		if err := tool.Validate(t.Context(), args); err == nil || !strings.Contains(err.Error(), "/id: expected") {
			t.Errorf("wrong arguments: %v", err)
		}
		if err := tool.ValidateResult(t.Context(), json.RawMessage(`{"name":1}`)); err == nil {
			t.Error("a wrong result fits")
		}
	}
	if got := tool.Signature(); !strings.Contains(got, "id: number") || !strings.Contains(got, "Promise<{ name: string }>") {
		t.Errorf("declared as %s", got)
	}
	if n := looked.Load(); n > 5 {
		t.Errorf("%d schemas were made for one tool", n)
	}
}

func TestAChangedDescriptionShowsWhatHasChanged(t *testing.T) {
	looked := new(atomic.Int32)
	dir := t.TempDir()
	list := func(version string) []catalog.Tool {
		return catalog.Named("api", []catalog.Tool{{Raw: "get", Source: page{version, looked}}})
	}
	pins, err := catalog.OpenPins(dir)
	checktest.OK(t, err)
	_, err = pins.Observe("api", "id", list("1"))
	checktest.OK(t, err)

	pins, err = catalog.OpenPins(dir) // another process
	checktest.OK(t, err)
	kept := true
	pins.Texts = func(document, raw string) json.RawMessage {
		if kept && document == "document 1" && raw == "get" {
			return page{"1", looked}.Text()
		}
		return nil
	}
	changed, err := pins.Observe("api", "id", list("2"))
	checktest.OK(t, err)
	if d := cmp.Diff([]string{"api__get"}, changed); d != "" {
		t.Fatalf("changed (-want +got):\n%s", d)
	}
	change := pins.Changes()[0]
	if d := cmp.Diff([]string{`- /operation: "1"`, `+ /operation: "2"`}, change.Diff); d != "" {
		t.Errorf("difference (-want +got):\n%s", d)
	}
	kept = false
	if got := strings.Join(pins.Changes()[0].Diff, "\n"); !strings.Contains(got, "the earlier document is gone: document 1") {
		t.Errorf("without the earlier document: %s", got)
	}
	checktest.OK(t, pins.Accept("api__get", change.Digest))
	if left := pins.Changes(); len(left) > 0 {
		t.Errorf("after a person accepted it: %v", left)
	}
}

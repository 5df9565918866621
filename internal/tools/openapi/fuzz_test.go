package openapi

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzRead reads any text as a description, and looks at its operations.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		digested, notes, of3(`"paths":{"/a":{"$ref":"#/paths/~1a","get":{"servers":[{"url":"/x"}]}}}`),
		`{"swagger":"2.0","host":"a","paths":{"/a":{"post":{"parameters":[{"in":"body","name":"b","schema":{"$ref":"#/definitions/A"}}]}}},
			"definitions":{"A":{"allOf":[{"$ref":"#/definitions/A"}]}}}`,
		"openapi: 3.0.0\npaths:\n  /a: &a\n    get: {x: *a}\n  /b: {<<: *a}\n",
		"openapi: 3.0.0\npaths:\n  /a:\n    get:\n      summary: |2\n       x\n- : -\n", "\ufeff---\n? a\n: b\n...\n", "{\"openapi\":\"3.0.0\",\"a\":\"\\ud800\"}",
	} {
		f.Add([]byte(seed))
	}
	for _, c := range traps {
		f.Add([]byte("openapi: 3.0.0\n" + c.yaml))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := Read(bytes.NewReader(text), int64(len(text))); err == nil {
			look(t, d)
		}
		var out bytes.Buffer
		if _, err := cutYAML(section(string(text)), &out); err == nil && !json.Valid(out.Bytes()) {
			t.Errorf("YAML in parts is no JSON: %q", &out)
		}
	})
}

// look holds the operations of a document to what is promised of all.
func look(t *testing.T, d *Document) {
	names := map[string]bool{}
	for _, o := range d.Operations {
		if o.Name == "" || names[o.Name] {
			t.Errorf("%s %s has the name %q, which is empty or that of another one", o.Method, o.Path, o.Name)
		}
		names[o.Name] = true
		if len(o.Summary) > summaryMax || len(o.ID) > idMax || o.Effect == "" || len(o.Digest()) != 64 || o.Text() == nil {
			t.Errorf("%+v breaks a limit", o)
		}
		plan, err := o.Plan()
		input, failed := o.Input()
		if (plan == nil) != (err != nil) || (err == nil) != (failed == nil) || err == nil && !json.Valid(input) {
			t.Errorf("%s %s: %v, %v, %v; schema %s", o.Method, o.Path, plan, err, failed, input)
		}
		if output, err := o.Output(); err == nil && output != nil && !json.Valid(output) {
			t.Errorf("%s %s: the result is %s", o.Method, o.Path, output)
		}
	}
}

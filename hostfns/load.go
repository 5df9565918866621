package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// loadName is the function that reads a result that an earlier run of the same principal kept:
//
//	await codemode.load(handle)                                             // all of it
//	await codemode.load(handle, {pointer: "/items", from: 200, count: 100}) // elements of an array
//	await codemode.load(handle, {from: 0, count: 5000})                     // characters of a text
//	await codemode.load(handle, {lines: true, from: 10, count: 20})         // its lines
//
// The handle of an image, audio or a file gives a handle of this run. With from or count it gives these bytes in
// base64.
//
// pointer is a JSON Pointer (RFC 6901). from and count select elements of an array, members of an object, or characters
// of a text. It reaches no upstream, so no rule decides it; it is recorded. A run that loads what an untrusted server
// may have written has read it.
const loadName = "load"

// Results are the kept results of earlier runs. Many goroutines may call it.
type Results interface {
	// Load returns a part of a result, of at most most bytes of JSON. Content as a whole, which stays on the host, may be
	// larger. A result of another principal does not exist. An [*ArgumentError] says that there is no such result or
	// part, or that it is too large.
	Load(ctx context.Context, principal, handle string, p *Part, most int) (*Loaded, error)
}

// A Part selects a part of a result. The zero value is all of it.
type Part struct {
	Pointer     string // JSON Pointer; "" is the whole
	From, Count *int64 // of an array, an object or a text; nil is from its beginning, and to its end
	Lines       bool   // From and Count are lines of a text, not characters
}

// A Loaded is a part of a result.
type Loaded struct {
	JSON      json.RawMessage // nil if it is content and no text
	Content   *Content        // what it is, with the bytes of the part; nil if it is a value. A text is in JSON alone
	Run       string          // that kept it
	Untrusted bool            // the answer of an untrusted server may be in it
}

// load reads a part of a kept result.
func (r *Run) load(ctx context.Context, in Invocation) (json.RawMessage, error) {
	handle, part, err := loadArguments(in.Args)
	if err != nil {
		return nil, invalidArguments(loadName, err)
	}
	loaded, failed := r.info.Results.Load(ctx, r.info.Principal, handle, part, r.info.LoadBytes)
	if wrong, ok := errors.AsType[*ArgumentError](failed); ok {
		return nil, invalidArguments(loadName, wrong)
	}
	if failed != nil {
		r.log().Error("reading a kept result failed", "error", failed)
		return nil, &Exception{Class: "Error", Message: loadName + ": the result cannot be read now" + reasonOf(failed)}
	}
	tool := &call.Tool{Name: "codemode." + loadName, Server: "codemode", Trusted: !loaded.Untrusted}
	e := r.record.of(call.KindResult, call.Loaded, &callState{Report: Report{Call: in.ID, Tool: tool.Name}})
	e.DecidedBy, e.Verdict = nil, ""
	e.Detail = fmt.Sprintf("%s was read, of the result %s of the run %s: %s", part, handle, loaded.Run, loaded.size())
	if loaded.Untrusted {
		e.Detail += ", which an untrusted server may have written"
	}
	if err := r.record.to.Record(ctx, e); err != nil {
		if limit, ok := errors.AsType[*LimitError](err); ok {
			return nil, limit.exception(loadName)
		}
		r.log().Error("recording a call failed, so it is refused", "tool", tool.Name, "error", err)
		return nil, denied(loadName, call.CodeDenied, unrecorded(err), "")
	}
	value, failed := r.blocks.loaded(loaded, part)
	if failed != nil {
		return nil, failed
	}
	r.taint.loaded(in.ID, tool, handle, loaded, value, r.info.Written != nil)
	return value, nil
}

// loaded records what a run read of a kept result.
func (t *taint) loaded(id int, tool *call.Tool, handle string, l *Loaded, value json.RawMessage, traced bool) {
	if l.Untrusted {
		t.read(fmt.Sprintf("the result %s (call %d), which an untrusted server may have written in the run %s", handle, id,
			l.Run))
	}
	t.answered(id, tool, value, traced)
}

// loaded is what the program gets: content as a whole stays on the host.
func (k *blocks) loaded(l *Loaded, p *Part) (json.RawMessage, error) {
	switch {
	case l.JSON != nil:
		return l.JSON, nil
	case p.From == nil && p.Count == nil:
		return k.add(l.Content)
	}
	return json.Marshal(l.Content.Bytes)
}

// size is the size of the part in words.
func (l *Loaded) size() string {
	if l.JSON == nil {
		return fmt.Sprintf("%d bytes of %s", len(l.Content.Bytes), l.Content.MIMEType)
	}
	return fmt.Sprintf("%d bytes of JSON", len(l.JSON))
}

// Tainted reports whether the run has read the answer of an untrusted server.
func (r *Run) Tainted() bool { return r.taint.source() != "" }

// longestHandle is longer than any handle.
const longestHandle = 64

// loadArguments reads a handle, or an array of a handle and an object that selects a part.
func loadArguments(raw json.RawMessage) (handle string, p *Part, err *ArgumentError) {
	tree, _ := call.Unread(raw).Tree()
	first, part := tree, strictjson.Value{}
	if tree.Kind() == strictjson.Array && (tree.Len() == 1 || tree.Len() == 2) {
		first, _ = tree.At("/0")
		part, _ = tree.At("/1")
	}
	if handle = first.Text(); first.Kind() != strictjson.String || len(handle) > longestHandle {
		return "", nil, &ArgumentError{Expected: `the handle of a kept result: load("HANDLE", {pointer, from, count})`,
			Got: cut(string(raw), 60)}
	}
	p, err = readPart(part)
	return handle, p, err
}

func readPart(v strictjson.Value) (*Part, *ArgumentError) {
	p := &Part{}
	switch v.Kind() {
	case strictjson.Missing, strictjson.Null:
		return p, nil
	case strictjson.Object:
	default:
		return nil, &ArgumentError{Expected: "an object such as {pointer, from, count}", Got: cut(v.Source(), 60)}
	}
	for key, value := range v.Members() {
		if value.Kind() == strictjson.Null {
			continue
		}
		ok, expected := false, ""
		switch key {
		case "pointer":
			p.Pointer, ok, expected = value.Text(), value.Kind() == strictjson.String, "a JSON Pointer"
		case "from":
			p.From, ok = wholeNumber(value)
			expected = "a whole number from 0"
		case "count":
			p.Count, ok = wholeNumber(value)
			expected = "a whole number from 0"
		case "lines":
			p.Lines = value.Kind() == strictjson.True
			ok, expected = p.Lines || value.Kind() == strictjson.False, "true or false"
		default:
			expected = "one of the keys pointer, from, count and lines"
		}
		if !ok {
			return nil, &ArgumentError{Path: "/" + cut(key, 60), Expected: expected, Got: cut(value.Source(), 60)}
		}
	}
	return p, nil
}

func wholeNumber(v strictjson.Value) (*int64, bool) {
	n, err := strconv.ParseInt(v.Text(), 10, 64)
	return &n, err == nil && n >= 0 && v.Kind() == strictjson.Number
}

// String says which part it is.
func (p *Part) String() string {
	text := "the whole"
	if p.Pointer != "" {
		text = "the part " + pointed(p.Pointer)
	}
	if p.From != nil {
		text += fmt.Sprintf(" from %d", *p.From)
	}
	if p.Count != nil {
		text += fmt.Sprintf(", %d at most", *p.Count)
	}
	if p.Lines {
		text += ", by lines"
	}
	return text
}

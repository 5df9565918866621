package upstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Result is the result of a tool.
type Result struct {
	Structured json.RawMessage // structuredContent as received; nil if there is none
	Content    json.RawMessage // the content list as received

	// Value is the program's result: the structured content; else the text, if the content is a single text, parsed if
	// it is a JSON object or array; else an array of these, if the content is several texts that each are one; else the
	// content list. Handles replace images, audio and resources in it.
	Value json.RawMessage

	// Next has the arguments of the next page, of an API; nil is none that is known. Status is that of an API's refusal.
	Next   json.RawMessage
	Status int

	// Blocks has the blocks that the handles in Value stand for, by the handle's id.
	Blocks map[string]json.RawMessage
}

// HandleKey is the key that makes an object in [Result.Value] a handle; its value is
// the id of the block in [Result.Blocks]. The handle also has the block's "type", and
// what a program may want to know: mimeType, bytes, uri, and the text of a text resource.
const HandleKey = "$block"

// readResult reads the answer to a call. It matches keys exactly. It ends when ctx does.
func readResult(ctx context.Context, raw json.RawMessage) (r *Result, failed bool, err error) {
	if !json.Valid(raw) {
		return nil, false, errNoResult
	}
	m, ok := membersOf(raw, "content", "structuredContent", "isError")
	if !ok {
		return nil, false, errNoResult
	}
	r = &Result{Content: json.RawMessage("[]")}
	if s := m["structuredContent"]; len(s) > 0 && !bytes.Equal(s, []byte("null")) {
		r.Structured = s
	}
	switch content := m["content"]; {
	case len(content) == 0, bytes.Equal(content, []byte("null")):
	case content[0] != '[':
		return nil, false, errNoResult
	default:
		r.Content = content
	}
	_ = json.Unmarshal(m["isError"], &failed) // only true is a failure
	switch text, single := onlyText(r.Content); {
	case r.Structured != nil:
		r.Value, err = r.withoutBlocks(ctx, r.Structured, 0)
	case single:
		r.Value = textValue(text)
	default:
		if r.Value = textValues(r.Content); r.Value == nil {
			r.Value, err = r.withoutBlocks(ctx, r.Content, -1)
		}
	}
	return r, failed, err
}

// partsMax is how many parts of a resource to read.
const partsMax = 10_000

// readContents reads the answer to resources/read. The value is a list of handles,
// one for each part, with the text of a text part; for one part it is the handle alone.
func readContents(ctx context.Context, raw json.RawMessage) (*Result, error) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil, errNoResult
	}
	parts, more, err := elements(m["contents"], partsMax)
	if err != nil {
		return nil, errNoResult
	}
	if more {
		return nil, fmt.Errorf("the resource has more than %d parts", partsMax)
	}
	r := new(Result)
	blocks := make([]json.RawMessage, len(parts))
	handles := make([]json.RawMessage, len(parts))
	for i, part := range parts {
		blocks[i] = marshal(map[string]any{"type": "resource", "resource": part})
		if handles[i], err = r.withoutBlocks(ctx, blocks[i], 0); err != nil {
			return nil, err
		}
	}
	r.Content, r.Value = marshal(blocks), marshal(handles)
	if len(handles) == 1 {
		r.Value = handles[0]
	}
	return r, nil
}

// readContent returns a result with one block. The value is the handle of the block.
func readContent(ctx context.Context, block json.RawMessage) (r *Result, err error) {
	r = &Result{Content: marshal([]json.RawMessage{block})}
	r.Value, err = r.withoutBlocks(ctx, block, 0)
	return r, err
}

// onlyText returns the text, as JSON, of a content list that is one text block and nothing else.
func onlyText(content json.RawMessage) (json.RawMessage, bool) {
	list, more, err := elements(content, 1)
	if err != nil || more || len(list) != 1 {
		return nil, false
	}
	return textOf(list[0])
}

// textValue is the value of a text, which is a JSON string: parsed, if it is an object or an array. Most texts are long
// and need no other form.
func textValue(raw json.RawMessage) json.RawMessage {
	switch begin := bytes.TrimLeftFunc(raw[1:], unicode.IsSpace)[0]; {
	case begin == '{', begin == '[', begin == '\\':
	case bytes.Contains(raw, []byte(`\u`)), !utf8.Valid(raw): // perhaps half a surrogate pair, which is replaced
	default:
		return raw
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw // it cannot be: textOf has found a string
	}
	if b := bytes.TrimSpace([]byte(text)); len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b) {
		return b
	}
	return quote(text)
}

// textValues returns an array of the objects and arrays in a content list of several text blocks that each hold one, nil
// for any other list.
func textValues(content json.RawMessage) json.RawMessage {
	list, more, err := elements(content, partsMax)
	if err != nil || more || len(list) < 2 {
		return nil
	}
	for i, block := range list {
		text, ok := textOf(block)
		if !ok {
			return nil
		}
		if list[i] = textValue(text); list[i][0] == '"' {
			return nil
		}
	}
	return marshal(list)
}

// textOf returns the text of a text block, as JSON.
func textOf(block json.RawMessage) (json.RawMessage, bool) {
	m, ok := membersOf(block, "type", "text")
	var kind string
	if !ok || json.Unmarshal(m["type"], &kind) != nil || kind != "text" || !bytes.HasPrefix(m["text"], []byte{'"'}) {
		return nil, false
	}
	return m["text"], true
}

// How deep in a result handles replace blocks, and how many. Others stay unchanged.
const (
	blocksDeep = 8
	blocksMax  = 10_000
)

// withoutBlocks returns v, which is valid JSON, with a handle in place of each image, audio and
// resource block. The rest keeps its bytes.
func (r *Result) withoutBlocks(ctx context.Context, v json.RawMessage, depth int) (json.RawMessage, error) {
	if !bytes.Contains(v, []byte(`"type"`)) {
		return v, nil
	}
	f := blockFinder{r: r, ctx: ctx, raw: v}
	f.find(0, depth)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if f.done == 0 {
		return v, nil
	}
	return append(f.out, v[f.done:]...), nil
}

// A blockFinder reads a value once, and each member or element once more for each level above it; levels are few.
type blockFinder struct {
	r    *Result
	ctx  context.Context
	raw  []byte
	out  []byte // raw up to done, with handles
	done int
	seen int // values
}

// find looks for blocks in the value that begins at from.
func (f *blockFinder) find(from, depth int) {
	from = space(f.raw, from)
	if f.seen++; f.seen%1024 == 0 && f.ctx.Err() != nil || depth > blocksDeep || from >= len(f.raw) {
		return
	}
	if f.raw[from] != '{' && f.raw[from] != '[' || f.block(from) {
		return
	}
	for _, value := range entries(f.raw, from) {
		f.find(value.from, depth+1)
		if f.seen%1024 == 0 && f.ctx.Err() != nil {
			return
		}
	}
}

// block replaces the object at from if it is a block.
func (f *blockFinder) block(from int) bool {
	if f.raw[from] != '{' || len(f.r.Blocks) >= blocksMax {
		return false
	}
	kind := ""
	for key, value := range entries(f.raw, from) {
		if string(f.raw[key.from:key.to]) == `"type"` && value.to-value.from < len(`"resource"`)+2 {
			kind = string(f.raw[value.from:value.to])
		}
	}
	if kind != `"image"` && kind != `"audio"` && kind != `"resource"` {
		return false
	}
	to := pass(f.raw, from)
	var m map[string]json.RawMessage
	if json.Unmarshal(f.raw[from:to], &m) != nil {
		return false
	}
	h := f.r.handle(m, bytes.Clone(f.raw[from:to]))
	if h == nil {
		return false
	}
	f.out = append(append(f.out, f.raw[f.done:from]...), h...)
	f.done = to
	return true
}

// handle stores the block and returns its handle, nil if m is no such block.
func (r *Result) handle(m map[string]json.RawMessage, block json.RawMessage) json.RawMessage {
	var kind string
	if json.Unmarshal(m["type"], &kind) != nil {
		return nil
	}
	h := map[string]any{"type": kind}
	keep := func(from map[string]json.RawMessage, keys ...string) {
		for _, k := range keys {
			var s string
			if json.Unmarshal(from[k], &s) == nil && s != "" {
				h[k] = s
			}
		}
	}
	switch kind {
	case "image", "audio":
		var data string
		if json.Unmarshal(m["data"], &data) != nil {
			return nil
		}
		keep(m, "mimeType")
		h["bytes"] = decodedLen(data)
	case "resource":
		var inner map[string]json.RawMessage
		if json.Unmarshal(m["resource"], &inner) != nil || inner == nil {
			return nil
		}
		keep(inner, "uri", "mimeType", "text")
		var blob string
		if json.Unmarshal(inner["blob"], &blob) == nil {
			h["bytes"] = decodedLen(blob)
		}
	default:
		return nil
	}
	id := rand.Text()[:16]
	h[HandleKey] = id
	if r.Blocks == nil {
		r.Blocks = map[string]json.RawMessage{}
	}
	r.Blocks[id] = block
	return marshal(h)
}

// decodedLen is the number of bytes in the base64 text.
func decodedLen(s string) int { return len(strings.TrimRight(s, "=")) * 3 / 4 }

// messageMax limits the text of a tool's error, messageBlocks the number of its source blocks.
const (
	messageMax    = 8 << 10
	messageBlocks = 1000
)

// message is the text of a failed call's result.
func (r *Result) message() string {
	content, _, _ := elements(r.Content, messageBlocks) // readResult has read it without an error
	var texts []string
	long := 0
	for _, block := range content {
		var text string
		if raw, ok := textOf(block); ok && long <= messageMax && json.Unmarshal(raw, &text) == nil {
			texts = append(texts, text)
			long += len(text)
		}
	}
	s := strings.TrimSpace(strings.Join(texts, "\n"))
	if s == "" && r.Structured != nil {
		s = string(r.Structured)
	}
	if s == "" {
		return "the tool failed and gave no reason"
	}
	return short(s)
}

// short limits a server's text in an error.
func short(s string) string {
	if len(s) > messageMax {
		s = strings.ToValidUTF8(s[:messageMax], "") + "…"
	}
	return s
}

// marshal encodes a value that is always encodable.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("upstream: encoding a result: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func quote(s string) json.RawMessage { return marshal(s) }

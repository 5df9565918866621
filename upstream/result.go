package upstream

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
)

// A Result is what a tool answered.
type Result struct {
	Structured json.RawMessage // structuredContent as received, nil if there was none
	Content    json.RawMessage // the content list as received

	// Value is what a program gets: the structured content; else the text, if
	// one text is all there is, parsed if it is a JSON object or array; else
	// the content list. Images, audio and resources in it are replaced by handles.
	Value json.RawMessage

	// Blocks holds what the handles in Value stand for, by the handle's id.
	Blocks map[string]json.RawMessage
}

// HandleKey is the key that makes an object in [Result.Value] a handle; its value is
// the id under which [Result.Blocks] has the real block. Beside it stand "type" and
// what a program may want to know about the block: mimeType, bytes, uri, name, and for a
// resource that is text its text.
const HandleKey = "$block"

// errNoResult is the error for an answer that is no result of a tool.
var errNoResult = errors.New("it answered with something that is no tool result")

// readResult reads the answer to a call. Keys are matched exactly.
func readResult(raw json.RawMessage) (r *Result, failed bool, err error) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, false, errNoResult
	}
	r = &Result{Content: json.RawMessage("[]")}
	if s := bytes.TrimSpace(m["structuredContent"]); len(s) > 0 && !bytes.Equal(s, []byte("null")) {
		r.Structured = s
	}
	var content []json.RawMessage
	if raw, ok := m["content"]; ok {
		if json.Unmarshal(raw, &content) != nil {
			return nil, false, errNoResult
		}
		if content != nil {
			r.Content = raw
		}
	}
	_ = json.Unmarshal(m["isError"], &failed) // anything but true is no failure
	r.Value = r.value(content)
	return r, failed, nil
}

// readContents reads the answer to a reading of a resource. Its value is a
// handle for each part, which has the text if the part is one; one part stands by itself.
func readContents(raw json.RawMessage) (*Result, error) {
	var m map[string]json.RawMessage
	var parts []json.RawMessage
	if json.Unmarshal(raw, &m) != nil || json.Unmarshal(m["contents"], &parts) != nil {
		return nil, errNoResult
	}
	r := new(Result)
	blocks := make([]json.RawMessage, len(parts))
	handles := make([]json.RawMessage, len(parts))
	for i, part := range parts {
		blocks[i] = marshal(map[string]any{"type": "resource", "resource": part})
		handles[i] = r.withoutBlocks(blocks[i], 0)
	}
	r.Content, r.Value = marshal(blocks), marshal(handles)
	if len(handles) == 1 {
		r.Value = handles[0]
	}
	return r, nil
}

func (r *Result) value(content []json.RawMessage) json.RawMessage {
	if r.Structured != nil {
		return r.withoutBlocks(r.Structured, 0)
	}
	if len(content) == 1 {
		if text, ok := textOf(content[0]); ok {
			if b := bytes.TrimSpace([]byte(text)); len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b) {
				return b
			}
			return quote(text)
		}
	}
	out := make([]json.RawMessage, len(content))
	for i, block := range content {
		out[i] = r.withoutBlocks(block, 0)
	}
	return marshal(out)
}

// textOf returns the text of a text block.
func textOf(block json.RawMessage) (string, bool) {
	var m map[string]json.RawMessage
	var kind, text string
	if json.Unmarshal(block, &m) != nil || json.Unmarshal(m["type"], &kind) != nil || kind != "text" {
		return "", false
	}
	if json.Unmarshal(m["text"], &text) != nil {
		return "", false
	}
	return text, true
}

// blocksDeep is how far into a structured result blocks are looked for.
const blocksDeep = 8

// withoutBlocks returns v with each image, audio and resource block in it
// replaced by a handle. What has none keeps its bytes.
func (r *Result) withoutBlocks(v json.RawMessage, depth int) json.RawMessage {
	if depth > blocksDeep || !bytes.Contains(v, []byte(`"type"`)) {
		return v
	}
	switch b := bytes.TrimSpace(v); {
	case len(b) == 0:
		return v
	case b[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(b, &list) != nil {
			return v
		}
		changed := false
		for i, e := range list {
			list[i] = r.withoutBlocks(e, depth+1)
			changed = changed || !bytes.Equal(list[i], e)
		}
		if changed {
			return marshal(list)
		}
	case b[0] == '{':
		var m map[string]json.RawMessage
		if json.Unmarshal(b, &m) != nil {
			return v
		}
		if h := r.handle(m, v); h != nil {
			return h
		}
		changed := false
		for k, e := range m {
			m[k] = r.withoutBlocks(e, depth+1)
			changed = changed || !bytes.Equal(m[k], e)
		}
		if changed {
			return marshal(m)
		}
	}
	return v
}

// handle keeps the block and returns what stands for it, nil if m is no such block.
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

// decodedLen is the number of bytes that the base64 text stands for.
func decodedLen(s string) int { return len(strings.TrimRight(s, "=")) * 3 / 4 }

// messageMax bounds the text of a tool's error.
const messageMax = 8 << 10

// message is what the result of a failed call says.
func (r *Result) message() string {
	var content []json.RawMessage
	_ = json.Unmarshal(r.Content, &content) // it was read before
	var texts []string
	for _, block := range content {
		if text, ok := textOf(block); ok {
			texts = append(texts, text)
		}
	}
	s := strings.TrimSpace(strings.Join(texts, "\n"))
	if s == "" && r.Structured != nil {
		s = string(r.Structured)
	}
	if s == "" {
		return "the tool failed and gave no reason"
	}
	if len(s) > messageMax {
		s = strings.ToValidUTF8(s[:messageMax], "") + "…"
	}
	return s
}

// marshal encodes what is known to be encodable.
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

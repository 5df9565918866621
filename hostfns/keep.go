package hostfns

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// keepName is the function that keeps an image, audio or a resource of a tool's answer:
//
//	const uri = await codemode.keep(picture) // "codemode://results/HANDLE"
//
// With the URI later programs of the principal get it again, see loadName, and clients read it. It reaches no upstream,
// so no rule decides it; it is recorded.
const keepName = "keep"

// Content is an image, audio or a resource that a tool answered with.
type Content struct {
	Type     string // image, audio or resource
	MIMEType string
	URI      string // of a resource, as its server named it
	IsText   bool   // Bytes is a text
	Bytes    []byte
}

// keepContent stores the content behind a handle.
func (k *blocks) keepContent(ctx context.Context, in Invocation) (json.RawMessage, error) {
	block := k.block(in.Args)
	if block == nil {
		return nil, invalidArguments(keepName, wrongHandle(in.Args))
	}
	content, err := readContent(block)
	if err != nil {
		return nil, invalidArguments(keepName, &ArgumentError{Expected: "content that can be read", Got: err.Error()})
	}
	uri, err := k.store(ctx, content)
	if err != nil {
		return nil, &Exception{Class: "Error", Message: keepName + ": " + err.Error()}
	}
	return json.Marshal(uri)
}

// block returns what is behind a handle; nil if it is not here.
func (k *blocks) block(handle json.RawMessage) json.RawMessage {
	id, _ := k.handleIn(handle)
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.IndexFunc(k.all, func(b Block) bool { return b.Handle == id }); i >= 0 {
		return k.all[i].JSON
	}
	return nil
}

var errNoContent = errors.New("a block without data")

// readContent reads a block. It matches keys exactly.
func readContent(block json.RawMessage) (*Content, error) {
	var outer, inner map[string]json.RawMessage
	if err := json.Unmarshal(block, &outer); err != nil {
		return nil, errNoContent
	}
	c := &Content{Type: textIn(outer, "type")}
	data, from := "data", outer
	if c.Type == "resource" {
		if err := json.Unmarshal(outer["resource"], &inner); err != nil {
			return nil, errNoContent
		}
		data, from = "blob", inner
		c.URI = textIn(inner, "uri")
		_, c.IsText = inner["text"]
	}
	c.MIMEType = textIn(from, "mimeType")
	if c.IsText {
		c.Bytes = []byte(textIn(from, "text"))
		return c, nil
	}
	if _, ok := from[data]; !ok {
		return nil, errNoContent
	}
	var err error
	c.Bytes, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(textIn(from, data), "="))
	if err != nil {
		return nil, errors.New("data that is not in base64")
	}
	return c, nil
}

// textIn is a member of an object that is a text, else "".
func textIn(m map[string]json.RawMessage, key string) string {
	var s string
	_ = json.Unmarshal(m[key], &s)
	return s
}

// add keeps content on the host, and returns its handle for the program.
func (k *blocks) add(c *Content) (json.RawMessage, error) {
	id := rand.Text()[:16]
	value := map[string]any{handleKey: id, "type": c.Type, "mimeType": c.MIMEType, "bytes": len(c.Bytes)}
	inner := map[string]any{"mimeType": c.MIMEType}
	block := inner
	if c.Type == "resource" {
		value["uri"], inner["uri"], inner["blob"] = c.URI, c.URI, c.Bytes
		block = map[string]any{"resource": inner}
	} else {
		inner["data"] = c.Bytes
	}
	block["type"] = c.Type
	raw, err := json.Marshal(block)
	if err != nil {
		return nil, err
	}
	k.keep(map[string]json.RawMessage{id: raw})
	return json.Marshal(value)
}

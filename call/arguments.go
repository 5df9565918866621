package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Arguments are the arguments of one call: their bytes, what they say, and their digest. The Gate makes them once, with
// [Freeze]. Whoever decides, checks, asks, records or sends the call takes these and reads the bytes no second time, so
// that all of them mean the same call. The zero Arguments are none. Arguments never change; copies share their content.
type Arguments struct{ of *arguments }

type arguments struct {
	raw    json.RawMessage
	tree   strictjson.Value // missing until they are frozen
	digest string           // likewise ""
}

// Freeze reads the arguments that a program gave. Their bytes lose white space and nothing else; null becomes {}. Text
// that two JSON readers could take for two different things is an error, as are more than limit bytes. The Arguments
// share the memory of raw, which may be megabytes for each of many calls: nobody may change raw afterwards.
func Freeze(raw json.RawMessage, limit int) (Arguments, error) {
	if len(raw) > limit {
		return Arguments{}, fmt.Errorf("the arguments take %d bytes, the limit is %d", len(raw), limit)
	}
	v, err := strictjson.Parse(unsafe.String(unsafe.SliceData(raw), len(raw)), strictjson.Options{})
	if err == nil && v.Kind() == strictjson.Null {
		raw = json.RawMessage("{}")
		v, err = strictjson.Parse(raw, strictjson.Options{})
	}
	if err != nil {
		return Arguments{}, fmt.Errorf("the arguments are not strict JSON: %w", err)
	}
	if text := v.Compact(); len(text) != len(raw) { // else they are as programs write them, and may be megabytes
		raw = json.RawMessage(text)
	}
	sum := sha256.Sum256(raw)
	return Arguments{&arguments{raw: raw, tree: v, digest: "sha256:" + hex.EncodeToString(sum[:])}}, nil
}

// Unread are arguments that nobody has frozen: of a call that a person writes down, or that the text of a program
// shows. Each use reads them anew.
func Unread(raw json.RawMessage) Arguments {
	if raw == nil {
		return Arguments{}
	}
	return Arguments{&arguments{raw: raw}}
}

// Given reports whether there are arguments.
func (a Arguments) Given() bool { return a.of != nil }

// JSON are the bytes; nil if there are none. They must not be changed.
func (a Arguments) JSON() json.RawMessage {
	if a.of == nil {
		return nil
	}
	return a.of.raw
}

// String is JSON as a text.
func (a Arguments) String() string { return string(a.JSON()) }

// Digest is the SHA-256 of the bytes of frozen arguments.
func (a Arguments) Digest() string {
	if a.of == nil {
		return ""
	}
	return a.of.digest
}

// Tree is what the arguments say. None, and null, are {}. Arguments that are not frozen may have numbers beyond the
// range of a double, and may be wrong.
func (a Arguments) Tree() (strictjson.Value, *strictjson.SyntaxError) {
	if a.of != nil && a.of.tree.Kind() != strictjson.Missing {
		return a.of.tree, nil
	}
	text := a.String()
	if text == "" || text == "null" {
		text = "{}"
	}
	v, err := strictjson.Parse(text, strictjson.Options{AllowHugeNumbers: true})
	bad, _ := errors.AsType[*strictjson.SyntaxError](err)
	return v, bad
}

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
// [Freeze]. All code that decides, checks, asks about, records or sends the call uses these and never reads the bytes
// again, so that all of it means the same call. The zero Arguments are none. Arguments never change; copies share their
// content.
type Arguments struct{ of *arguments }

type arguments struct {
	raw    json.RawMessage
	tree   strictjson.Value // missing until frozen
	digest string           // likewise ""
}

// Freeze reads the arguments that a program gave. It removes only white space from their bytes; null becomes {}. Text
// that two JSON readers could read differently is an error, and so are more than limit bytes. The Arguments share the
// memory of raw, which may be megabytes for each of many calls: nobody may change raw afterwards.
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
	if text := v.Compact(); len(text) != len(raw) { // otherwise they are as programs write them, and may be megabytes
		raw = json.RawMessage(text)
	}
	sum := sha256.Sum256(raw)
	return Arguments{&arguments{raw: raw, tree: v, digest: "sha256:" + hex.EncodeToString(sum[:])}}, nil
}

// Unread makes unfrozen arguments: those of a call that a person writes, or that the text of a program shows. Each use
// parses them again.
func Unread(raw json.RawMessage) Arguments {
	if raw == nil {
		return Arguments{}
	}
	return Arguments{&arguments{raw: raw}}
}

// Given reports whether there are arguments.
func (a Arguments) Given() bool { return a.of != nil }

// JSON returns the bytes; nil if there are none. Callers must not change them.
func (a Arguments) JSON() json.RawMessage {
	if a.of == nil {
		return nil
	}
	return a.of.raw
}

// String returns JSON as a string.
func (a Arguments) String() string { return string(a.JSON()) }

// Digest returns the SHA-256 of the bytes of frozen arguments.
func (a Arguments) Digest() string {
	if a.of == nil {
		return ""
	}
	return a.of.digest
}

// Tree returns the parsed arguments. None, and null, are {}. Unfrozen arguments may have numbers beyond the range of a
// double, and may be invalid.
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

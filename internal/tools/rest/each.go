package rest

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// membersMax is how many members of an object in an answer are looked at.
const membersMax = 1000

// each gives the first members of an object, or elements of an array, which have no names. The JSON is valid. Nothing of
// it is copied, and nothing but a name is decoded: an answer can be long.
func each(raw json.RawMessage, most int) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		open := d.PeekKind()
		if open != '{' && open != '[' {
			return
		}
		_, _ = d.ReadToken()
		for i := 0; i < most && d.PeekKind() != open+2; i++ { // in ASCII, } and ] come two after { and [
			name := ""
			if open == '{' {
				token, err := d.ReadToken()
				if err != nil {
					return
				}
				name = token.String()
			}
			v, err := d.ReadValue()
			if err != nil || !yield(name, raw[d.InputOffset()-int64(len(v)):d.InputOffset()]) {
				return
			}
		}
	}
}

// member is a member of an object; nil if there is none.
func member(raw json.RawMessage, name string) json.RawMessage {
	for key, v := range each(raw, membersMax) {
		if key == name {
			return v
		}
	}
	return nil
}

// str is the text of a JSON string.
func str(raw json.RawMessage) (string, bool) {
	var s string
	return s, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}

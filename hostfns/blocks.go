package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// HandleKey is the member that makes an object in a value a handle: it stands
// for an image, audio or resource that stays on the host.
const HandleKey = "$block"

// A Block is content that stayed on the host: Handle stands for it in values.
type Block struct {
	Handle string
	JSON   json.RawMessage
}

// keep remembers content that stays on the host.
func (r *Run) keep(blocks map[string]json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	handles := make([]string, 0, len(blocks))
	for handle := range blocks {
		handles = append(handles, handle)
	}
	slices.Sort(handles)
	for _, handle := range handles {
		r.blocks = append(r.blocks, Block{Handle: handle, JSON: blocks[handle]})
	}
}

// emit puts the content behind a handle into the answer:
//
//	await codemode.emit(picture) // a handle, or an array of them
//
// Returning a handle does the same.
func (r *Run) emit(_ context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil || len(many) == 0 {
		many = []json.RawMessage{raw}
	}
	var handles []string
	for _, one := range many {
		var handle map[string]json.RawMessage
		var id string
		if json.Unmarshal(one, &handle) != nil || json.Unmarshal(handle[HandleKey], &id) != nil || !r.holds(id) {
			return nil, invalidArguments("emit", &ArgumentError{Expected: "a handle that a tool returned in this run", Got: cut(string(one), 60)})
		}
		handles = append(handles, id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emitted = append(r.emitted, handles...)
	return nil, nil
}

func (r *Run) holds(handle string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.blocks, func(b Block) bool { return b.Handle == handle })
}

// Blocks returns the content that belongs to the answer: what the program
// emitted, and what the handles in its value stand for. Handles are random,
// so a program holds only those it was given.
func (r *Run) Blocks(value json.RawMessage) []Block {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Block
	for _, b := range r.blocks {
		if slices.Contains(r.emitted, b.Handle) || bytes.Contains(value, []byte(`"`+b.Handle+`"`)) {
			out = append(out, b)
		}
	}
	return out
}

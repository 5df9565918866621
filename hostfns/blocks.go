package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// keptBytes is how much content stays on the host for one run. A program that
// takes a thousand pictures does not see most of them again.
const keptBytes = 64 << 20

// keep remembers content that stays on the host. When it is too much, what
// came first and was not emitted is dropped; the latest result is kept whole.
func (r *Run) keep(blocks map[string]json.RawMessage) {
	if len(blocks) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	total := 0
	for _, b := range r.blocks {
		total += len(b.JSON)
	}
	for _, b := range blocks {
		total += len(b)
	}
	r.blocks = slices.DeleteFunc(r.blocks, func(b Block) bool {
		if total <= keptBytes || slices.Contains(r.emitted, b.Handle) {
			return false
		}
		total -= len(b.JSON)
		return true
	})
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
			return nil, invalidArguments("emit", &ArgumentError{Expected: "a handle that a tool returned in this run, and not long ago if there are many", Got: cut(string(one), 60)})
		}
		handles = append(handles, id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, left := r.choose(func(b Block) bool { return slices.Contains(r.emitted, b.Handle) || slices.Contains(handles, b.Handle) }); left > 0 {
		return nil, invalidArguments("emit", &ArgumentError{Expected: fmt.Sprintf("at most %d handles and %d MiB in one answer", answerBlocks, answerBytes>>20),
			Got: fmt.Sprintf("%d too many", left)})
	}
	r.emitted = append(r.emitted, handles...)
	return nil, nil
}

// What one answer carries of images, audio and resources.
const (
	answerBlocks = 50
	answerBytes  = 16 << 20
)

func (r *Run) holds(handle string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.blocks, func(b Block) bool { return b.Handle == handle })
}

// Blocks returns the content that belongs to the answer: what the program
// emitted, and what the handles in its value stand for. left is how many there
// was no room for. Handles are random, so a program holds only those it was given.
func (r *Run) Blocks(value json.RawMessage) (blocks []Block, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.choose(func(b Block) bool {
		return slices.Contains(r.emitted, b.Handle) || bytes.Contains(value, []byte(`"`+b.Handle+`"`))
	})
}

// choose returns those wanted that one answer has room for. r.mu is held.
func (r *Run) choose(wanted func(Block) bool) (blocks []Block, left int) {
	room := answerBytes
	for _, b := range r.blocks {
		switch {
		case !wanted(b):
		case len(blocks) == answerBlocks || len(b.JSON) > room:
			left++
		default:
			blocks, room = append(blocks, b), room-len(b.JSON)
		}
	}
	return blocks, left
}

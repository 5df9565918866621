package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// handleKey is the member that makes an object in a value a handle. A handle refers to an image, audio or resource that
// stays on the host.
const handleKey = "$block"

// A Block is content that stayed on the host. Handle refers to it in values.
type Block struct {
	Handle string
	JSON   json.RawMessage
}

// keptBytes is how much content of one run stays on the host. A program that takes a thousand pictures never uses most
// of them again.
const keptBytes = 64 << 20

// keep keeps content on the host. Beyond the limit it drops the oldest blocks that were not emitted, but none of the
// latest result.
func (r *Run) keep(blocks map[string]json.RawMessage) {
	if len(blocks) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	total := r.blockBytes
	for _, b := range blocks {
		total += blockBytes(b)
	}
	if total > keptBytes {
		r.blocks = slices.DeleteFunc(r.blocks, func(b Block) bool {
			if total <= keptBytes || r.isEmitted[b.Handle] {
				return false
			}
			total -= blockBytes(b.JSON)
			delete(r.isKept, b.Handle)
			return true
		})
	}
	r.blockBytes = total
	for _, handle := range slices.Sorted(maps.Keys(blocks)) {
		r.blocks = append(r.blocks, Block{Handle: handle, JSON: blocks[handle]})
		r.isKept[handle] = len(blocks[handle])
	}
}

// blockBytes is the memory of a kept block. An empty one takes memory too.
func blockBytes(b json.RawMessage) int { return len(b) + 200 }

// restoreBlocks restores the blocks of a saved run.
func (r *Run) restoreBlocks(blocks []Block, emitted []string) {
	r.blocks, r.emitted = blocks, emitted
	for _, b := range blocks {
		r.isKept[b.Handle] = len(b.JSON)
		r.blockBytes += blockBytes(b.JSON)
	}
	for _, handle := range emitted {
		r.isEmitted[handle] = true
	}
}

// emit puts the content behind a handle into the answer:
//
//	await codemode.emit(picture) // a handle, or an array of them
//
// Returning a handle does the same.
func (r *Run) emit(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil || len(many) == 0 {
		many = []json.RawMessage{raw}
	}
	tooMany := func(n int) error {
		return invalidArguments("emit", &ArgumentError{Expected: fmt.Sprintf("at most %d handles and %d MiB in one answer",
			answerBlocks, answerBytes>>20),
			Got: fmt.Sprintf("%d too many", n)})
	}
	handles := map[string]bool{}
	for _, one := range many {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		id, ok := r.handleIn(one)
		if !ok {
			return nil, invalidArguments("emit", wrongHandle(one))
		}
		handles[id] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for handle := range r.isEmitted {
		handles[handle] = true
	}
	room := answerBytes
	for handle := range handles {
		room -= r.isKept[handle]
	}
	if len(handles) > answerBlocks || room < 0 {
		return nil, tooMany(max(len(handles)-answerBlocks, 1))
	}
	for _, handle := range slices.Sorted(maps.Keys(handles)) {
		if !r.isEmitted[handle] {
			r.isEmitted[handle] = true
			r.emitted = append(r.emitted, handle)
		}
	}
	return nil, nil
}

// Limits on images, audio and resources in one answer.
const (
	answerBlocks = 50
	answerBytes  = 16 << 20
)

// handleIn reads a handle of the run.
func (r *Run) handleIn(raw json.RawMessage) (id string, ok bool) {
	var handle map[string]json.RawMessage
	if json.Unmarshal(raw, &handle) != nil || json.Unmarshal(handle[handleKey], &id) != nil {
		return "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok = r.isKept[id]
	return id, ok
}

func wrongHandle(raw json.RawMessage) *ArgumentError {
	return &ArgumentError{Expected: "a handle that a tool returned in this run, and not long ago if there are many",
		Got: cut(string(raw), 60)}
}

// Blocks returns the content that belongs to the answer: the blocks that the program emitted, and those with handles in
// its value. left is how many did not fit. Handles are random, so a program has only those it received.
func (r *Run) Blocks(value json.RawMessage) (blocks []Block, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	named := r.named(value)
	return r.choose(func(handle string) bool { return r.isEmitted[handle] || named[handle] })
}

// named returns the handles of kept blocks that occur in a value as texts. It reads the value once, however many blocks
// there are. r.mu is held.
func (r *Run) named(value []byte) map[string]bool {
	found := map[string]bool{}
	if len(r.blocks) == 0 {
		return found
	}
	for {
		start := bytes.IndexByte(value, '"')
		if start < 0 {
			return found
		}
		value = value[start+1:]
		end := bytes.IndexByte(value, '"') // no handle has a quotation mark in it
		if end < 0 {
			return found
		}
		if _, ok := r.isKept[string(value[:end])]; ok {
			found[string(value[:end])] = true
		}
	}
}

// choose returns the wanted blocks that fit into one answer. r.mu is held.
func (r *Run) choose(wanted func(handle string) bool) (blocks []Block, left int) {
	room := answerBytes
	for _, b := range r.blocks {
		switch {
		case !wanted(b.Handle):
		case len(blocks) == answerBlocks || len(b.JSON) > room:
			left++
		default:
			blocks, room = append(blocks, b), room-len(b.JSON)
		}
	}
	return blocks, left
}

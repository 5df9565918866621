package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
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

// blocks are the contents of one run that stay on the host. The program has their handles, which are random.
type blocks struct {
	store func(context.Context, *Content) (uri string, err error) // of RunInfo.Keep

	mu        sync.Mutex
	all       []Block
	sizes     map[string]int // bytes of each, by handle
	bytes     int            // of all
	emitted   []string       // handles, in the order in which the program emitted them
	isEmitted map[string]bool
}

// keep keeps content on the host. Beyond the limit it drops the oldest blocks that were not emitted, but none of the
// latest result.
func (k *blocks) keep(more map[string]json.RawMessage) {
	if len(more) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	total := k.bytes
	for _, b := range more {
		total += blockBytes(b)
	}
	if total > keptBytes {
		k.all = slices.DeleteFunc(k.all, func(b Block) bool {
			if total <= keptBytes || k.isEmitted[b.Handle] {
				return false
			}
			total -= blockBytes(b.JSON)
			delete(k.sizes, b.Handle)
			return true
		})
	}
	k.bytes = total
	for _, handle := range slices.Sorted(maps.Keys(more)) {
		k.all = append(k.all, Block{Handle: handle, JSON: more[handle]})
		k.sizes[handle] = len(more[handle])
	}
}

// blockBytes is the memory of a kept block. An empty one takes memory too.
func blockBytes(b json.RawMessage) int { return len(b) + 200 }

// restore makes them those of a saved run.
func (k *blocks) restore(all []Block, emitted []string) {
	k.all, k.emitted = all, emitted
	k.sizes, k.isEmitted = map[string]int{}, map[string]bool{}
	for _, b := range all {
		k.sizes[b.Handle] = len(b.JSON)
		k.bytes += blockBytes(b.JSON)
	}
	for _, handle := range emitted {
		k.isEmitted[handle] = true
	}
}

// saved is what restore needs.
func (k *blocks) saved() (all []Block, emitted []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all), slices.Clone(k.emitted)
}

// emit puts the content behind a handle into the answer:
//
//	await codemode.emit(picture) // a handle, or an array of them
//
// Returning a handle does the same.
func (k *blocks) emit(ctx context.Context, in Invocation) (json.RawMessage, error) {
	var many []json.RawMessage
	if json.Unmarshal(in.Args, &many) != nil || len(many) == 0 {
		many = []json.RawMessage{in.Args}
	}
	handles := map[string]bool{}
	for _, one := range many {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		id, ok := k.handleIn(one)
		if !ok {
			return nil, invalidArguments("emit", wrongHandle(one))
		}
		handles[id] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for handle := range k.isEmitted {
		handles[handle] = true
	}
	room := answerBytes
	for handle := range handles {
		room -= k.sizes[handle]
	}
	if len(handles) > answerBlocks || room < 0 {
		return nil, invalidArguments("emit", &ArgumentError{
			Expected: fmt.Sprintf("at most %d handles and %d MiB in one answer", answerBlocks, answerBytes>>20),
			Got:      fmt.Sprintf("%d too many", max(len(handles)-answerBlocks, 1))})
	}
	for _, handle := range slices.Sorted(maps.Keys(handles)) {
		if !k.isEmitted[handle] {
			k.isEmitted[handle] = true
			k.emitted = append(k.emitted, handle)
		}
	}
	return nil, nil
}

// Limits on images, audio and resources in one answer.
const (
	answerBlocks = 50
	answerBytes  = 16 << 20
)

// handleIn reads the handle of a block that is here.
func (k *blocks) handleIn(raw json.RawMessage) (id string, ok bool) {
	var handle map[string]json.RawMessage
	if json.Unmarshal(raw, &handle) != nil || json.Unmarshal(handle[handleKey], &id) != nil {
		return "", false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok = k.sizes[id]
	return id, ok
}

func wrongHandle(raw json.RawMessage) *ArgumentError {
	return &ArgumentError{Expected: "a handle that a tool returned in this run, and not long ago if there are many",
		Got: cut(string(raw), 60)}
}

// Blocks returns the content that belongs to the answer: the blocks that the program emitted, and those with handles in
// its value. left is how many did not fit. Handles are random, so a program has only those it received.
func (r *Run) Blocks(value json.RawMessage) (blocks []Block, left int) { return r.blocks.answer(value) }

func (k *blocks) answer(value json.RawMessage) (chosen []Block, left int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	named, room := k.named(value), answerBytes
	for _, b := range k.all {
		switch {
		case !k.isEmitted[b.Handle] && !named[b.Handle]:
		case len(chosen) == answerBlocks || len(b.JSON) > room:
			left++
		default:
			chosen, room = append(chosen, b), room-len(b.JSON)
		}
	}
	return chosen, left
}

// named returns the handles that occur in a value as texts. It reads the value once, however many blocks there are. The
// caller holds k.mu.
func (k *blocks) named(value []byte) map[string]bool {
	found := map[string]bool{}
	if len(k.all) == 0 {
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
		if _, ok := k.sizes[string(value[:end])]; ok {
			found[string(value[:end])] = true
		}
	}
}

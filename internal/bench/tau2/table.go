package tau2

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
)

// A table holds records by their ids. It decodes a record when somebody first asks for it, and knows which records a
// tool that writes has seen: only those can differ from what they were.
type table[T any] struct {
	raw   map[string]json.RawMessage // as they were at first
	live  map[string]*T              // those that somebody asked for, and new ones
	dirty map[string]bool            // those that may have changed

	writing bool
}

// UnmarshalJSON reads the records as they are at first.
func (t *table[T]) UnmarshalJSON(text []byte) error {
	t.live, t.dirty = map[string]*T{}, map[string]bool{}
	return json.Unmarshal(text, &t.raw)
}

// get is a record, nil if there is none with that id.
func (t *table[T]) get(id string) *T {
	r := t.live[id]
	if r == nil {
		raw, ok := t.raw[id]
		if !ok {
			return nil
		}
		if r = new(T); json.Unmarshal(raw, r) != nil {
			return nil // see check
		}
		t.live[id] = r
	}
	if t.writing {
		t.dirty[id] = true
	}
	return r
}

// found is get with an error; what names the kind of record.
func (t *table[T]) found(id, what string) (*T, error) {
	if r := t.get(id); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("%s not found", what)
}

// add puts a new record into the table.
func (t *table[T]) add(id string, r *T) { t.live[id], t.dirty[id] = r, true }

// all are the records as they were at first, in the order of their ids, with what changed of them since.
func (t *table[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, id := range slices.Sorted(maps.Keys(t.raw)) {
			if !yield(t.get(id)) {
				return
			}
		}
	}
}

// check says whether every record can be read.
func (t *table[T]) check() error {
	for id, raw := range t.raw {
		if err := json.Unmarshal(raw, new(T)); err != nil {
			return fmt.Errorf("the record %s: %w", id, err)
		}
	}
	return nil
}

// begin says whether the next tool writes.
func (t *table[T]) begin(writes bool) { t.writing = writes }

// reset makes the records what they were at first.
func (t *table[T]) reset() {
	for id := range t.dirty {
		delete(t.live, id)
	}
	clear(t.dirty)
}

// changes writes the records that differ from what they were at first, in the order of their ids.
func (t *table[T]) changes(name string, w io.Writer) error {
	for _, id := range slices.Sorted(maps.Keys(t.dirty)) {
		now, err := json.Marshal(t.live[id])
		if err != nil {
			return err
		}
		if raw, ok := t.raw[id]; ok {
			was := new(T)
			if err := json.Unmarshal(raw, was); err != nil {
				return err
			}
			if before, err := json.Marshal(was); err != nil || bytes.Equal(before, now) {
				if err != nil {
					return err
				}
				continue
			}
		}
		fmt.Fprintf(w, "%s %s %s\n", name, id, now)
	}
	return nil
}

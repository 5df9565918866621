package discovery

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
)

// A table holds records by their ids. It knows which records a tool that writes has seen: only those can differ from
// what they were.
type table[T any] struct {
	first map[string]json.RawMessage // as they were at first
	now   map[string]*T
	dirty map[string]bool // those that may have changed

	writing bool
}

// UnmarshalJSON reads the records as they are at first.
func (t *table[T]) UnmarshalJSON(text []byte) error {
	t.dirty = map[string]bool{}
	if err := json.Unmarshal(text, &t.first); err != nil {
		return err
	}
	return json.Unmarshal(text, &t.now)
}

// get is a record, nil if there is none with that id.
func (t *table[T]) get(id string) *T {
	if t.writing && t.now[id] != nil {
		t.dirty[id] = true
	}
	return t.now[id]
}

// found is get, and refuses what there is not; what names the kind of record.
func (t *table[T]) found(id, what string) *T {
	t.get(id)
	return member(t.now, id, what)
}

// add puts a new record into the table.
func (t *table[T]) add(id string, r *T) { t.now[id], t.dirty[id] = r, true }

// all are the records as they were at first, in the order of their ids, with what changed of them since.
func (t *table[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, id := range slices.Sorted(maps.Keys(t.first)) {
			if !yield(t.get(id)) {
				return
			}
		}
	}
}

// begin says whether the next tool writes.
func (t *table[T]) begin(writes bool) { t.writing = writes }

// was is a record as it was at first, nil if it is new.
func (t *table[T]) was(id string) (r *T) {
	if t.first[id] != nil {
		r = new(T)
		json.Unmarshal(t.first[id], r) // as it did at first
	}
	return r
}

// reset makes the records what they were at first.
func (t *table[T]) reset() {
	for id := range t.dirty {
		if t.now[id] = t.was(id); t.now[id] == nil {
			delete(t.now, id)
		}
	}
	clear(t.dirty)
}

// changes writes the records that differ from what they were at first, in the order of their ids.
func (t *table[T]) changes(name string, w io.Writer) {
	for _, id := range slices.Sorted(maps.Keys(t.dirty)) {
		if now := literal(t.now[id]); now != literal(t.was(id)) {
			fmt.Fprintf(w, "%s %s %s\n", name, id, now)
		}
	}
}

// member is a member of a record, and refuses what there is not; what names its kind.
func member[T any](of map[string]*T, id, what string) *T {
	if of[id] == nil {
		refuse("%s not found", what)
	}
	return of[id]
}

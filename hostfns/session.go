package hostfns

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// A Left is what one program of a session leaves to the next.
type Left struct {
	// Heap goes with the heap that the program left: anything in it may derive from an untrusted answer.
	Heap json.RawMessage
	// Refused are the calls that people refused. They are not asked again in the session, whatever becomes of its heap.
	Refused json.RawMessage
}

// leftHeap is the form of [Left.Heap].
type leftHeap struct {
	Taint string `json:"taint,omitempty"` // of taint.by
}

// mostLeft bounds the refusals that a session keeps.
const mostLeft = 1000

// inSession ends what a taint says about itself if it is of an earlier program.
const inSession = ", in an earlier program of its session"

// Left returns what the next program of the session takes over, see [RunInfo].
func (r *Run) Left() Left {
	refused, _ := r.refusals.saved()
	maps.DeleteFunc(refused, func(_ string, x *Exception) bool { return x.Props["reason"] != reasonDeclined })
	maps.DeleteFunc(refused, func(string, *Exception) bool { return len(refused) > mostLeft })
	var l Left
	var err error
	if l.Heap, err = json.Marshal(leftHeap{r.taint.source()}); err == nil && len(refused) > 0 {
		l.Refused, err = json.Marshal(refused)
	}
	if err != nil { // properties of exceptions are texts and numbers
		r.log().Error("a session keeps neither its taint nor its refusals", "error", err)
		return Left{Heap: json.RawMessage(`{"taint":"what an untrusted server answered"}`)}
	}
	return l
}

// Join returns what two programs of a session left that ran at the same time. A run takes what it cannot join for
// tainted.
func (l Left) Join(other Left) Left {
	var heap, more leftHeap
	refused := map[string]*Exception{}
	err := errors.Join(read(l.Heap, &heap), read(other.Heap, &more), read(l.Refused, &refused),
		read(other.Refused, &refused))
	heap.Taint = cmp.Or(heap.Taint, more.Taint)
	var joined Left
	if err == nil {
		joined.Heap, err = json.Marshal(heap)
	}
	if err == nil && len(refused) > 0 {
		joined.Refused, err = json.Marshal(refused)
	}
	if err != nil {
		return Left{Heap: json.RawMessage("?")}
	}
	return joined
}

// read reads a part of a Left; nil is nothing.
func read(raw json.RawMessage, into any) error {
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// take takes over what the last program of the session left.
func (r *Run) take(of *Left) error {
	if of == nil {
		return nil
	}
	r.refusals.scope = "this run or its session"
	var l leftHeap
	refused := map[string]*Exception{}
	if err := errors.Join(read(of.Heap, &l), read(of.Refused, &refused)); err != nil {
		return fmt.Errorf("reading what the last program of the session left: %w", err)
	}
	if l.Taint != "" {
		r.taint.readBefore(strings.TrimSuffix(l.Taint, inSession) + inSession)
	}
	maps.Copy(r.refusals.of, refused)
	return nil
}

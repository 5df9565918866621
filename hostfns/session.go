package hostfns

import (
	"encoding/json"
	"fmt"
	"strings"
)

// left is what one program of a session leaves to the next: anything in the heap may derive from an untrusted answer
// that an earlier program read, and a person who refused a call is not asked again.
type left struct {
	Taint   string                `json:"taint,omitempty"` // of taint.by
	Refused map[string]*Exception `json:"refused,omitempty"`
}

// mostLeft bounds the refusals that a session keeps.
const mostLeft = 1000

// inSession ends what a taint says about itself if it is of an earlier program.
const inSession = ", in an earlier program of its session"

// Left returns what the next program of the session takes over, see [RunInfo].
func (r *Run) Left() json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := left{Taint: r.taint.by, Refused: map[string]*Exception{}}
	for key, x := range r.refused {
		if x.Props["reason"] == reasonDeclined && len(l.Refused) < mostLeft {
			l.Refused[key] = x
		}
	}
	raw, err := json.Marshal(l)
	if err != nil { // properties of exceptions are texts and numbers
		r.gate.deps.Log.Error("a session keeps neither its taint nor its refusals", "run", r.info.ID, "error", err)
		return json.RawMessage(`{"taint":"what an untrusted server answered"}`)
	}
	return raw
}

// take takes over what the last program of the session left.
func (r *Run) take(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var l left
	if err := json.Unmarshal(raw, &l); err != nil {
		return fmt.Errorf("reading what the last program of the session left: %w", err)
	}
	if r.taint.by = l.Taint; l.Taint != "" {
		if !strings.HasSuffix(l.Taint, inSession) {
			r.taint.by += inSession
		}
		r.taint.size = mostTraced + 1 // what the untrusted server answered is not known any more
	}
	for key, x := range l.Refused {
		r.refused[key] = x
	}
	return nil
}

// scope says where a refusal counts.
func (r *Run) scope() string {
	if r.info.Left != nil {
		return "this run or its session"
	}
	return "this run"
}

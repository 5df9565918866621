package hostfns

import (
	"encoding/json"
	"testing"
)

// A run that ends while a call is being refused tells of that call what the record says of it.
func TestACallThatIsRefusedAtTheEndOfItsRunIsToldAsItIsRecorded(t *testing.T) {
	for _, test := range []struct {
		name   string
		during string // which step the run ends in
		state  State
		reason string
	}{
		{"before it is decided", "decide", NotStarted, ReasonCanceled},
		{"while the refusal is recorded", "record", Refused, ReasonDenied},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			at, goesOn := make(chan struct{}), make(chan struct{})
			stop := func(step string) {
				if step == test.during {
					close(at)
					<-goesOn
				}
			}
			w.decide = func(*Tool, json.RawMessage) Decision { stop("decide"); return Decision{} }
			w.record = func(Entry) error { stop("record"); return nil }
			r := w.run()
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = r.Call(t.Context(), Invocation{ID: 1, Name: "fs__write", Args: json.RawMessage(`{}`)})
			}()
			<-at
			told := r.End()[0]
			close(goesOn)
			<-over
			if told.State != test.state || told.State == Refused && told.Reason != test.reason {
				t.Errorf("it was told as %s %s", told.State, told.Reason)
			}
			if e := w.entries[0]; e.Kind != KindRefused || e.Reason != test.reason {
				t.Errorf("it was recorded as %s %s, want %s", e.Kind, e.Reason, test.reason)
			}
		})
	}
}

package fair

import "testing"

// A Use counts what is granted, what waits and each request that was not granted.
func TestUse(t *testing.T) {
	b := New("things", 4, 1)
	_ = b.Try("", 3)
	_ = b.Try("", 2) // refused
	done := make(chan error, 1)
	go func() { done <- b.Acquire(t.Context(), "", 2) }()
	for b.Use().Waiting == 0 { // until it waits
	}
	if err := b.Acquire(t.Context(), "", 2); err == nil {
		t.Error("two wait, and one may")
	}
	if err := b.Acquire(t.Context(), "", 5); err == nil {
		t.Error("more than there is was granted")
	}
	if got, want := b.Use(), (Use{What: "things", Used: 3, Total: 4, Waiting: 1, Refused: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	b.Release("", 3)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got, want := b.Use(), (Use{What: "things", Used: 2, Total: 4, Refused: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

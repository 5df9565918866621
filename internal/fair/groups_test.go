package fair

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// A group gets what one owner gets, however many owners it has, and leaves something for the next group.
func TestAGroupIsBoundedLikeAnOwner(t *testing.T) {
	b := New("things", 1000, 0)
	var all int64
	for i := range 50 {
		all += take(b, In("acme", fmt.Sprint("o", i)))
	}
	if all > 750 || all < 700 {
		t.Errorf("50 owners of one group hold %d of 1000, want about 750", all)
	}
	if got := take(b, In("bolt", "o1")); got < 100 {
		t.Errorf("the next group gets %d of 1000", got)
	}
	if got := take(b, In("coil", "o1")); got == 0 {
		t.Error("nothing is left for a third group")
	}
}

// Within a group there is something left for the next owner.
func TestOwnersOfAGroupShareIt(t *testing.T) {
	b := New("things", 1000, 0)
	first, second := take(b, In("acme", "anna")), take(b, In("acme", "bert"))
	if first > 563 || first < 500 || second < 100 {
		t.Errorf("the first gets %d and the second %d of 1000", first, second)
	}
	if got := take(b, In("bolt", "")); got == 0 || got > 200 {
		t.Errorf("whoever has no name in another group gets %d", got)
	}
}

func TestTheSameNameInTwoGroupsIsTwoOwners(t *testing.T) {
	b := New("things", 100, 0)
	for _, owner := range []string{In("acme", "anna"), In("bolt", "anna"), In("", "anna"), In("acme", "")} {
		if err := b.Try(owner, 1); err != nil || b.Held(owner) != 1 {
			t.Errorf("%q: %v, has %d", owner, err, b.Held(owner))
		}
		if group := groupOf(owner); In(group, Out(group, owner)) != owner {
			t.Errorf("%q is %q in %q", owner, Out(group, owner), group)
		}
	}
	for _, owner := range []string{In("acme", "anna"), In("bolt", "anna"), In("", "anna"), In("acme", "")} {
		b.Release(owner, 1)
	}
	if len(b.groups)+len(b.held) != 0 || b.Used() != 0 {
		t.Errorf("left: %v %v", b.groups, b.held)
	}
}

// Groups alternate, whatever the number of their owners.
func TestGroupsTakeTurns(t *testing.T) {
	var r Rotation
	for _, owner := range []string{"a\x001", "a\x002", "a\x003", "b\x001", "plain"} {
		r.Add(owner)
	}
	var got []string
	for range 9 {
		owner := r.Next()
		got = append(got, owner)
		r.Add(owner)
	}
	want := []string{"a\x001", "b\x001", "plain", "a\x002", "b\x001", "plain", "a\x003", "b\x001", "plain"}
	if !slices.Equal(got, want) || r.Len() != 5 {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	r.Remove("b\x001")
	r.Remove("nobody")
	if r.Len() != 4 || slices.Contains(r.groups, "b") {
		t.Errorf("%d are left, of %q", r.Len(), r.groups)
	}
}

// A waiter is served although those before it get nothing, in whatever group they are.
func TestWaitersOfEveryGroupAreTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New("things", 10, 10)
		if b.Try("x", 7) != nil {
			t.Fatal("no room at the start")
		}
		served := make(chan string, 10)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, w := range []struct {
			owner string
			n     int64
		}{{In("a", "1"), 5}, {In("b", "1"), 5}, {In("b", "2"), 5}, {In("b", "3"), 4}} {
			go func() {
				if b.Acquire(ctx, w.owner, w.n) == nil {
					served <- w.owner
				}
			}()
			synctest.Wait()
		}
		b.Release("x", 1)
		synctest.Wait()
		if len(served) != 1 || <-served != In("b", "3") {
			t.Error("the one that fits was not served")
		}
	})
}

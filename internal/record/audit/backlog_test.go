package audit

import (
	"slices"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// After an outage thousands of entries are in the queue. A call that is about to be made does not wait for those of
// other runs, and its run is told of in order; who wants to know that all is on the disk waits for all.
func TestACallDoesNotWaitForTheEntriesOfOtherRuns(t *testing.T) {
	entry := func(run string, n int, waits bool) *item {
		it := &item{entry: &Entry{Entry: call.Entry{Run: run, Call: n}}}
		if waits {
			it.done = make(chan error, 1)
		}
		return it
	}
	flush := &item{done: make(chan error, 1)}
	queue := []*item{
		entry("r_old", 1, false), entry("r_new", 1, false), entry("", 2, false), entry("r_old", 3, false), flush,
		entry("r_new", 4, true), entry("r_old", 5, false),
	}
	before := slices.Clone(queue)
	var order []int
	for _, it := range waitedFirst(queue) {
		order = append(order, slices.Index(before, it))
	}
	if want := []int{1, 5, 0, 2, 3, 4, 6}; !slices.Equal(order, want) {
		t.Errorf("they are written in the order %v, want %v", order, want)
	}
}

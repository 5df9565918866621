package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/store"
)

// ruleChanges: each file has its own numbers, the latest changes stay, and one process adds the next one.
func ruleChanges(t *testing.T, open opener) {
	d, other := open(time.Now), open(time.Now)
	ctx := t.Context()
	add := func(d *store.DB, file string, number int64) error {
		return d.AddRuleChange(ctx, &store.RuleChange{File: file, Number: number, Digest: fmt.Sprint("digest ", number),
			About: []byte(`{"who":"anna"}`), Texts: fmt.Appendf(nil, `{"after":"%d"}`, number)}, 3)
	}
	numbers := func(file string, limit int) (all []int64) {
		t.Helper()
		list, err := other.RuleChanges(ctx, file, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.Texts != nil || string(c.About) != `{"who":"anna"}` || c.Digest != fmt.Sprint("digest ", c.Number) ||
				time.Since(c.Created) > time.Minute {
				t.Errorf("%+v", c)
			}
			all = append(all, c.Number)
		}
		return all
	}
	for n := range int64(5) {
		if err := add(d, "a", n+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(d, "b", 1); err != nil {
		t.Fatal(err)
	}
	if err := add(other, "a", 5); !errors.Is(err, store.ErrTaken) {
		t.Errorf("a number twice: %v", err)
	}
	if got := numbers("a", 10); !slices.Equal(got, []int64{5, 4, 3}) {
		t.Errorf("the changes of a: %d", got)
	}
	if got := numbers("", 2); !slices.Equal(got, []int64{1, 5}) {
		t.Errorf("the latest two: %d", got)
	}
	texts, err := other.RuleTexts(ctx, &store.RuleChange{File: "a", Number: 4})
	if err != nil || string(texts) != `{"after":"4"}` {
		t.Errorf("the texts of a 4: %s, %v", texts, err)
	}
	if err := d.DropRuleChange(ctx, "a", 5); err != nil {
		t.Fatal(err)
	}
	if _, err := other.RuleTexts(ctx, &store.RuleChange{File: "a", Number: 5}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the texts of a dropped change: %v", err)
	}
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			switch err := add([]*store.DB{d, other}[i%2], "a", 5); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, store.ErrTaken) && !errors.Is(err, context.DeadlineExceeded):
				t.Error(err)
			}
		})
	}
	if all.Wait(); won.Load() != 1 {
		t.Errorf("%d of 8 at once added the change", won.Load())
	}
}

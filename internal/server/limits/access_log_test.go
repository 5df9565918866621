package limits

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A client that calls itself something else each time, and one that is refused each time, do not fill the record, and
// what others do is recorded one by one meanwhile.
func TestOneCallerDoesNotFillTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		l := NewAccessLog(func(_ context.Context, principal, client, state, detail string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, strings.Join([]string{principal, client, state, detail}, " "))
		})
		for i := range 5000 {
			l.Admit(t.Context(), "anna", "anna", fmt.Sprint("client", i), "127.0.0.1")
			l.Refused(t.Context(), "", "10.0.0.1", "no_token")
		}
		if len(got) != newcomersAnHour+entriesAMinute {
			t.Errorf("%d entries, want %d", len(got), newcomersAnHour+entriesAMinute)
		}
		mu.Lock()
		got = nil
		mu.Unlock()
		l.Admit(t.Context(), "bert", "bert", "client", "127.0.0.1")
		l.Refused(t.Context(), "bert", "127.0.0.1", "wrong_state")
		if len(got) != 2 {
			t.Errorf("of bert there are %q", got)
		}
		mu.Lock()
		got = nil
		mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		mu.Lock()
		counted := got
		mu.Unlock()
		all := strings.Join(counted, "\n")
		if len(counted) != 2 || !strings.Contains(all, "4950 more times") || !strings.Contains(all, "4980 more times") {
			t.Errorf("counted: %q", counted)
		}
		for i := range 100_000 {
			l.Refused(t.Context(), fmt.Sprint("p", i), "127.0.0.1", "wrong_state")
		}
		if len(l.callers) > maxCallers+1 || len(l.admitted) > maxAdmitted {
			t.Errorf("%d callers and %d clients are remembered", len(l.callers), len(l.admitted))
		}
		l.Flush()
	})
}

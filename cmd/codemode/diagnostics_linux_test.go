package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/testwait"
)

// TestItIsNotReadyWithoutAStore: while the record cannot be written a process says that it is not ready, and why, and
// goes on living. Then it is ready again by itself.
func TestItIsNotReadyWithoutAStore(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	gone := outage{"the file is gone", func(t *testing.T) (string, func(), func()) {
		path := filepath.Join(t.TempDir(), "codemode.db")
		move := func(from, to string) func() {
			return func() {
				if err := os.Rename(from, to); err != nil {
					t.Error(err)
				}
			}
		}
		return path, move(path, path+".moved"), move(path+".moved", path)
	}}
	for _, o := range append(outages(), gone) {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			u := newEffects(t, 0)
			store, cut, mend := o.begin(t)
			config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(`{"store": %q, "diagnostics": "0",
				"mcpServers": {"up": {"type": "http", "url": %q}}}`, store, u.url))
			s := serveOverHTTP(t, "0", nil, "--config", config, "--state", t.TempDir())
			at := diagnosticsAt.FindStringSubmatch(s.log.String())
			if at == nil {
				t.Fatalf("the configuration opened no diagnostics:\n%s", s.log)
			}
			k := &knocking{t: t, s: s, modern: true}
			var body string
			readiness := func(want int) func() bool {
				return func() bool {
					_ = k.eval(t.Context(), `await codemode.up__do({})`, "", "") // a full disk shows when somebody writes
					var status int
					status, body = fetch(t, at[1]+"/readyz")
					return status == want
				}
			}
			if !testwait.Holds(readiness(http.StatusOK)) {
				t.Fatalf("it is not ready: %q\n%s", body, s.log)
			}
			cut()
			if !testwait.Holds(readiness(http.StatusServiceUnavailable)) || !strings.HasPrefix(body, "the store") ||
				strings.Count(body, "\n") != 1 || strings.Contains(body, "/") {
				t.Errorf("without a store: %q", body)
			}
			if status, _ := fetch(t, at[1]+"/livez"); status != http.StatusOK {
				t.Errorf("it does not live: %d", status)
			}
			mend()
			if !testwait.Holds(readiness(http.StatusOK)) {
				t.Errorf("it is not ready again: %q", body)
			}
			s.end()
		})
	}
}

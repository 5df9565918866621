package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/server/limits"
)

// Trying tokens at the page's API does not fill the record: the first are recorded one by one, the others counted.
func TestWrongTokensAtTheAPIAreCounted(t *testing.T) {
	e, err := codemode.New(t.Context(), codemode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	const entriesAMinute = 20 // of package limits
	var entries []string
	a := NewAnswerers(e, nil, nil)
	a.access = limits.NewAccessLog(func(_ context.Context, principal, client, state, detail string) {
		entries = append(entries, state+" "+detail)
	})
	for i := range 500 {
		_, status, _ := a.Admit(httptest.NewRequest(http.MethodGet, "/api/pending", nil),
			fmt.Sprintf("a-token-that-is-guessed-%d", i))
		if status != http.StatusUnauthorized {
			t.Errorf("status %d", status)
		}
	}
	a.Close()
	text := strings.Join(entries, "\n")
	if len(entries) != entriesAMinute+1 || strings.Count(text, "unknown_token") != entriesAMinute ||
		!strings.Contains(text, fmt.Sprintf("%d more times", 500-entriesAMinute)) {
		t.Errorf("%d entries:\n%s", len(entries), text)
	}
	if strings.Contains(text, "guessed") {
		t.Errorf("a token is in the record:\n%s", text)
	}
}

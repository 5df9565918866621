package upstream

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
)

// TestTheRecordOfACallStands when the SDK tells the server that the call was given up: it does so with a context
// that has the values of the call's. While that message was under way, the call counted as not sent.
func TestTheRecordOfACallStands(t *testing.T) {
	t.Parallel()
	var known func() string
	during := map[string]string{} // by method, while the server answers
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		during[r.Header.Get("Method")] = known()
		w.WriteHeader(http.StatusAccepted)
	}))
	defer ts.Close()
	wire, err := newHTTPWire(&Server{Server: servers.Server{URL: ts.URL}}, nil)
	checktest.OK(t, err)
	x := new(exchange)
	known = func() string {
		sent, status, _, _ := x.outcome()
		if !sent {
			return "not sent"
		}
		return "sent, " + http.StatusText(status)
	}
	post := func(ctx context.Context, method string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, ts.URL, http.NoBody)
		checktest.OK(t, err)
		r.Header.Set("Method", method)
		resp, err := wire.RoundTrip(r)
		checktest.OK(t, err)
		_ = resp.Body.Close()
	}
	ctx, giveUp := context.WithCancel(t.Context())
	ctx = x.context(ctx)
	post(ctx, "tools/call")
	giveUp()
	post(context.WithoutCancel(ctx), "notifications/cancelled")
	if during["tools/call"] != "sent, " || during["notifications/cancelled"] != "sent, Accepted" {
		t.Errorf("while the server answered: %q", during)
	}
}

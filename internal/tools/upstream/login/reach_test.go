package login

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestP39_15AServerNamesNoAddressCloserToUs has servers in all networks, which name an authorization server on this
// machine.
func TestP39_15AServerNamesNoAddressCloserToUs(t *testing.T) {
	ours := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer ours.Close()
	ours6 := strings.Replace(ours.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)
	for _, test := range []struct {
		server, named string
		reached       bool
	}{
		{"http://127.0.0.1:8080/mcp", ours.URL, true},
		{"http://[::1]:8080/mcp", ours.URL, true},
		{"http://localhost/mcp", strings.Replace(ours.URL, "127.0.0.1", "localhost", 1), true},
		{"http://192.168.7.7/mcp", ours.URL, false},
		{"http://10.0.0.1/mcp", ours6, false},
		{"http://100.64.1.1/mcp", ours.URL, false},
		{"http://[fd00::1]/mcp", ours.URL, false},
		{"http://169.254.169.254/mcp", ours.URL, false},
		{"https://203.0.113.9/mcp", ours.URL, false},
		{"https://203.0.113.9/mcp", strings.Replace(ours.URL, "127.0.0.1", "localhost", 1), false},
		{"https://203.0.113.9/mcp", "http://192.168.7.7:9/", false},
		{"https://203.0.113.9/mcp", "http://0.0.0.0:9/", false},
		{"http://192.168.7.7/mcp", "http://169.254.169.254/", false},
		{"https://no.such.host.invalid/mcp", ours.URL, false},
	} {
		client := authClient(authTransport(t.Context(), test.server))
		resp, err := client.Get(test.named)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != test.reached || err != nil && !strings.Contains(err.Error(), "closer to us") {
			t.Errorf("%s names %s: got %v, want reached %t", test.server, test.named, err, test.reached)
		}
	}
}

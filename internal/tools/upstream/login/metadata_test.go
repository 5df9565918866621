package login

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestADocumentIsNotCloserToUsThanTheServer: the name in the configuration leads to this machine, and the server is
// elsewhere.
func TestADocumentIsNotCloserToUsThanTheServer(t *testing.T) {
	asked := 0
	here := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer here.Close()
	address := strings.Replace(here.URL, "127.0.0.1", "localhost", 1) + "/client-metadata.json"
	for _, server := range []string{
		"https://203.0.113.9/mcp", "http://192.168.7.7/mcp", "https://no.such.host.invalid/mcp",
	} {
		err := checkDocument(t.Context(), documentTransport(t.Context(), server), address, "http://127.0.0.1:1/callback")
		if err == nil || !strings.Contains(err.Error(), "closer to us than that of the server") {
			t.Errorf("%s: got %v", server, err)
		}
	}
	if asked > 0 {
		t.Errorf("%d requests arrived", asked)
	}
}

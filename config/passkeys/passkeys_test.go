package passkeys

import (
	"strings"
	"testing"
)

func TestWhereBrowsersUsePasskeys(t *testing.T) {
	for _, x := range []struct{ origin, id, why string }{
		{"https://codemode.example.com", "codemode.example.com", ""},
		{"https://Codemode.Example.com:8443", "codemode.example.com", ""},
		{"https://codemode", "codemode", ""},
		{"http://localhost:7391", "localhost", ""},
		{"https://localhost", "localhost", ""},
		{"http://127.0.0.1:7391", "", "IP address"},
		{"http://[::1]:7391", "", "IP address"},
		{"https://192.0.2.1", "", "IP address"},
		{"http://codemode.example.com", "", "no TLS"},
		{"http://localhost.example.com", "", "no TLS"},
		{"", "", "no address"},
	} {
		id, err := RelyingParty(x.origin)
		if id != x.id || (err == nil) != (x.why == "") || err != nil && !strings.Contains(err.Error(), x.why) {
			t.Errorf("%s: got %q, %v; want %q, %s", x.origin, id, err, x.id, x.why)
		}
	}
	for origin, want := range map[string]bool{"http://localhost:1": true, "http://LOCALHOST": true,
		"https://localhost": false, "http://127.0.0.1": false, "http://localhost.example": false} {
		if Local(origin) != want {
			t.Errorf("%s: local is %v", origin, !want)
		}
	}
}

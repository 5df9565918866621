package hostile

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Addresses are addresses of collectors and webhooks that have a secret in every part, and fail in every way.
func Addresses(t *testing.T) (secret string, all []string) {
	const canary = "c4n4ry"
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/elsewhere"):
			http.Redirect(w, r, "http://u:"+canary+"@127.0.0.1:1/"+canary, http.StatusTemporaryRedirect)
		case strings.HasSuffix(r.URL.Path, "/nowhere"):
			w.Header().Set("Location", "http://%zz"+canary)
			w.WriteHeader(http.StatusFound)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(failing.Close)
	at := strings.TrimPrefix(failing.URL, "http://")
	return canary, []string{
		"http://u:" + canary + "@" + at + "/" + canary + "?key=" + canary,
		"http://u:" + canary + "@" + at + "/elsewhere?key=" + canary, "http://" + canary + "@" + at + "/" + canary +
			"/nowhere",
		"http://u:" + canary + "@127.0.0.1:1/" + canary + "?key=" + canary, "http://" + canary + "@nowhere.invalid/" + canary,
		"http://u:%zz" + canary + "@h/", "http://h:" + canary + "/", "http://[" + canary + "/",
		"ftp://u:" + canary + "@h/" + canary, canary,
	}
}

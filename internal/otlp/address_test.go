package otlp

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAddressesWithSecretsAreNotLogged sends entries to addresses that have a secret in every part, in
// every way that fails.
func TestAddressesWithSecretsAreNotLogged(t *testing.T) {
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
	defer failing.Close()
	at := strings.TrimPrefix(failing.URL, "http://")
	for _, address := range []string{
		"http://u:" + canary + "@" + at + "/" + canary + "?key=" + canary,
		"http://u:" + canary + "@" + at + "/elsewhere?key=" + canary, "http://" + canary + "@" + at + "/" + canary +
			"/nowhere",
		"http://u:" + canary + "@127.0.0.1:1/" + canary + "?key=" + canary, "http://" + canary + "@nowhere.invalid/" + canary,
		"http://u:%zz" + canary + "@h/", "http://h:" + canary + "/", "http://[" + canary + "/",
		"ftp://u:" + canary + "@h/" + canary, canary,
	} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c := &Collector{URL: address}
		ctx, cancel := context.WithTimeout(t.Context(), sendWait)
		if _, err := c.post(ctx, []byte("{}")); err == nil {
			t.Errorf("%s: it was sent", address)
		} else {
			logger.Warn("entries could not be sent", "error", err)
		}
		cancel()
		if text := log.String(); strings.Contains(text, canary) || strings.Count(text, "error=") != 1 {
			t.Errorf("%s is logged as\n%s", address, text)
		}
	}
}

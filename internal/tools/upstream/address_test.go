package upstream_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// TestAddressesWithSecretsAreNotShown connects to servers whose address has a secret in every part, in every way that
// fails: neither the status, which programs and models read, nor the log has one.
func TestAddressesWithSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry-0123456789abcdef"
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch status := r.URL.Query().Get("status"); status {
		case "redirect":
			http.Redirect(w, r, r.URL.Path+"/"+canary, http.StatusFound)
		case "elsewhere":
			http.Redirect(w, r, "http://u:"+canary+"@127.0.0.1:1/"+canary, http.StatusTemporaryRedirect)
		case "nowhere":
			w.Header().Set("Location", "http://%zz"+canary)
			w.WriteHeader(http.StatusFound)
		case "login":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			http.Error(w, "no "+r.URL.String(), http.StatusInternalServerError)
		}
	}))
	defer failing.Close()
	at := strings.TrimPrefix(failing.URL, "http://")
	for _, address := range []string{
		"http://u:" + canary + "@127.0.0.1:1/mcp", "http://127.0.0.1:1/" + canary + "/mcp",
		"http://" + canary + "@127.0.0.1:1/mcp?key=" + canary,
		"http://nowhere.invalid/" + canary, "http://" + at + "/" + canary, "http://" + canary + "@" + at + "/" + canary +
			"?status=redirect",
		"http://" + at + "/" + canary + "?status=elsewhere", "http://" + at + "/" + canary + "?status=nowhere",
		"http://" + at + "/" + canary + "?status=login",
		"ftp://u:" + canary + "@h/" + canary, "http://u:%zz" + canary + "@h/", "http://h:" + canary + "/",
	} {
		s, warnings, err := servers.Parse("s", []byte(`{"url":"`+address+`"}`),
			func(string) (string, bool) { return "", false })
		if err != nil {
			if strings.Contains(err.Error()+strings.Join(warnings, ""), canary) {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		var log testwait.Buffer
		m := manage(t, upstream.Options{Logins: t.TempDir(),
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, upstream.Server{Server: s})
		_, err = call(t, m, "s", "any", `{}`)
		if err == nil {
			t.Errorf("%s: a call went through", address)
		}
		var status bytes.Buffer
		if err := json.NewEncoder(&status).Encode(m.Status()); err != nil {
			t.Error(err)
		}
		if text := err.Error() + "\n" + status.String() + "\n" + log.String(); strings.Contains(text, canary) {
			t.Errorf("%s is shown in\n%s", address, text)
		}
	}
}

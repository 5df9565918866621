package notify

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/process"
)

// TestSignature has the example of the Standard Webhooks specification's reference implementations.
func TestSignature(t *testing.T) {
	key, err := secretBytes()
	checktest.OK(t, err)
	got := sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOverHTTP sends to real servers on this machine.
func TestOverHTTP(t *testing.T) {
	to := &receiver{}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, elsewhere.URL, http.StatusPermanentRedirect)
		case "/forbidden":
			http.Error(w, r.Header.Get("Authorization"), http.StatusForbidden)
		case "/endless":
			for i := 0; i < 100 && r.Context().Err() == nil; i++ {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		default:
			to.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	d := newDesk(t, strings.ReplaceAll(`
		"hook": {"webhook": "AT/hook?key=c4n4ry", "secret": "${KEY}", "delay": "0s"},
		"phone": {"ntfy": "AT/topic", "token": "${TOKEN}", "delay": "0s", "arguments": true},
		"team": {"slack": "AT/services/c4n4ry", "delay": "0s"}`, "AT", server.URL))
	d.ask(t.Context(), approvals.Options{Timeout: 4 * time.Second}, question1("github__merge"))
	d.end()
	got := map[string]*received{}
	for _, r := range to.got() {
		got[r.path] = r
	}
	hook, phone, team := got["/hook"], got["/"], got["/services/c4n4ry"]
	if hook == nil || phone == nil || team == nil || len(to.got()) != 3 {
		t.Fatalf("got %v; the log is\n%s", got, d.log)
	}
	key, _ := secretBytes()
	q := hook.body["data"].(map[string]any)["questions"].([]any)[0].(map[string]any)
	switch id := q["id"].(string); {
	case hook.body["type"] != "question.waiting" || q["tool"] != "github.merge" || q["summary"] != "github.merge" ||
		q["profile"] != "deploy" || q["risk"] != "medium" || q["principal"] != "local:anna" ||
		hook.body["data"].(map[string]any)["page"] != pageAddress+"/ask/"+id:
		t.Errorf("the webhook got %v", hook.body)
	case hook.header.Get("webhook-signature") != sign(key, hook.header.Get("webhook-id"),
		hook.header.Get("webhook-timestamp"), []byte(hook.header.Get("X-Body"))):
		t.Errorf("the signature is %s", hook.header.Get("webhook-signature"))
	case phone.body["title"] != "codemode: github.merge waits for an answer" || phone.body["click"] != pageAddress+"/ask/"+id ||
		!strings.Contains(phone.text(), `text="secret-c4n4ry"`) && !strings.Contains(phone.text(), "secret-c4n4ry"):
		t.Errorf("ntfy got %v", phone.body)
	case !strings.HasPrefix(team.text(), "codemode: `github.merge` waits for an answer\n• `github.merge`, profile `deploy`, risk `medium`, for `local:anna`, waits until ") ||
		!strings.HasSuffix(team.text(), "\nAnswer on the page: "+pageAddress+"/ask/"+id):
		t.Errorf("Slack got %q", team.text())
	}
	for path, want := range map[string]string{"/moved": "redirects are not followed", "/forbidden": "it answered 403 Forbidden",
		"/endless": ""} {
		target, err := configured(t, `"a": {"ntfy": "`+server.URL+path+`", "token": "${TOKEN}"}`).Destinations[0].Target(env)
		checktest.OK(t, err)
		err = d.notifier.post(t.Context(), target.Address, "x", func(h http.Header, _ []byte) {
			h.Set("Authorization", "Bearer "+target.Token)
		})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!isFinal(err) || strings.Contains(err.Error(), "c4n4ry")) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// No part of an address, no token and no password is in an error, whatever failed.
func TestErrorsHaveNoSecrets(t *testing.T) {
	n := New(Options{Env: env, Version: "1"})
	for _, row := range []string{
		`{"webhook": "http://127.0.0.1:1/c4n4ry?c4n4ry=1", "secret": "${KEY}"}`,
		`{"ntfy": "https://c4n4ry.invalid:1/c4n4ry/topic", "token": "${TOKEN}"}`,
		`{"slack": "https://hooks.invalid/services/c4n4ry"}`,
		`{"smtp": "smtp://mail.invalid", "user": "u", "password": "${PASSWORD}", "from": "a@b.example", "to": "c@d.example"}`,
		`{"webhook": "https://h.example/", "secret": "${UNSET}"}`,
		`{"webhook": "https://h.example/", "secret": "${TOKEN}"}`,
	} {
		d := configured(t, `"a": `+row).Destinations[0]
		err := n.attempt(d, testMessage(pageAddress))
		if err == nil {
			t.Errorf("%s: it was sent", row)
			continue
		}
		first, _, _ := strings.Cut(err.Error(), "\n") // below a problem is the line of the file
		if text := strings.ReplaceAll(first, "c4n4ry.invalid", ""); strings.Contains(text, "c4n4ry") {
			t.Errorf("%s: %s", row, text)
		}
	}
}

// A test message says that it is one, and goes to each destination.
func TestATestMessage(t *testing.T) {
	to := &receiver{answer: func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.WriteHeader(500)
		}
	}}
	d := newDesk(t, `"a": {"slack": "https://h.example/x"}, "b": {"webhook": "https://h.example/y", "secret": "${KEY}"}`)
	d.notifier.client.Transport = to
	results := d.notifier.Test()
	failed := 0
	for _, r := range results {
		if r.Err != nil {
			failed++
		}
	}
	if len(results) != 2 || results[0].Destination != "a" || results[1].Kind != process.Webhook || failed != 1 {
		t.Errorf("got %+v", results)
	}
	for _, r := range to.got() {
		if text := r.text(); !strings.Contains(text, "test") || !strings.Contains(text, pageAddress) {
			t.Errorf("%s got %s", r.path, text)
		}
	}
	d.configure(nil)
	if got := d.notifier.Test(); len(got) != 0 {
		t.Errorf("without destinations: %v", got)
	}
}

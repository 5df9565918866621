//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// codemode doctor sends a test message to each destination, with secrets from commands and files, and shows none.
func TestDoctorSendsTestMessages(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = r.Header.Get("Authorization") + string(body)
		if r.URL.Path == "/broken" {
			http.Error(w, "c4n4ry", http.StatusForbidden)
		}
	}))
	defer server.Close()
	d := newDoctorHere(t, "")
	secret := write(t, filepath.Join(d.home, "secret"), "tk_c4n4ry\n")
	if err := os.Chmod(secret, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(destinations string) (string, int) {
		config := write(t, filepath.Join(d.home, "notify.json"), `{"notifications": {"destinations": {`+destinations+`}}}`)
		cmd := exec.Command(os.Args[0], "doctor", "--notifications", "--config", config)
		cmd.Env, cmd.Dir = d.environment, d.home
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	phone := fmt.Sprintf(`"phone": {"ntfy": "%s/topic", "token": "${file:%s}"}`, server.URL, secret)
	team := fmt.Sprintf(`"team": {"slack": "%s/${cmd:echo broken}"}`, server.URL)
	out, code := run(phone)
	d.want(out, "ok       notifications phone: it took a test message (ntfy)")
	if code != 0 || !strings.Contains(got["/"], "Bearer tk_c4n4ry") || !strings.Contains(got["/"], "a test message") {
		t.Errorf("exit %d, got %q", code, got)
	}
	all := out
	out, code = run(phone + ", " + team)
	d.want(out, "ok       notifications phone", "FAILURE  notifications team: it answered 403 Forbidden")
	if code != 5 {
		t.Errorf("exit %d", code)
	}
	all += out
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	out, code = run(phone)
	if code != 2 || !strings.Contains(out, "may be used by everybody on this machine: chmod o-rwx it") ||
		!strings.Contains(out, "notify.json:1:") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if all += out; strings.Contains(all, "c4n4ry") {
		t.Errorf("a secret is shown:\n%s", all)
	}
	out, _ = run("")
	d.want(out, "warning  notifications destinations: nobody is notified of questions")
}

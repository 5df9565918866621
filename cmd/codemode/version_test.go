package main

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// TestVersionCheck: what is printed, and the exit code. Package upgrade tests what the repository may answer.
func TestVersionCheck(t *testing.T) {
	to := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}))
	defer s.Close()
	for _, row := range []struct {
		mine, to string
		code     int
		lines    string
		newer    string // of --json
	}{
		{"v1.2.3", "/releases/tag/v1.3.0", cli.ExitProgram, "newer release: v1.3.0\nget it: ", "true"},
		{"v1.2.3", "/releases/tag/v1.2.3", cli.ExitOK, "this is the latest release", "false"},
		{"v1.4.0-rc.1", "/releases/tag/v1.3.0", cli.ExitOK, "or newer than v1.3.0", "false"},
		{"v1.2.3", "/releases", cli.ExitOK, "nothing is released yet", "false"},
		{"dev", "/releases/tag/v1.3.0", cli.ExitInternal, "latest release: v1.3.0", "none"},
		{"v1.2.3", "/elsewhere", cli.ExitInternal, "", "none"},
	} {
		to = row.to
		r := versionReport{Version: row.mine}
		lines, err := r.check(t.Context(), s.URL+"/releases/latest")
		if code := cli.CodeOf(t.Context(), err); code != row.code || !strings.Contains(lines, row.lines) ||
			row.lines == "" && lines != "" {
			t.Errorf("%s and %s: exit code %d, %v, lines\n%s", row.mine, row.to, code, err, lines)
		}
		newer := "none"
		if r.Newer != nil {
			newer = map[bool]string{true: "true", false: "false"}[*r.Newer]
		}
		if newer != row.newer || (newer == "true") != (r.How != "") {
			t.Errorf("%s and %s: newer is %s, how is %q; want %s", row.mine, row.to, newer, r.How, row.newer)
		}
	}
}

// TestOnlyVersionCheckAsks runs commands with a proxy, which is told of every address that they ask: --check asks the
// repository once, and nothing else asks anybody.
func TestOnlyVersionCheckAsks(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.Host)
		http.Error(w, "no", http.StatusForbidden)
	})}
	go proxy.Serve(l)
	t.Cleanup(func() { proxy.Close() })
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{}`)
	run := func(args ...string) (code int, out string, all []string) {
		t.Helper()
		cmd := command(t, args...)
		address := "http://" + l.Addr().String()
		cmd.Env = append(cmd.Env, "HTTPS_PROXY="+address, "HTTP_PROXY="+address, "NO_PROXY=", "CODEMODE_CONFIG="+config)
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		all, asked = asked, nil
		return code, text.String(), all
	}
	if code, out, all := run("version", "--check"); code != cli.ExitInternal || !slices.Equal(all,
		[]string{"CONNECT github.com:443"}) || !strings.Contains(out, "asking for the latest release") ||
		!strings.Contains(out, "guest ") {
		t.Errorf("version --check: exit code %d, asked %q\n%s", code, all, out)
	}
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"doctor"}, {"tools"}, {"run", "-e", "return 1"},
		{"profiles", "lint"}, {"audit", "list"}, {"serve"}} { // serve ends with its input
		if code, out, all := run(args...); len(all) > 0 || code == cli.ExitUsage {
			t.Errorf("%v: exit code %d, asked %q\n%s", args, code, all, out)
		}
	}
}

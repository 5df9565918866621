//go:build unix

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// issuerOf serves the metadata of an authorization server.
func issuerOf(t *testing.T, path string, metadata func(address string) string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "1", Use: "sig"}}})
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case path:
			fmt.Fprint(w, metadata(s.URL))
		case "/keys":
			_, _ = w.Write(set)
		case "/empty":
			fmt.Fprint(w, `{"keys": []}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// codemode doctor reads what it takes to verify access tokens.
func TestDoctorTriesTheIssuers(t *testing.T) {
	t.Parallel()
	said := func(issuer, keys string) func(string) string {
		return func(address string) string {
			return fmt.Sprintf(`{"issuer": %q, "jwks_uri": %q, "authorization_endpoint": %q, "token_endpoint": %q,
				"response_types_supported": ["code"]}`,
				strings.ReplaceAll(issuer, "SELF", address), address+keys, address+"/a", address+"/t")
		}
	}
	const openID, oauth2 = "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"
	for _, row := range []struct {
		address string
		code    int
		want    string
	}{
		{issuerOf(t, openID, said("SELF", "/keys")), cli.ExitOK, "ok       oauth acme: 1 key of http"},
		{issuerOf(t, openID, said("https://other.example", "/keys")), cli.ExitInternal, "https://other.example"},
		{issuerOf(t, openID, said("SELF/", "/keys")), cli.ExitInternal, "tokens of http"},
		{issuerOf(t, oauth2, said("https://other.example", "/keys")), cli.ExitInternal, "https://other.example"},
		{issuerOf(t, openID, said("SELF", "/none")), cli.ExitInternal, "reading its keys"},
		{issuerOf(t, openID, said("SELF", "/empty")), cli.ExitInternal, "publishes no key that verifies tokens"},
		{issuerOf(t, openID, func(string) string { return "<html>" }), cli.ExitInternal, "FAILURE  oauth acme: "},
		{"http://127.0.0.1:1", cli.ExitInternal, "connection refused"},
	} {
		config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(`{
			"evaluation": {"profiles": {"p": {}}, "expose": ["p"]},
			"http": {"oauth": {"resource": "http://localhost:8808/mcp", "issuers": {"acme": {"issuer": %q,
				"profiles": {"p": {"scope": "x"}}}}}}}`, row.address))
		code, out := outOf(t, nil, "doctor", "--config", config)
		if code != row.code || !strings.Contains(out, row.want) {
			t.Errorf("exit code %d, want %d and %q\n%s", code, row.code, row.want, out)
		}
	}
}

// It finds saved programs that are not what a person allowed.
func TestDoctorReadsPinnedScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "good.ts"), "return 1")
	write(t, filepath.Join(dir, "changed.ts"), "return 2")
	sum := sha256.Sum256([]byte("return 1"))
	hash := hex.EncodeToString(sum[:])
	config := write(t, filepath.Join(dir, "codemode.json"), fmt.Sprintf(`{
		"evaluation": {"profiles": {"p": {}}, "defaultProfile": "p"},
		"scripts": {"root": %q, "allow": [{"file": "good.ts", "sha256": %q}, {"file": "changed.ts", "sha256": %[2]q},
			{"file": "gone.ts", "sha256": %[2]q}]}}`, dir, hash))
	code, out := outOf(t, nil, "doctor", "--config", config)
	for _, want := range []string{
		"ok       script saved programs: 1 file as a person allowed it",
		"FAILURE  script changed.ts: it cannot be run: its content is not what was allowed at codemode.json:",
		"look at the file, then write its SHA-256 at codemode.json:",
		"FAILURE  script gone.ts: it cannot be run: it cannot be found",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if code != cli.ExitInternal {
		t.Errorf("exit code %d", code)
	}
}

// Its probes leave no trace: no accepted definition of a tool, no entry of the record.
func TestDoctorCountsNowhere(t *testing.T) {
	t.Parallel()
	d := newDoctorHere(t, `, "ask": {"channels": ["web"]}`)
	config := write(t, filepath.Join(d.home, "servers.json"), fmt.Sprintf(
		`{"mcpServers": {"child": {"command": %q, "env": {%q: "upstream"}}},
		"evaluation": {"profiles": {"p": {"asklist": ["child__*"], "ask": {"channels": ["web"]}}}, "expose": ["p"]}}`,
		os.Args[0], asCommand))
	d.config = config
	d.want(d.run("--wait", "1s"), "warning  approvals web: nobody answered the test question", "ok       server child: 2 tools")
	_ = filepath.WalkDir(d.home, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.Name() == "pins.json" {
			t.Errorf("it accepted definitions of tools: %s", path)
		}
		return nil
	})
	cmd := exec.Command(os.Args[0], "audit", "list", "--json", "--config", config)
	cmd.Env, cmd.Dir = d.environment, d.home
	if out, err := cmd.CombinedOutput(); strings.Contains(string(out), "doctor") || strings.Contains(string(out), `"approval"`) {
		t.Errorf("%v: the record has its question:\n%s", err, out)
	}
}

// A signal is no person: what it ends is not called closed by one, and what had no time is no failure.
func TestASignalIsNoPerson(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		d := newDoctorHere(t, `, "ask": {"channels": ["web"]}`)
		cmd := exec.Command(os.Args[0], "doctor", "--approvals", "--wait", "60s", "--config", d.config)
		cmd.Env, cmd.Dir = d.environment, d.home
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Second) // it asks by then
		_ = cmd.Process.Signal(sig)
		_ = cmd.Wait()
		text := out.String()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted || strings.Contains(text, "by a person") ||
			strings.Contains(text, "approvals web") || !strings.Contains(text, "it was ended before all checks were made") {
			t.Errorf("%v: exit code %d\n%s", sig, code, text)
		}
	}
}

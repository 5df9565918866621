package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// TestALoginWithADocumentAtOIDCProvider: an authorization server that others wrote, which registers nobody, takes the
// document that codemode prints, gives tokens for the server alone, and renews them.
func TestALoginWithADocumentAtOIDCProvider(t *testing.T) {
	t.Parallel()
	dir := npmServers(t)
	var document []byte
	page := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(document)
	}))
	defer page.Close()
	client := page.URL + "/codemode/client-metadata.json"
	document, err := login.ClientMetadata(client, "https://codemode.example.com/console/accounts/callback")
	checktest.OK(t, err)
	root := filepath.Join(t.TempDir(), "root.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: page.Certificate().Raw})
	checktest.OK(t, os.WriteFile(root, certificate, 0o600))

	var issuer, server string
	type holder struct {
		Person, Client, Audience string
		Valid                    bool
	}
	holders := make(chan holder, 100)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdkServer(nil) },
		&mcp.StreamableHTTPOptions{Stateless: true})
	hosted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"resource": %q, "authorization_servers": [%q], "scopes_supported": ["read"]}`, server, issuer)
			return
		}
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		var by holder
		if resp, err := http.Get(issuer + "/whose?token=" + url.QueryEscape(token)); ok && err == nil {
			ok = json.NewDecoder(resp.Body).Decode(&by) == nil && by.Valid
			_ = resp.Body.Close()
		}
		if !ok || by.Audience != server {
			w.Header().Set("WWW-Authenticate", `Bearer`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		select {
		case holders <- by:
		default: // they are enough
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(hosted.Close) // after the manager, which has open streams
	server = hosted.URL + "/mcp"

	var said testwait.Buffer
	node := exec.Command("node", filepath.Join(dir, "oidc.mjs"), server)
	node.Env, node.Stderr = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+root), &said
	out, err := node.StdoutPipe()
	checktest.OK(t, err)
	checktest.OK(t, node.Start())
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	for issuer == "" && lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://127.0.0.1:") {
			issuer = lines.Text()
		}
	}
	if issuer == "" {
		t.Fatalf("no authorization server started:\n%s", said.String())
	}

	s := httpServer("hosted", server)
	s.OAuth = &servers.OAuth{MetadataURL: client}
	m := manage(t, upstream.Options{Logins: t.TempDir()}, s)
	jar, err := cookiejar.New(nil)
	checktest.OK(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = m.Login(ctx, "hosted", "", login.Browser{Open: func(address string) {
		go func() {
			resp, err := (&http.Client{Jar: jar}).Get(address)
			if err != nil {
				t.Errorf("the browser: %v", err)
				return
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("the browser ended at %s: %s", resp.Request.URL.Path, resp.Status)
				cancel()
			}
		}()
	}})
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	eventually(t, "it works", func() bool { return works(t, m) == nil })
	if got, want := <-holders, (holder{"anna", client, server, true}); got != want {
		t.Errorf("the token is of %+v, want %+v", got, want)
	}
}

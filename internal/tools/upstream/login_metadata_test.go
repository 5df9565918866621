package upstream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// trustTestServers makes this process trust the certificate of httptest, as it trusts those of the system.
func trustTestServers() {
	one := httptest.NewTLSServer(nil)
	defer one.Close()
	roots := x509.NewCertPool()
	roots.AddCert(one.Certificate())
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
}

// TestALoginWithADocument: which client codemode is at an authorization server, and which documents it does not show to
// one. "DOC" stands for the address of the document, which has what ClientMetadata says if the row has no text.
func TestALoginWithADocument(t *testing.T) {
	t.Parallel()
	const (
		other  = `{"client_id": "https://else.example/client.json", "redirect_uris": ["http://127.0.0.1/callback"]}`
		fields = `{"client_id": "DOC", "token_endpoint_auth_method": "none", "redirect_uris": `
	)
	_, port, _ := strings.Cut(mcptest.FreeAddress(t), ":")
	registered := hostedtest.Client{ID: "us", Secret: "canary-of-us", Redirect: "http://localhost:" + port + "/callback"}
	ours := fmt.Sprintf(`"clientId":"us","clientSecret":"canary-of-us","callbackPort":%s,"clientMetadataUrl":"DOC"`, port)
	with, documents := `"clientMetadataUrl":"DOC"`, http.DefaultClient
	for _, row := range []struct {
		name, oauth  string
		server       hostedtest.Options
		code         int // of the document's address; 0 is 200
		text         string
		client, fail string // who logs in, where "DOC" and "us" are all that is known before, or why nobody does
	}{
		{name: "where registration is refused, the document does", oauth: with,
			server: hostedtest.Options{Documents: documents, Closed: true}, client: "DOC"},
		{name: "a document comes before a registration", oauth: with,
			server: hostedtest.Options{Documents: documents}, client: "DOC"},
		{name: "a registered client comes before a document", oauth: ours,
			server: hostedtest.Options{Documents: documents, Client: &registered}, client: "us"},
		{name: "a server that takes no document registers", oauth: with, client: "another"},
		{name: "without a document codemode registers", server: hostedtest.Options{Documents: documents}, client: "another"},
		{name: "without a document and a registration", oauth: `"scopes":[]`,
			server: hostedtest.Options{Documents: documents, Closed: true}, fail: `{"clientMetadataUrl": "https://..."}`},

		{name: "the document of another host", oauth: with, text: other,
			fail: `is that of another client: its client_id is "https://else.example/client.json"; publish there`},
		{name: "a document that leads to the page of a service", oauth: with,
			text: fields + `["https://codemode.example.com/callback", "http://localhost/callback"]}`,
			fail: "does not have http://127.0.0.1:"},
		{name: "a document that leads to another path", oauth: with, text: fields + `["http://127.0.0.1/"]}`,
			fail: "among its redirect_uris"},
		{name: "a document that leads to another scheme", oauth: with, text: fields + `["https://127.0.0.1/callback"]}`,
			fail: "among its redirect_uris"},
		{name: "a document without a redirect", oauth: with, text: fields + `[]}`, fail: "among its redirect_uris"},
		{name: "the document of a client with a secret", oauth: with, text: `{"client_id": "DOC"}`,
			fail: "client with a secret"},
		{name: "a page in place of a document", oauth: with, text: "<html>", fail: "is not the JSON of a client"},
		{name: "a list in place of a document", oauth: with, text: "[]", fail: "is not the JSON of a client"},
		{name: "a large document", oauth: with, text: fields + `["` + strings.Repeat("x", 5<<10) + `"]}`,
			fail: "more than 5120 bytes"},
		{name: "no document", oauth: with, code: http.StatusNotFound, fail: "cannot be fetched: HTTP 404"},
		{name: "a document elsewhere", oauth: with, code: http.StatusFound, fail: "cannot be fetched: HTTP 302"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.oauth != ours { // which others could take the port of
				t.Parallel()
			}
			page := httptest.NewUnstartedServer(nil)
			address := "https://" + page.Listener.Addr().String() + "/client-metadata.json"
			text, err := login.ClientMetadata(address)
			checktest.OK(t, err)
			if row.text != "" {
				text = []byte(strings.ReplaceAll(row.text, "DOC", address))
			}
			page.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/elsewhere.json")
				if row.code != 0 && r.URL.Path != "/elsewhere.json" {
					w.WriteHeader(row.code)
				}
				_, _ = w.Write(text)
			})
			page.StartTLS()
			defer page.Close()
			if row.fail != "" {
				row.server.Documents = documents
			}
			h := host(t, row.server)
			s, warnings, err := servers.Parse("hosted", fmt.Appendf(nil, `{"url":%q,"oauth":{%s}}`, h.URL,
				strings.ReplaceAll(row.oauth, "DOC", address)), nil)
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			m := manage(t, upstream.Options{Logins: t.TempDir()}, upstream.Server{Server: s})
			if row.fail == "" {
				checktest.OK(t, logIn(t, m))
				eventually(t, "it works", func() bool { return works(t, m) == nil })
				h.Revoke(false)
				if err := works(t, m); err != nil || h.Renewed() == 0 {
					t.Errorf("after %d renewals: %v", h.Renewed(), err)
				}
				client := h.LastClient()
				if client != address && client != "us" {
					client = "another"
				}
				if want := strings.ReplaceAll(row.client, "DOC", address); client != want {
					t.Errorf("%s logged in, want %s", client, want)
				}
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err = m.Login(ctx, "hosted", "", login.Browser{Open: func(string) { t.Error("a person was sent to log in") }})
			if err == nil || !strings.Contains(err.Error(), row.fail) ||
				row.text != "" && !strings.Contains(err.Error(), "codemode login --client-metadata "+address) {
				t.Errorf("got %v, want %q", err, row.fail)
			}
		})
	}
}

// TestADocumentOfThisProcess is not fetched: the page that serves it may be out of reach from here.
func TestADocumentOfThisProcess(t *testing.T) {
	t.Parallel()
	h := host(t, hostedtest.Options{Documents: http.DefaultClient, Closed: true})
	s := httpServer("hosted", h.URL)
	s.OAuth = &servers.OAuth{MetadataURL: "https://codemode.example.invalid/console/client-metadata.json"}
	m := manage(t, upstream.Options{Logins: t.TempDir()}, s)
	log := func(served string) (opened bool, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err = m.Login(ctx, "hosted", "", login.Browser{Served: served, Redirect: "https://codemode.example.invalid/back",
			Open: func(string) { opened = true; cancel() }})
		return opened, err
	}
	if opened, err := log(s.OAuth.MetadataURL); !opened {
		t.Errorf("a document of this process: %v", err)
	}
	if opened, err := log(""); opened || !strings.Contains(err.Error(), "cannot be fetched") {
		t.Errorf("the same of another process: opened %t, %v", opened, err)
	}
}

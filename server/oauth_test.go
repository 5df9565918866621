package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/server/oauth"
	"github.com/codemode-project/codemode/server"
)

// An issuer publishes its metadata and its keys, answers introspection, and signs whatever it is told to.
type issuer struct {
	t       *testing.T
	url     string
	private *rsa.PrivateKey
	id      string // of the key

	mu     sync.Mutex
	down   bool
	opaque map[string]map[string]any // what it says about opaque tokens
	basic  [2]string                 // of the last introspection
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, opaque: map[string]map[string]any{}}
	i.rotate("first")
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, value any) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.down {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys", "introspection_endpoint": i.url + "/introspect",
			"authorization_endpoint": i.url + "/auth", "token_endpoint": i.url + "/token"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
			{Key: &i.private.PublicKey, KeyID: i.id, Use: "sig", Algorithm: "RS256"},
			{Key: []byte("a symmetric key has no place here"), KeyID: "symmetric"},
		}}
		i.mu.Unlock()
		reply(w, keys)
	})
	mux.HandleFunc("/introspect", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.basic[0], i.basic[1], _ = r.BasicAuth()
		said := i.opaque[r.FormValue("token")]
		i.mu.Unlock()
		if said == nil {
			said = map[string]any{"active": false}
		}
		reply(w, said)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	i.url = s.URL
	return i
}

func (i *issuer) rotate(id string) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	checktest.OK(i.t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.private, i.id = private, id
}

func (i *issuer) fail(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// A forgery is what a token has that a good one has not: other claims, another header, another key.
type forgery struct {
	claims map[string]any // nil removes one
	header map[jose.HeaderKey]any
	key    any // signs; nil is the issuer's
	with   jose.SignatureAlgorithm
}

const resourceURL = "http://127.0.0.1:1/mcp"

// token is a token that is good except for the forgery.
func (i *issuer) token(f forgery) string {
	i.t.Helper()
	claims := map[string]any{"iss": i.url, "sub": "anna", "aud": resourceURL, "scope": "read", "groups": []string{"dev"},
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, f.claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	payload, err := json.Marshal(claims)
	checktest.OK(i.t, err)
	header := map[jose.HeaderKey]any{"kid": i.id, "typ": "at+jwt"}
	maps.Copy(header, f.header)
	maps.DeleteFunc(header, func(_ jose.HeaderKey, v any) bool { return v == nil })
	if f.key == nil {
		f.key = i.private
	}
	if f.with == "" {
		f.with = jose.RS256
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: f.with, Key: f.key},
		&jose.SignerOptions{ExtraHeaders: header})
	checktest.OK(i.t, err)
	signed, err := signer.Sign(payload)
	checktest.OK(i.t, err)
	text, err := signed.CompactSerialize()
	checktest.OK(i.t, err)
	return text
}

// unsigned is a token with alg: none.
func (i *issuer) unsigned(alg string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"`+alg+`","typ":"at+jwt"}`) + "." + strings.Split(i.token(forgery{}), ".")[1] + "."
}

// A signIn is a server whose callers bring tokens of issuers.
type signIn struct {
	*house
	url        string
	here, next *issuer

	mu     sync.Mutex
	access []string // who was refused, and why
}

func openSignIn(t *testing.T) *signIn {
	t.Helper()
	s := &signIn{here: newIssuer(t), next: newIssuer(t)}
	s.house = open(t, fmt.Sprintf(`{
		"evaluation": {"defaultProfile": "read", "profiles": {"read": {"unmatched": "deny"}, "write": {}, "admin": {}}},
		"http": {"tokens": [{"token": "${STATIC}", "principal": "ci"}],
			"oauth": {"resource": %q, "issuers": {
				"here": {"issuer": %q, "claims": {"roles": "groups"}, "profiles": {"read": {"scope": "read"},
					"write": {"scope": "write", "roles": ["dev"]}, "admin": {"scope": "admin", "roles": ["admins"]}},
					"introspection": {"client": "code mode", "secret": "${SECRET}"}},
				"next": {"issuer": %q, "profiles": {"read": {"scope": "read"}}}}}}}`, resourceURL, s.here.url, s.next.url),
		server.Options{})
	s.variables = map[string]string{"STATIC": "a-static-token-of-ours", "SECRET": "top:secret"}
	s.server.LogAccess(func(_ context.Context, principal, _, state, detail string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.access = append(s.access, strings.TrimSpace(principal+" "+state))
		if strings.Contains(detail, "eyJ") {
			t.Errorf("a token is in the record: %s", detail)
		}
	})
	s.url = s.listen()
	return s
}

// last returns what the record got last.
func (s *signIn) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.access) == 0 {
		return ""
	}
	return s.access[len(s.access)-1]
}

// send sends a request with a token and returns the status and the header WWW-Authenticate.
func (s *signIn) send(k knock, token string) (status int, challenge, session string) {
	s.t.Helper()
	if k.body == "" {
		k.body = initializeBody
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+k.path, strings.NewReader(k.body))
	checktest.OK(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range k.header {
		r.Header.Add(name, value)
	}
	if token != "" {
		r.Header.Add("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	checktest.OK(s.t, err)
	res.Body.Close()
	return res.StatusCode, res.Header.Get("WWW-Authenticate"), res.Header.Get("Mcp-Session-Id")
}

// publicKeyAsSecret are the forms in which an attacker may use the public key as a secret of HS256.
func publicKeyAsSecret(t *testing.T, key *rsa.PublicKey) map[string][]byte {
	der, err := x509.MarshalPKIXPublicKey(key)
	checktest.OK(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return map[string][]byte{"as PEM": text, "as PEM without the last line break": []byte(strings.TrimSpace(string(text))),
		"as DER": der, "as its modulus": key.N.Bytes()}
}

// Nobody gets in with a token that the issuer did not sign, with the keys that it has now.
func TestForgedSignatures(t *testing.T) {
	s := openSignIn(t)
	i := s.here
	other := checktest.Must(rsa.GenerateKey(rand.Reader, 2048))
	curve := checktest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	mine := jose.JSONWebKey{Key: &other.PublicKey, KeyID: "mine"}
	attackers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the server reads keys where the token says")
	}))
	defer attackers.Close()
	payload := strings.Split(i.token(forgery{claims: map[string]any{"sub": "eve"}}), ".")[1]
	parts := strings.Split(i.token(forgery{}), ".")
	rows := []struct{ name, token, want string }{
		{"alg: none", i.unsigned("none"), "bad_algorithm"},
		{"alg: None", i.unsigned("None"), "bad_algorithm"},
		{"no signature", parts[0] + "." + parts[1] + ".", "bad_signature"},
		{"the payload of another token", parts[0] + "." + payload + "." + parts[2], "bad_signature"},
		{"the key of somebody else", i.token(forgery{key: other}), "bad_signature"},
		{"a curve with the name of an RSA key", i.token(forgery{key: curve, with: jose.ES256}), "bad_signature"},
		{"the key in the header", i.token(forgery{key: other, header: map[jose.HeaderKey]any{"jwk": mine, "kid": "mine"}}),
			"bad_signature"},
		{"keys at an address of the header", i.token(forgery{key: other, header: map[jose.HeaderKey]any{
			"jku": attackers.URL, "x5u": attackers.URL, "kid": "mine"}}), "bad_signature"},
		{"a kid that is a path", i.token(forgery{key: other, header: map[jose.HeaderKey]any{"kid": "../../../dev/null"}}),
			"bad_signature"},
		{"a kid that is an address", i.token(forgery{key: other, header: map[jose.HeaderKey]any{"kid": attackers.URL}}),
			"bad_signature"},
		{"the kid of a symmetric key", i.token(forgery{key: other, header: map[jose.HeaderKey]any{"kid": "symmetric"}}),
			"bad_signature"},
		{"a kid that nobody has", i.token(forgery{header: map[jose.HeaderKey]any{"kid": "unknown"}}), "bad_signature"},
		{"the neighbour's key", i.token(forgery{key: s.next.private}), "bad_signature"},
		{"a header that the server does not understand", i.token(forgery{header: map[jose.HeaderKey]any{
			"crit": []string{"exotic"}, "exotic": true}}), "malformed_token bad_signature"},
	}
	for name, secret := range publicKeyAsSecret(t, &i.private.PublicKey) {
		rows = append(rows, struct{ name, token, want string }{"HS256 with the public key " + name,
			i.token(forgery{key: secret, with: jose.HS256}), "bad_algorithm"})
	}
	for _, row := range rows {
		status, challenge, session := s.send(knock{}, row.token)
		if status != http.StatusUnauthorized || session != "" || !strings.Contains(row.want, s.last()) || s.last() == "" {
			t.Errorf("%s: status %d, session %q, recorded %q, want %q", row.name, status, session, s.last(), row.want)
		}
		if !strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("%s: the challenge is %s", row.name, challenge)
		}
	}
	if status, _, _ := s.send(knock{}, i.token(forgery{})); status != http.StatusOK {
		t.Errorf("a good token: status %d, recorded %q", status, s.last())
	}
}

// A genuine token counts only for this server, in its time, and for what it says.
func TestTokensForOthers(t *testing.T) {
	s := openSignIn(t)
	now := time.Now()
	in := func(d time.Duration) int64 { return now.Add(d).Unix() }
	const here = "here:anna "
	for _, row := range []struct {
		name   string
		claims map[string]any
		status int
		want   string
	}{
		{"for another server", map[string]any{"aud": "https://other.example.com/mcp"}, 401, here + "wrong_audience"},
		{"for a server that begins alike", map[string]any{"aud": resourceURL + ".evil.example"}, 401,
			here + "wrong_audience"},
		{"for the server without its path", map[string]any{"aud": "http://127.0.0.1:1"}, 401, here + "wrong_audience"},
		{"for one profile of it", map[string]any{"aud": resourceURL + "/read"}, 401, here + "wrong_audience"},
		{"for nobody", map[string]any{"aud": nil}, 401, here + "wrong_audience"},
		{"for a number", map[string]any{"aud": 7}, 401, "malformed_token"},
		{"of another issuer", map[string]any{"iss": "https://login.example.com"}, 401, "wrong_issuer"},
		{"of an issuer with a slash more", map[string]any{"iss": s.here.url + "/"}, 401, "wrong_issuer"},
		{"of the neighbour", map[string]any{"iss": s.next.url}, 401, "bad_signature"},
		{"of nobody", map[string]any{"iss": nil}, 401, "wrong_issuer"},
		{"expired", map[string]any{"exp": in(-31 * time.Second)}, 401, here + "expired"},
		{"without an end", map[string]any{"exp": nil}, 401, "malformed_token"},
		{"with an end that is no time", map[string]any{"exp": "never"}, 401, "malformed_token"},
		{"not yet valid", map[string]any{"nbf": in(time.Minute)}, 401, here + "not_yet_valid"},
		{"from the future", map[string]any{"iat": in(time.Hour)}, 401, here + "not_yet_valid"},
		{"bound to a key", map[string]any{"cnf": map[string]any{"jkt": "x"}}, 401, here + "bound_token"},
		{"of nobody in particular", map[string]any{"sub": nil}, 401, "no_principal"},
		{"of a name that is too long", map[string]any{"sub": strings.Repeat("x", 130)}, 401, "no_principal"},
		{"without a scope", map[string]any{"scope": nil}, 403, here + "insufficient_scope"},
		{"with a scope that means nothing here", map[string]any{"scope": "reading"}, 403, here + "insufficient_scope"},
		{"with the scope of a profile for others", map[string]any{"scope": "admin"}, 403, here + "insufficient_scope"},
		{"expired within the leeway", map[string]any{"exp": in(-20 * time.Second)}, 200, here + "admitted"},
		{"with scopes as a list", map[string]any{"scope": nil, "scp": []string{"x", "read"}}, 200, here + "admitted"},
		{"for several servers", map[string]any{"aud": []string{"https://x.example", resourceURL}, "sub": "b"}, 200,
			"here:b admitted"},
		{"of a subject with all characters", map[string]any{"sub": "auth0|a b/ü%"}, 200,
			"here:auth0%7Ca%20b%2F%C3%BC%25 admitted"},
	} {
		status, challenge, session := s.send(knock{}, s.here.token(forgery{claims: row.claims}))
		if status != row.status || (session != "") != (status == 200) {
			t.Errorf("%s: status %d, want %d, session %q, %s", row.name, status, row.status, session, challenge)
		}
		if got := s.last(); status != 200 && got != row.want {
			t.Errorf("%s: recorded %q, want %q", row.name, got, row.want)
		}
		if status == 403 && !strings.Contains(challenge, `error="insufficient_scope"`) {
			t.Errorf("%s: the challenge is %s", row.name, challenge)
		}
	}
	all := strings.Join(s.access, "\n")
	for _, want := range []string{"here:anna admitted", "here:b admitted", "here:auth0%7Ca%20b%2F%C3%BC%25 admitted"} {
		if !strings.Contains(all, want) {
			t.Errorf("the record does not have %s:\n%s", want, all)
		}
	}
	if text := s.log.String(); strings.Contains(text, "eyJ") {
		t.Errorf("a token is in the log:\n%s", text)
	}
}

// What a token is for, and what a client that lacks a scope is told.
func TestScopesAndChallenges(t *testing.T) {
	s := openSignIn(t)
	reads, writes := s.here.token(forgery{}), s.here.token(forgery{claims: map[string]any{"scope": "read write"}})
	guest := s.here.token(forgery{claims: map[string]any{"scope": "read write", "groups": "guests"}})
	metadata := func(path string) string {
		return `resource_metadata="http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp` + path + `"`
	}
	call := func(tool string) knock {
		return knock{body: fmt.Sprintf(`{"jsonrpc": "2.0", "id": 2, "method": "tools/call",
			"params": {"name": %q, "arguments": {"code": "return 1"}}}`, tool)}
	}
	for _, row := range []struct {
		name      string
		knock     knock
		token     string
		status    int
		challenge []string
		want      string
	}{
		{"nothing", knock{}, "", 401, []string{metadata(""), `scope="admin read write"`}, "no_token"},
		{"nothing for a profile", knock{path: "/write"}, "", 401, []string{metadata("/write"), `scope="write"`}, "no_token"},
		{"nothing for a profile that is none", knock{path: `/x"y`}, "", 401, []string{metadata("")}, "no_token"},
		{"a token for a profile that it allows", knock{path: "/read"}, reads, 200, nil, ""},
		{"a token for the profile of another scope", knock{path: "/write"}, reads, 403,
			[]string{`error="insufficient_scope"`, `scope="write"`, metadata("/write")}, "here:anna insufficient_scope"},
		{"a token with that scope", knock{path: "/write"}, writes, 200, nil, ""},
		{"that of somebody without the role", knock{path: "/write"}, guest, 404, nil, "here:anna unknown_profile"},
		{"a profile for nobody here", knock{path: "/admin"}, writes, 404, nil, "here:anna unknown_profile"},
		{"a profile that is not there", knock{path: "/nothing"}, writes, 404, nil, "here:anna unknown_profile"},
		{"a call that needs another scope", call("codemode_eval_write"), reads, 403,
			[]string{`error="insufficient_scope"`, `scope="write"`}, "here:anna insufficient_scope"},
		{"a call that no scope allows", call("codemode_eval_admin"), reads, 200, nil, ""},
		{"a static token", knock{}, "a-static-token-of-ours", 200, nil, ""},
		{"another static token", knock{}, "a-static-token-of-theirs", 401, []string{`error="invalid_token"`}, "inactive"},
		{"two tokens", knock{header: map[string]string{"Authorization": "Bearer " + reads}}, writes, 400, nil, "two_tokens"},
		{"a token in the address", knock{path: "?access_token=" + reads}, "", 400, nil, "token_in_address"},
		{"a token in the address too", knock{path: "?access_token=" + reads}, reads, 400, nil, "token_in_address"},
		{"a token of more than 16 KiB", knock{}, reads + strings.Repeat("x", 16<<10), 401, nil, "malformed_token"},
	} {
		if strings.HasPrefix(row.knock.body, `{"jsonrpc": "2.0", "id": 2`) {
			row.knock.header = map[string]string{"Mcp-Protocol-Version": "2025-11-25"}
			_, _, session := s.send(knock{}, row.token)
			row.knock.header["Mcp-Session-Id"] = session
		}
		status, challenge, _ := s.send(row.knock, row.token)
		if status != row.status || row.want != "" && s.last() != row.want {
			t.Errorf("%s: status %d, want %d; recorded %q", row.name, status, row.status, s.last())
		}
		for _, part := range row.challenge {
			if !strings.Contains(challenge, part) {
				t.Errorf("%s: the challenge has no %s: %s", row.name, part, challenge)
			}
		}
	}
	if user, password := s.here.basic[0], s.here.basic[1]; user != "code+mode" || password != "top%3Asecret" {
		t.Errorf("the server introduced itself as %q with %q", user, password)
	}
}

// A session belongs to the account that opened it, whatever tokens it brings; accounts of two issuers, of static tokens
// and of this machine are never the same.
func TestSessionsOfAccounts(t *testing.T) {
	s := openSignIn(t)
	_, _, session := s.send(knock{}, s.here.token(forgery{}))
	if session == "" {
		t.Fatal("no session: ", s.last())
	}
	list := knock{body: `{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}`,
		header: map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"}}
	for name, token := range map[string]string{
		"the same name at another issuer": s.next.token(forgery{}),
		"another name":                    s.here.token(forgery{claims: map[string]any{"sub": "bert"}}),
		"a name in other letters":         s.here.token(forgery{claims: map[string]any{"sub": "Anna"}}),
		"a static token":                  "a-static-token-of-ours",
	} {
		status, _, _ := s.send(list, token)
		if status != http.StatusForbidden || !strings.HasSuffix(s.last(), " wrong_session") {
			t.Errorf("%s: status %d, recorded %q", name, status, s.last())
		}
	}
	renewed := s.here.token(forgery{claims: map[string]any{"jti": "another", "exp": time.Now().Add(2 * time.Hour).Unix()}})
	if status, _, _ := s.send(list, renewed); status != http.StatusOK {
		t.Errorf("the next token of the same account: status %d, recorded %q", status, s.last())
	}
}

// A stream of notifications ends when the token that opened it expires.
func TestStreamsEndWithTheirToken(t *testing.T) {
	s := openSignIn(t)
	token := s.here.token(forgery{claims: map[string]any{"exp": time.Now().Add(2 * time.Second).Unix()}})
	_, _, session := s.send(knock{}, token)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	checktest.OK(t, err)
	for name, value := range map[string]string{"Authorization": "Bearer " + token, "Accept": "text/event-stream",
		"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"} {
		r.Header.Set(name, value)
	}
	client := http.Client{Timeout: 20 * time.Second} // the stream itself has no end
	res, err := client.Do(r)
	checktest.OK(t, err)
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("status %d, the stream ended with %v", res.StatusCode, err)
	}
}

// Opaque tokens are those about which the issuer says so.
func TestOpaqueTokens(t *testing.T) {
	s := openSignIn(t)
	good := map[string]any{"active": true, "sub": "anna", "aud": resourceURL, "scope": "read",
		"exp": time.Now().Add(time.Hour).Unix(), "token_type": "Bearer", "iss": s.here.url}
	for name, row := range map[string]struct {
		change map[string]any
		status int
		want   string
	}{
		"good":               {nil, 200, ""},
		"inactive":           {map[string]any{"active": false}, 401, "inactive"},
		"active in words":    {map[string]any{"active": "true"}, 401, "inactive"},
		"of another issuer":  {map[string]any{"iss": s.next.url}, 401, "wrong_issuer"},
		"for another server": {map[string]any{"aud": "https://x.example"}, 401, "here:anna wrong_audience"},
		"for nobody":         {map[string]any{"aud": nil}, 401, "here:anna wrong_audience"},
		"expired":            {map[string]any{"exp": 1}, 401, "here:anna expired"},
		"bound to a key":     {map[string]any{"token_type": "DPoP"}, 401, "wrong_type"},
		"without a scope":    {map[string]any{"scope": nil}, 403, "here:anna insufficient_scope"},
	} {
		said := maps.Clone(good)
		maps.Copy(said, row.change)
		maps.DeleteFunc(said, func(_ string, v any) bool { return v == nil })
		token := "opaque." + strings.ReplaceAll(name, " ", ".")
		s.here.mu.Lock()
		s.here.opaque[token] = said
		s.here.mu.Unlock()
		status, _, _ := s.send(knock{}, token)
		if status != row.status || row.want != "" && s.last() != row.want {
			t.Errorf("%s: status %d, want %d, recorded %q", name, status, row.status, s.last())
		}
	}
}

// While an issuer cannot be reached nobody new gets in over it; the server starts without it, and tries again.
func TestIssuersThatAreDown(t *testing.T) {
	s := openSignIn(t)
	s.here.fail(true)
	for _, token := range []string{s.here.token(forgery{}), "an-opaque-token-of-somebody"} {
		status, _, _ := s.send(knock{}, token)
		if status != http.StatusServiceUnavailable || s.last() != "issuer_unreachable" {
			t.Errorf("without the issuer: status %d, recorded %q", status, s.last())
		}
	}
	if status, _, _ := s.send(knock{}, s.next.token(forgery{})); status != http.StatusOK {
		t.Errorf("a token of the other issuer: status %d", status)
	}
	if status, _, _ := s.send(knock{}, "a-static-token-of-ours"); status != http.StatusOK {
		t.Errorf("a static token: status %d", status)
	}
	s.here.fail(false)
	if status, _, _ := s.send(knock{}, s.here.token(forgery{})); status != http.StatusOK {
		t.Errorf("when the issuer is back: status %d, recorded %q", status, s.last())
	}
	s.here.fail(true)
	if status, _, _ := s.send(knock{}, s.here.token(forgery{})); status != http.StatusOK {
		t.Errorf("with keys of a moment ago: status %d, recorded %q", status, s.last())
	}
	s.here.fail(false)
	before := s.here.token(forgery{})
	s.here.rotate("second")
	if status, _, _ := s.send(knock{}, s.here.token(forgery{})); status != http.StatusOK {
		t.Errorf("the next key: status %d, recorded %q", status, s.last())
	}
	if status, _, _ := s.send(knock{}, before); status != http.StatusUnauthorized || s.last() != "bad_signature" {
		t.Errorf("the key before: status %d, recorded %q", status, s.last())
	}
}

// An issuer counts from the moment at which the configuration has it until the one at which it has not. A change of
// something else asks it nothing.
func TestIssuersComeAndGo(t *testing.T) {
	s := openSignIn(t)
	token := s.here.token(forgery{})
	status := func() int {
		status, _, _ := s.send(knock{}, token)
		return status
	}
	if got := status(); got != http.StatusOK {
		t.Fatal(got, s.last())
	}
	const config = `{"evaluation": {"profiles": {"read": {}%s}}, "http": {"tokens": [{"token": "${STATIC}"}], "oauth": {
		"resource": %q, "issuers": {"here": {"issuer": %q, "profiles": {"read": {"scope": %q}}}}}}}`
	s.write(fmt.Sprintf(config, "", resourceURL, s.here.url, "other"))
	eventually(t, "the issuer's scope to change", func() bool { return status() == http.StatusForbidden })
	s.write(fmt.Sprintf(config, "", resourceURL, s.here.url, "read"))
	eventually(t, "the scope to count again", func() bool { return status() == http.StatusOK })
	s.here.fail(true)
	s.write(fmt.Sprintf(config, `, "another": {}`, resourceURL, s.here.url, "read"))
	eventually(t, "the next configuration to count", func() bool {
		return s.evaluator.Config().Profile("another") != nil
	})
	if got := status(); got != http.StatusOK {
		t.Errorf("after a change of something else: status %d, recorded %q", got, s.last())
	}
	s.write(`{"evaluation": {"profiles": {"read": {}}}, "http": {"tokens": [{"token": "${STATIC}"}]}}`)
	eventually(t, "the issuer to be gone", func() bool { return status() == http.StatusUnauthorized })
}

// Clients find the issuers over the metadata of the server and of its profiles.
func TestResourceMetadata(t *testing.T) {
	s := openSignIn(t)
	web, err := s.server.HTTP(server.HTTPOptions{Env: s.env})
	checktest.OK(t, err)
	defer web.Close()
	const rest = `"bearer_methods_supported":["header"],"resource_name":"codemode"}`
	const all = `{"resource":"R","authorization_servers":["H","N"],"scopes_supported":["admin","read","write"],` + rest
	for path, want := range map[string]string{
		"": all, "/mcp": all,
		"/mcp/write": `{"resource":"R/write","authorization_servers":["H"],"scopes_supported":["write"],` + rest,
		"/mcp/other": "404 page not found",
		"/other":     "404 page not found",
		"/mcp/":      "404 page not found",
	} {
		w := httptest.NewRecorder()
		web.Metadata(w, httptest.NewRequest(http.MethodGet, oauth.MetadataPath+path, nil))
		want = strings.NewReplacer("R", resourceURL, "H", s.here.url, "N", s.next.url).Replace(want)
		if got := strings.TrimSpace(w.Body.String()); got != want {
			t.Errorf("%s:\n got %s\nwant %s", path, got, want)
		}
	}
}

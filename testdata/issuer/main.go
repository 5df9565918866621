// Issuer is the identity provider that the tests sign in at: the provider of zitadel/oidc with the store of its
// example, which knows two people, test-user@127.0.0.1 (id1) and test-user2 (id2), with the password verysecure.
//
// What is ours: tokens are for the resource that the client names (RFC 8707), which the library does not know; a claim
// with groups; keys that rotate at POST /test/rotate, and tokens that can be revoked. The clients jwt and opaque get
// such tokens; the account codemode with the secret introspection-secret may ask about them.
//
// The client page with the secret page-secret signs people in to the page of codemode, at the address of the flag
// -redirect. POST /test/idtoken?be=WORD makes the next ID token a wrong one, see forge. With -host localhost browsers
// take the provider for another site than a page at 127.0.0.1.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	host := flag.String("host", "127.0.0.1", "name of this machine in the address of the issuer")
	redirect := flag.String("redirect", "http://127.0.0.1/console/signin/callback", "of the client page")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	issuer := fmt.Sprintf("http://%s:%d", *host, listener.Addr().(*net.TCPAddr).Port)
	s := &store{resources: map[string]string{}, tokens: map[string]*token{}}
	s.Storage = storage.NewStorageWithClients(storage.NewUserStore(issuer+"/"), map[string]*storage.Client{
		"jwt":      storage.NativeClient("jwt", "http://127.0.0.1/callback"),
		"opaque":   storage.NativeClient("opaque", "http://127.0.0.1/callback"),
		"codemode": storage.WebClient("codemode", "introspection-secret"),
		"page":     storage.WebClient("page", "page-secret", *redirect),
	})
	s.rotate()
	provider := exampleop.SetupServer(issuer, s, nil, false)
	fmt.Println("issuer=" + issuer)
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/test/rotate":
			s.rotate()
			return
		case "/test/idtoken":
			s.mu.Lock()
			s.next = r.FormValue("be")
			s.mu.Unlock()
			return
		case "/oauth/token":
			answer := httptest.NewRecorder()
			provider.ServeHTTP(answer, r)
			body := s.forge(answer.Body.Bytes())
			for name, values := range answer.Result().Header {
				w.Header()[name] = values
			}
			w.Header().Del("Content-Length")
			w.WriteHeader(answer.Code)
			w.Write(body)
			return
		case "/auth": // clients of MCP ask for the scopes of the resource alone, and the library wants openid too
			q := r.URL.Query()
			r = r.WithContext(context.WithValue(r.Context(), resourceKey{}, q.Get("resource")))
			q.Set("scope", q.Get("scope")+" openid")
			r.URL.RawQuery = q.Encode()
		}
		provider.ServeHTTP(w, r)
	})))
}

type resourceKey struct{}

// A store is that of the example, with tokens of our own.
type store struct {
	*storage.Storage

	mu        sync.Mutex
	key       *key              // the only one: older ones are forgotten
	resources map[string]string // of authorization requests
	tokens    map[string]*token
	next      string // what is to be wrong with the next ID token
}

// forge makes the ID token in an answer of the token endpoint a wrong one, once, if a test wants that.
func (s *store) forge(body []byte) []byte {
	s.mu.Lock()
	be, signer := s.next, s.key
	s.next = ""
	s.mu.Unlock()
	var answer map[string]any
	if be == "" || json.Unmarshal(body, &answer) != nil || answer["id_token"] == nil {
		return body
	}
	parts := strings.Split(answer["id_token"].(string), ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		log.Fatal(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(payload, &claims); err != nil {
		log.Fatal(err)
	}
	past := time.Now().Add(-time.Hour).Unix()
	switch be {
	case "wrong_audience":
		claims["aud"], claims["azp"] = []string{"another-client"}, "another-client"
	case "another_party":
		claims["aud"], claims["azp"] = []string{"page", "another-client"}, "another-client"
	case "expired":
		claims["exp"], claims["iat"] = past, past-60
	case "wrong_issuer":
		claims["iss"] = "https://login.example.com"
	case "wrong_nonce":
		claims["nonce"] = "of-another-sign-in"
	case "no_nonce":
		delete(claims, "nonce")
	case "no_auth_time":
		delete(claims, "auth_time")
	case "old_auth_time":
		claims["auth_time"] = past
	case "other_acr":
		claims["acr"] = "0"
	case "no_acr":
		delete(claims, "acr")
	case "acr":
		claims["acr"] = "phr"
	case "bad_signature":
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			log.Fatal(err)
		}
		signer = &key{id: signer.id, private: private}
	}
	text, err := json.Marshal(claims)
	if err != nil {
		log.Fatal(err)
	}
	if be == "alg_none" {
		answer["id_token"] = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." +
			base64.RawURLEncoding.EncodeToString(text) + "."
	} else {
		answer["id_token"] = sign(signer, text)
	}
	body, err = json.Marshal(answer)
	if err != nil {
		log.Fatal(err)
	}
	return body
}

func sign(k *key, payload []byte) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256,
		Key: jose.JSONWebKey{Key: k.private, KeyID: k.id}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		log.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		log.Fatal(err)
	}
	return text
}

type token struct {
	subject, client  string
	audience, scopes []string
	expires          time.Time
}

// A key implements op.SigningKey and op.Key.
type key struct {
	id      string
	private *ecdsa.PrivateKey
	public  bool
}

func (k *key) ID() string                                  { return k.id }
func (k *key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (k *key) Algorithm() jose.SignatureAlgorithm          { return jose.ES256 }
func (k *key) Use() string                                 { return "sig" }
func (k *key) Key() any {
	if k.public {
		return &k.private.PublicKey
	}
	return k.private
}

func (s *store) rotate() {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = &key{id: rand.Text(), private: private}
}

func (s *store) SigningKey(context.Context) (op.SigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key, nil
}

func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}

func (s *store) KeySet(context.Context) ([]op.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []op.Key{&key{s.key.id, s.key.private, true}}, nil
}

// A client may ask for the scopes of codemode.
type client struct {
	op.Client
	kind op.AccessTokenType
}

func (c client) AccessTokenType() op.AccessTokenType  { return c.kind }
func (c client) IsScopeAllowed(scope string) bool     { return strings.HasPrefix(scope, "codemode:") }
func (c client) DevMode() bool                        { return true }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return true }

func (s *store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	kind := op.AccessTokenTypeBearer
	if id == "jwt" {
		kind = op.AccessTokenTypeJWT
	}
	return client{c, kind}, nil
}

// A request is for the resource that the client named.
type request struct {
	op.AuthRequest
	resource string
}

func (r request) GetAudience() []string {
	if r.resource == "" {
		return r.AuthRequest.GetAudience()
	}
	return []string{r.resource}
}

func (s *store) CreateAuthRequest(ctx context.Context, r *oidc.AuthRequest, user string) (op.AuthRequest, error) {
	made, err := s.Storage.CreateAuthRequest(ctx, r, user)
	if err != nil {
		return nil, err
	}
	resource, _ := ctx.Value(resourceKey{}).(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources[made.GetID()] = resource
	return request{made, resource}, nil
}

func (s *store) wrap(r op.AuthRequest, err error) (op.AuthRequest, error) {
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return request{r, s.resources[r.GetID()]}, nil
}

func (s *store) AuthRequestByID(ctx context.Context, id string) (op.AuthRequest, error) {
	return s.wrap(s.Storage.AuthRequestByID(ctx, id))
}

func (s *store) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	return s.wrap(s.Storage.AuthRequestByCode(ctx, code))
}

func (s *store) CreateAccessToken(_ context.Context, r op.TokenRequest) (string, time.Time, error) {
	t := &token{subject: r.GetSubject(), audience: r.GetAudience(), scopes: r.GetScopes(),
		expires: time.Now().Add(5 * time.Minute)}
	if r, ok := r.(op.AuthRequest); ok {
		t.client = r.GetClientID()
	}
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[id] = t
	return id, t.expires, nil
}

func (s *store) GetPrivateClaimsFromScopes(_ context.Context, user, _ string, scopes []string) (map[string]any, error) {
	return map[string]any{"groups": groups(user), "scope": strings.Join(scopes, " ")}, nil
}

// SetUserinfoFromRequest writes the groups into ID tokens too.
func (s *store) SetUserinfoFromRequest(
	ctx context.Context, info *oidc.UserInfo, r op.IDTokenRequest, scopes []string,
) error {
	info.AppendClaims("groups", groups(r.GetSubject()))
	return s.Storage.SetUserinfoFromRequest(ctx, info, r, scopes)
}

func groups(user string) []string {
	if user == "id1" {
		return []string{"developers"}
	}
	return []string{"guests"}
}

func (s *store) SetIntrospectionFromToken(_ context.Context, r *oidc.IntrospectionResponse, id, _, asks string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens[id]
	if t == nil || asks != "codemode" || time.Now().After(t.expires) {
		return errors.New("the token is not active")
	}
	r.Subject, r.Audience, r.Scope, r.ClientID = t.subject, slices.Clone(t.audience), t.scopes, t.client
	r.Expiration = oidc.FromTime(t.expires)
	r.Claims = map[string]any{"groups": groups(t.subject)}
	return nil
}

func (s *store) RevokeToken(_ context.Context, id, _, _ string) *oidc.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, id)
	return nil
}

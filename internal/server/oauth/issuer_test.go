package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/testwait"
)

const here = "https://codemode.example.com/mcp"

// A provider is an issuer that has one key at a time and counts how often it is read.
type provider struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	key   *ecdsa.PrivateKey
	id    string
	down  bool
	asked map[string]int // by path
	said  map[string]any // about every opaque token
}

func newProvider(t *testing.T) *provider {
	p := &provider{t: t, asked: map[string]int{}}
	p.rotate("one")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked[r.URL.Path]++
		var answer any
		switch {
		case p.down:
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			answer = map[string]any{"issuer": p.url, "jwks_uri": p.url + "/keys",
				"introspection_endpoint": p.url + "/introspect",
				"authorization_endpoint": p.url + "/auth", "token_endpoint": p.url + "/token",
				"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"}}
		case r.URL.Path == "/keys":
			answer = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &p.key.PublicKey, KeyID: p.id}}}
		case r.URL.Path == "/introspect":
			answer = p.said
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func (p *provider) rotate(id string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	checktest.OK(p.t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.id = key, id
}

func (p *provider) set(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *provider) times(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

func (p *provider) token(id string) string {
	return p.signed(id, fmt.Sprintf(`"exp": %d`, time.Now().Add(24*time.Hour).Unix()))
}

// signed is a token with more claims.
func (p *provider) signed(id, more string) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: p.key},
		&jose.SignerOptions{ExtraHeaders: map[jose.HeaderKey]any{"kid": id}})
	checktest.OK(p.t, err)
	payload := fmt.Sprintf(`{"iss": %q, "sub": "anna", "aud": [%q], "scope": "x", %s}`, p.url, here, more)
	signed, err := signer.Sign([]byte(payload))
	checktest.OK(p.t, err)
	text, err := signed.CompactSerialize()
	checktest.OK(p.t, err)
	return text
}

// A clock goes when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func newResource(t *testing.T, p *provider) (*Resource, *clock) {
	r := New(&process.OAuth{Resource: here, Issuers: []process.Issuer{{Name: "acme", URL: p.url,
		Claims: process.Claims{Principal: "sub"}, Profiles: []process.ProfileAccess{{Profile: "p", Scope: "x"}},
		Introspection: &process.Introspection{Client: "c", Secret: "s"}}}}, nil)
	t.Cleanup(r.Close)
	c := &clock{now: time.Now()}
	r.now = c.time
	return r, c
}

// state returns how a token ends: with the principal that it has, or with the state of its refusal.
func state(t *testing.T, r *Resource, token string) string {
	who, err := r.Verify(t.Context(), token, "")
	if no, refused := errors.AsType[*Refusal](err); refused {
		return no.State
	}
	checktest.OK(t, err)
	return who.Principal
}

// A key that the issuer withdrew stops counting within about a minute, also if nobody brings a token with the next one.
func TestWithdrawnKeys(t *testing.T) {
	p := newProvider(t)
	r, c := newResource(t, p)
	token := p.token("one")
	if got := state(t, r, token); got != "acme:anna" {
		t.Fatal(got)
	}
	p.rotate("two")
	c.pass(refreshAfter)
	if !testwait.Holds(func() bool { return state(t, r, token) == "bad_signature" }) {
		t.Error("the withdrawn key still counts")
	}
}

// While the issuer is away its keys count for a while, and then no more.
func TestKeysOfAnIssuerThatIsAway(t *testing.T) {
	p := newProvider(t)
	r, c := newResource(t, p)
	token := p.token("one")
	if got := state(t, r, token); got != "acme:anna" {
		t.Fatal(got)
	}
	p.set(true)
	for range 9 {
		c.pass(keysLife / 10)
		if got := state(t, r, token); got != "acme:anna" {
			t.Fatal(got)
		}
	}
	c.pass(keysLife / 10)
	if got := state(t, r, token); got != "issuer_unreachable" {
		t.Error("after a long time:", got)
	}
	p.set(false)
	c.pass(refreshEvery)
	if got := state(t, r, token); got != "acme:anna" {
		t.Error("when it is back:", got)
	}
}

// Tokens follow the clock, with half a minute for a clock that is off.
func TestTheClockMovesByAnHour(t *testing.T) {
	const ago, ahead = 30 * time.Minute, 30 * time.Minute
	for _, test := range []struct {
		why  string
		move time.Duration
		want string
	}{
		{"not at all", 0, "acme:anna"},
		{"an hour forward, beyond its end", time.Hour, "expired"},
		{"forward to its end", ahead + 20*time.Second, "acme:anna"},
		{"and past that", ahead + 40*time.Second, "expired"},
		{"an hour back, to before it was issued", -time.Hour, "not_yet_valid"},
		{"back to a moment before that", -ago - 20*time.Second, "acme:anna"},
		{"and before that", -ago - 40*time.Second, "not_yet_valid"},
	} {
		t.Run(test.why, func(t *testing.T) {
			p := newProvider(t)
			r, clock := newResource(t, p)
			now := clock.time()
			token := p.signed("one", fmt.Sprintf(`"iat": %d, "exp": %d`, now.Add(-ago).Unix(), now.Add(ahead).Unix()))
			if got := state(t, r, token); got != "acme:anna" {
				t.Fatalf("before: %s", got)
			}
			clock.pass(test.move)
			if got := state(t, r, token); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			clock.pass(-test.move)
			if got := state(t, r, token); got != "acme:anna" {
				t.Errorf("when the clock is right again: %s", got)
			}
		})
	}
}

// A flood of tokens with unknown keys does not become a flood of requests to the issuer.
func TestUnknownKeysAskSeldom(t *testing.T) {
	p := newProvider(t)
	r, c := newResource(t, p)
	for i := range 200 {
		if got := state(t, r, p.token(fmt.Sprint("unknown", i))); got != "bad_signature" {
			t.Fatal(got)
		}
	}
	if n := p.times("/keys"); n > refreshBurst {
		t.Errorf("200 tokens read the keys %d times", n)
	}
	if got := state(t, r, p.token("one")); got != "acme:anna" {
		t.Error("a good token after them:", got)
	}
	p.rotate("two")
	c.pass(refreshEvery)
	if got := state(t, r, p.token("two")); got != "acme:anna" {
		t.Error("the next key after them:", got)
	}
}

// The issuer is asked about an opaque token once in a while, and its no counts at once after that.
func TestIntrospectionIsAskedAgain(t *testing.T) {
	p := newProvider(t)
	r, c := newResource(t, p)
	p.said = map[string]any{"active": true, "sub": "anna", "aud": here, "scope": "x"}
	for range 50 {
		if got := state(t, r, "opaque"); got != "acme:anna" {
			t.Fatal(got)
		}
	}
	if n := p.times("/introspect"); n != 1 {
		t.Errorf("50 requests asked %d times", n)
	}
	p.mu.Lock()
	p.said = map[string]any{"active": false}
	p.mu.Unlock()
	c.pass(answerLife)
	if got := state(t, r, "opaque"); got != "inactive" {
		t.Error("a revoked token:", got)
	}
	p.set(true)
	if got := state(t, r, "opaque"); got != "issuer_unreachable" {
		t.Error("without the issuer:", got)
	}
}

// What a header may hold stays in it: no refusal and no profile brings a line or a quote into WWW-Authenticate.
func TestChallengesAreOneLine(t *testing.T) {
	p := newProvider(t)
	r, _ := newResource(t, p)
	for _, profile := range []string{"", "p", "x\"y", "a\r\nSet-Cookie: b", "../p"} {
		_, err := r.Verify(t.Context(), "a.b\r\n.c", profile)
		no, _ := errors.AsType[*Refusal](err)
		header := r.Challenge(profile, no)
		if strings.ContainsAny(header, "\r\n") || strings.Count(header, `"`)%2 != 0 || strings.Contains(header, "x\"y") {
			t.Errorf("%q: %s", profile, header)
		}
	}
}

// FuzzVerify: no token brings the process down, and none that the issuer did not sign gets in.
func FuzzVerify(f *testing.F) {
	for _, seed := range []string{"", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJSUzI1NiJ9.e30.AA", "....", "{}"} {
		f.Add(seed)
	}
	r := New(&process.OAuth{Resource: here, Issuers: []process.Issuer{{Name: "acme", URL: "https://127.0.0.1:1",
		Claims: process.Claims{Principal: "sub"}, Profiles: []process.ProfileAccess{{Profile: "p", Scope: "x"}}}}}, nil)
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := r.Verify(t.Context(), token, "p"); err == nil {
			t.Errorf("%q gets in", token)
		}
	})
}

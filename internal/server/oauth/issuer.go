package oauth

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/time/rate"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/identity"
)

const (
	// issuerWait bounds one request to an issuer.
	issuerWait = 5 * time.Second
	// refreshAfter is the age of keys at which the issuer is asked for newer ones, while the old ones still count. It
	// bounds how long a withdrawn key counts.
	refreshAfter = time.Minute
	// keysLife is how long keys count while the issuer cannot be reached.
	keysLife = 10 * time.Minute
	// refreshEvery and refreshBurst bound how often tokens with unknown keys make us ask an issuer.
	refreshEvery, refreshBurst = 10 * time.Second, 5
	// leastRSA is the size of the smallest RSA key that counts, in bits (RFC 7518, section 3.3).
	leastRSA = 2048
)

// An issuer is one authorization server.
type issuer struct {
	process.Issuer
	now        func() time.Time
	refreshing *sync.WaitGroup // of all issuers
	ctx        context.Context // ends with the resource
	client     *http.Client
	log        *slog.Logger
	limit      *rate.Limiter // of refreshes
	complain   rate.Sometimes

	mu        sync.Mutex
	published *published    // nil before the first answer
	err       error         // of the last refresh
	running   chan struct{} // closed when the refresh in progress ends; nil if there is none
	closed    bool          // no refresh begins any more

	answers answers // of introspection
}

// published is what an issuer said about itself. It never changes.
type published struct {
	keys          []jose.JSONWebKey
	introspection string // the address; "" if it has none
	at            time.Time
}

func newIssuer(ctx context.Context, of process.Issuer, client *http.Client, log *slog.Logger) *issuer {
	return &issuer{Issuer: of, ctx: ctx, client: client, log: log.With("issuer", of.Name),
		limit:    rate.NewLimiter(rate.Every(refreshEvery), refreshBurst),
		complain: rate.Sometimes{First: 1, Interval: refreshEvery}, answers: newAnswers()}
}

// current returns what the issuer published, from memory as long as that is new enough. Another than not is wanted, nil
// wants any; if the issuer has not published another one since, current returns not.
func (i *issuer) current(ctx context.Context, not *published) (*published, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	have := i.published
	outdated := have == nil || now.Sub(have.at) >= keysLife
	wait := outdated || have == not
	due := wait || now.Sub(have.at) >= refreshAfter
	if due && i.running == nil && !i.closed && i.limit.AllowN(now, 1) {
		i.refresh()
	}
	if running := i.running; wait && running != nil {
		i.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
		}
		i.mu.Lock()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		have = i.published
	}
	if have == nil || i.now().Sub(have.at) >= keysLife {
		return nil, cmp.Or(i.err, errors.New("the issuer was asked a moment ago"))
	}
	return have, nil
}

// refresh asks the issuer in the background. The caller holds mu.
func (i *issuer) refresh() {
	done := make(chan struct{})
	i.running = done
	i.refreshing.Go(func() {
		ctx, cancel := context.WithTimeout(i.ctx, 2*issuerWait)
		defer cancel()
		p, err := i.fetch(ctx)
		if err != nil && i.ctx.Err() == nil {
			i.log.Warn("the issuer of access tokens cannot be read; it is tried again with the next token", "error", err)
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.err = err; err == nil {
			i.published = p
		}
		i.running = nil
		close(done)
	})
}

// fetch reads the metadata and the keys of the issuer.
func (i *issuer) fetch(ctx context.Context) (*published, error) {
	p := &published{at: i.now()}
	keys, err := i.discover(ctx, p)
	if err != nil {
		return nil, err
	}
	if i.Introspection != nil && i.Introspection.URL != "" {
		p.introspection = i.Introspection.URL
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := i.get(ctx, keys, &set); err != nil {
		return nil, fmt.Errorf("reading its keys: %w", err)
	}
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(one, &key) == nil && usable(&key) { // others are for other purposes
			p.keys = append(p.keys, key)
		}
	}
	return p, nil
}

// usable reports whether a key may verify tokens. The secret keys and the key of a symmetric algorithm may not.
func usable(key *jose.JSONWebKey) bool {
	if key.Use != "" && key.Use != "sig" || !key.Valid() {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= leastRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// discover finds the address of the keys: by OpenID Connect Discovery, else by RFC 8414.
func (i *issuer) discover(ctx context.Context, p *published) (keys string, err error) {
	var said struct {
		Keys          string `json:"jwks_uri"`
		Introspection string `json:"introspection_endpoint"`
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.URL)
	if err == nil {
		err = provider.Claims(&said)
	} else {
		m, other := auth.GetAuthServerMetadata(ctx, i.URL, i.client)
		switch {
		case other != nil:
			return "", errors.Join(err, other)
		case m == nil:
			return "", err
		case m.Issuer != i.URL:
			return "", fmt.Errorf("its metadata is that of %.200q", m.Issuer)
		}
		said.Keys, said.Introspection, err = m.JWKSURI, m.IntrospectionEndpoint, nil
	}
	if err == nil && said.Keys == "" {
		err = errors.New("its metadata names no keys (jwks_uri)")
	}
	p.introspection = said.Introspection
	return said.Keys, err
}

func (i *issuer) get(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	res, err := i.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", res.Status)
	}
	return json.Unmarshal(body, into)
}

// answers are what an issuer said about opaque tokens. They are found by digests of the tokens.
type answers struct {
	turn chan struct{}

	mu  sync.Mutex
	all map[[sha256.Size]byte]answer
}

type answer struct {
	said  identity.Claims
	until time.Time
}

func newAnswers() answers {
	return answers{turn: make(chan struct{}, asksAtOnce), all: map[[sha256.Size]byte]answer{}}
}

func (a *answers) find(token [sha256.Size]byte, now time.Time) (identity.Claims, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.all[token]
	return known.said, ok && now.Before(known.until)
}

func (a *answers) keep(token [sha256.Size]byte, said identity.Claims, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.all) >= maxAnswers {
		maps.DeleteFunc(a.all, func(_ [sha256.Size]byte, one answer) bool { return !now.Before(one.until) })
	}
	if len(a.all) < maxAnswers {
		a.all[token] = answer{said, now.Add(answerLife)}
	}
}

const (
	// answerLife is how long an answer of an issuer counts: the time until a revocation is noticed.
	answerLife = 15 * time.Second
	// maxAnswers bounds how many answers are in memory.
	maxAnswers = 10_000
	// asksAtOnce bounds the questions to an issuer that are open, so that a flood of wrong tokens does not become one.
	asksAtOnce = 16
)

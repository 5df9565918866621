package oauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/codemode-project/codemode/internal/identity"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// introspect asks the issuer about an opaque token (RFC 7662). Only what it says about active tokens is kept. The error
// is a [*Refusal].
func (i *issuer) introspect(ctx context.Context, token string) (identity.Claims, error) {
	digest := sha256.Sum256([]byte(token))
	if said, ok := i.answers.find(digest, i.now()); ok {
		return said, nil
	}
	ctx, cancel := context.WithTimeout(ctx, issuerWait)
	defer cancel()
	select {
	case i.answers.turn <- struct{}{}:
	case <-ctx.Done():
		return identity.Claims{}, unreachable()
	}
	defer func() { <-i.answers.turn }()
	if said, ok := i.answers.find(digest, i.now()); ok { // another request asked meanwhile
		return said, nil
	}
	asked := i.now()
	said, err := i.ask(ctx, token)
	if err != nil {
		i.complain.Do(func() { i.log.Warn("asking the issuer about a token failed", "error", err) })
		return identity.Claims{}, unreachable()
	}
	switch kind := said.Named("token_type"); {
	case said.Claim("active").Kind() != strictjson.True:
		return identity.Claims{}, invalid("inactive", "the token is not active")
	case kind != "" && !strings.EqualFold(kind, "bearer") && !strings.EqualFold(kind, "access_token"):
		return identity.Claims{}, invalid("wrong_type", "the token is not a bearer token")
	case said.Has("iss") && said.Named("iss") != i.URL:
		return identity.Claims{}, invalid("wrong_issuer", "the issuer of the token is not known here")
	}
	i.answers.keep(digest, said, asked)
	return said, nil
}

// ask sends a token to the issuer's introspection endpoint, and to nobody else.
func (i *issuer) ask(ctx context.Context, token string) (identity.Claims, error) {
	address := i.Introspection.URL
	if address == "" {
		p, err := i.current(ctx, nil)
		if err != nil {
			return identity.Claims{}, err
		}
		if address = p.introspection; address == "" {
			return identity.Claims{}, errors.New("its metadata names no introspection_endpoint: set introspection.url")
		}
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return identity.Claims{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.SetBasicAuth(url.QueryEscape(i.Introspection.Client), url.QueryEscape(i.Introspection.Secret)) // RFC 6749, 2.3.1
	res, err := i.client.Do(r)
	if err != nil {
		return identity.Claims{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return identity.Claims{}, err
	}
	if res.StatusCode != http.StatusOK {
		return identity.Claims{}, fmt.Errorf("the answer is %s", res.Status)
	}
	said, ok := identity.Parse(body)
	if !ok {
		return identity.Claims{}, errors.New("the answer is not a JSON object")
	}
	return said, nil
}

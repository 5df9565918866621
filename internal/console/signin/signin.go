// Package signin signs people in to the page at an OpenID Connect provider, by the authorization code flow with PKCE.
//
//	p := signin.New(settings, secret, log)
//	address, binding, err := p.Begin(ctx, redirect, "/history", "") // the browser goes there, and keeps binding
//	who, err := p.Finish(ctx, redirect, query, bindings)            // when it comes back; the error is a *Refusal
//
// A person is let in only if the provider vouches for them at this moment, in an ID token for this page and for the
// sign-in that this browser began. A sign-in ends with its first callback, and ten minutes after its beginning in any
// case. The package stores and logs no token. Package console makes the session, and says which role may do what.
package signin

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/identity"
)

const (
	// providerWait bounds one request to the provider; finishWait, all requests of one callback.
	providerWait, finishWait = 5 * time.Second, 15 * time.Second
	// foundLife is how long the metadata and the keys of the provider count: a withdrawn key counts so long at most.
	foundLife = time.Minute
	// failedLife is how long the provider is not asked again after it could not be reached.
	failedLife = 2 * time.Second
	// maxToken bounds an ID token, in bytes.
	maxToken = 64 << 10
	// maxShownGroups bounds how many groups a refusal names.
	maxShownGroups = 20
)

// A Provider signs people in. Many goroutines may call its methods.
type Provider struct {
	settings *process.SignIn
	secret   string
	key      []byte // of this process
	client   *http.Client
	log      *slog.Logger
	now      func() time.Time

	mu     sync.Mutex
	found  *found
	failed time.Time // when the provider could not be reached
	err    error     // why
	used   useList
}

// found is what the provider said about itself.
type found struct {
	*oidc.Provider
	endpoint oauth2.Endpoint
	at       time.Time
}

// An Identity is a person who has signed in.
type Identity struct {
	Principal string // NAME:CLAIM, with the name of the provider in the configuration
	Subject   string // whom the provider means (sub), which never changes; "" if it does not say
	Roles     Roles  // at least one
	To        string // the page to open, as Begin got it
	// Proves is what a new sign-in proves, as Begin got it: the provider has let the person prove anew who they are. ""
	// is nothing.
	Proves string
}

// A Refusal is the reason why nobody is signed in. Its text is for the person; it may contain words of the provider.
type Refusal struct {
	Status    int    // of HTTP
	State     string // for the record
	Why       string
	Principal string // if the provider vouched for somebody
	Err       error  // for the log; may be nil
}

func (r *Refusal) Error() string { return r.Why }

func (r *Refusal) Unwrap() error { return r.Err }

// Cause is the reason of a refusal for the operator, which may say more than what the person gets.
func Cause(err error) error {
	if no, ok := errors.AsType[*Refusal](err); ok && no.Err != nil {
		return no.Err
	}
	return err
}

func refuse(state, why string, err error) *Refusal {
	return &Refusal{Status: http.StatusForbidden, State: state, Why: why, Err: err}
}

// New makes a Provider from settings that package config has checked. It asks the provider nothing yet. log may be nil.
func New(s *process.SignIn, secret string, log *slog.Logger) *Provider {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return &Provider{settings: s, secret: secret, key: key, client: identity.Client(providerWait), log: log, now: time.Now}
}

// Name is the name of the provider in the configuration.
func (p *Provider) Name() string { return p.settings.Name }

// Begin returns the address at the provider where a person signs in, and the binding of the sign-in, which only the
// person's browser may know. redirect is the address of this page that the provider sends the browser back to; to is
// the page to open then. If the sign-in proves something, the provider has to let the person prove anew who they are,
// whatever session they have there, and by the means that the configuration names. The error is a [*Refusal].
func (p *Provider) Begin(ctx context.Context, redirect, to, proves string) (address, binding string, err error) {
	of, err := p.discover(ctx)
	if err != nil {
		return "", "", p.unreachable(err)
	}
	binding = newBinding(to, proves, p.now())
	options := []oauth2.AuthCodeOption{oidc.Nonce(p.derive("nonce", binding)),
		oauth2.S256ChallengeOption(p.derive("verifier", binding))}
	if proves != "" { // OpenID Connect Core 1.0, section 3.1.2.1; with max_age the ID token must have auth_time
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
		if p.settings.ACR != "" {
			options = append(options, oauth2.SetAuthURLParam("acr_values", p.settings.ACR))
		}
	}
	return p.config(of, redirect).AuthCodeURL(p.derive("state", binding), options...), binding, nil
}

func (p *Provider) unreachable(err error) *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, State: "issuer_unreachable", Err: err,
		Why: fmt.Sprintf("the identity provider %q cannot be reached now: try again later", p.settings.Name)}
}

func (p *Provider) config(of *found, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.settings.Client, ClientSecret: p.secret, Endpoint: of.endpoint, RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.settings.Scopes...),
	}
}

// discover returns what the provider says about itself, from memory as long as that is new enough.
func (p *Provider) discover(ctx context.Context) (*found, error) {
	p.mu.Lock()
	defer p.mu.Unlock() // one request for all who wait
	now := p.now()
	switch {
	case p.found != nil && now.Sub(p.found.at) < foundLife:
		return p.found, nil
	case p.err != nil && now.Sub(p.failed) < failedLife:
		return nil, p.err
	}
	of, err := p.ask(context.WithoutCancel(ctx)) // bounded by the client; others may wait for it
	if p.err = err; err != nil {
		p.failed = p.now()
		return nil, err
	}
	p.found = of
	return of, nil
}

func (p *Provider) ask(ctx context.Context) (*found, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.settings.Issuer)
	if err != nil {
		return nil, err
	}
	var said struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&said); err != nil {
		return nil, err
	}
	of := &found{Provider: provider, endpoint: provider.Endpoint(), at: p.now()}
	sent, err := url.Parse(of.endpoint.AuthURL)
	if err != nil || sent.Host == "" || !identity.Private(sent) {
		return nil, errors.New("its metadata names no address with TLS for signing in")
	}
	of.endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.secret == "" || len(said.Methods) > 0 && !slices.Contains(said.Methods, "client_secret_basic") {
		of.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return of, nil
}

// Finish ends a sign-in with the query that a browser came back with, and the bindings in its cookies. The error is a
// [*Refusal].
func (p *Provider) Finish(
	ctx context.Context, redirect string, query url.Values, bindings []string,
) (*Identity, error) {
	one := func(name string) string {
		if len(query[name]) != 1 {
			return ""
		}
		return query.Get(name)
	}
	state := one("state")
	binding := p.of(state, bindings)
	if binding == "" {
		return nil, refuse("wrong_state",
			"this browser has not begun this sign-in, or has begun another one since: begin again", nil)
	}
	began, to, proves := unbind(binding)
	if p.now().Sub(began) >= flowLife {
		return nil, refuse("late_sign_in", "this sign-in took longer than ten minutes: begin again", nil)
	}
	p.mu.Lock()
	first := p.used.use(state)
	p.mu.Unlock()
	if !first {
		return nil, refuse("used_state", "this sign-in was used already: begin again", nil)
	}
	if iss, named := query["iss"]; named && !slices.Equal(iss, []string{p.settings.Issuer}) { // RFC 9207
		return nil, refuse("wrong_issuer", "another provider has answered: begin again", nil)
	}
	if query.Has("error") {
		why := fmt.Sprintf("the identity provider refused: %s", cmp.Or(one("error"), "it does not say why"))
		if text := one("error_description"); text != "" {
			why += ": " + text
		}
		return nil, refuse("provider_error", why, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, finishWait)
	defer cancel()
	said, err := p.redeem(ctx, redirect, one("code"), binding)
	if err != nil {
		return nil, err
	}
	who, err := p.identify(said)
	if err != nil {
		return nil, err
	}
	if proves != "" {
		if err := p.authenticatedSince(said, began); err != nil {
			err.Principal = who.Principal
			return nil, err
		}
	}
	who.To, who.Proves = to, proves
	return who, nil
}

// redeem exchanges the code of a callback for an ID token, and returns the claims of the token.
func (p *Provider) redeem(ctx context.Context, redirect, code, binding string) (identity.Claims, error) {
	none := identity.Claims{}
	if code == "" {
		return none, refuse("malformed_callback", "the identity provider sent no code: begin again", nil)
	}
	of, err := p.discover(ctx)
	if err != nil {
		return none, p.unreachable(err)
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := p.config(of, redirect).Exchange(ctx, code, oauth2.VerifierOption(p.derive("verifier", binding)))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return none, refuse("code_refused", "the identity provider does not accept the sign-in: "+
			cmp.Or(refused.ErrorCode, "it does not say why"), errors.New(cmp.Or(refused.ErrorDescription, refused.ErrorCode)))
	}
	if err != nil {
		return none, p.unreachable(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" || len(raw) > maxToken {
		return none, refuse("no_id_token", "the identity provider sent no ID token", nil)
	}
	return p.verify(ctx, of, raw, p.derive("nonce", binding))
}

// verify checks an ID token: its signature, its issuer, for whom it is, when, and for which sign-in.
func (p *Provider) verify(ctx context.Context, of *found, raw, nonce string) (identity.Claims, error) {
	none := identity.Claims{}
	strict := oidc.Config{ClientID: p.settings.Client, Now: p.now}
	for _, a := range identity.Algorithms() {
		strict.SupportedSigningAlgs = append(strict.SupportedSigningAlgs, string(a))
	}
	token, err := of.VerifierContext(ctx, &strict).Verify(ctx, raw)
	if err != nil {
		return none, p.whyNot(ctx, of, strict, raw, err)
	}
	var payload rawJSON
	if err := token.Claims(&payload); err != nil {
		return none, refuse("malformed_token", "the ID token cannot be read", err)
	}
	said, ok := identity.Parse(payload)
	switch party := said.Named("azp"); {
	case !ok:
		return none, refuse("malformed_token", "the claims of the ID token are not a JSON object", nil)
	case !hmac.Equal([]byte(token.Nonce), []byte(nonce)) || said.Named("nonce") != token.Nonce:
		return none, refuse("wrong_nonce", "the ID token is of another sign-in: begin again", nil)
	case party != "" && party != p.settings.Client, party == "" && (said.Has("azp") || len(token.Audience) != 1):
		return none, refuse("wrong_audience", "the ID token was issued to another client", nil)
	}
	return said, nil
}

// authenticatedSince refuses a person who has not proven anew who they are since a sign-in began, or has done so by
// other means than the configuration wants.
func (p *Provider) authenticatedSince(said identity.Claims, began time.Time) *Refusal {
	at, ok, err := said.Moment("auth_time")
	switch {
	case err != nil, !ok:
		return refuse("no_auth_time", "the identity provider does not say when you have signed in (claim auth_time), so "+
			"this sign-in proves nothing new: whoever looks after the provider can have it send the claim", err)
	case at.Before(began.Add(-freshSkew)), at.After(p.now().Add(freshSkew)):
		return refuse("not_fresh", "the identity provider did not have you sign in again: sign out there, and begin again",
			nil)
	case p.settings.ACR != "" && said.Named("acr") != p.settings.ACR:
		return refuse("wrong_acr", fmt.Sprintf("you did not sign in as a call of critical risk needs it (acr %q): the "+
			"identity provider says %q", p.settings.ACR, said.Named("acr")), nil)
	}
	return nil
}

// rawJSON takes a text of JSON as it is.
type rawJSON []byte

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *rawJSON) UnmarshalJSON(text []byte) error {
	*r = slices.Clone(text)
	return nil
}

// whyNot explains why an ID token does not count. Whatever it finds, the token was refused.
func (p *Provider) whyNot(ctx context.Context, of *found, strict oidc.Config, raw string, err error) *Refusal {
	if _, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
		return refuse("expired", "the ID token has expired: the clocks of this machine and of the provider differ", err)
	}
	_, parsed := jose.ParseSignedCompact(raw, identity.Algorithms())
	if _, wrong := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](parsed); wrong {
		return refuse("bad_algorithm", "the signature of the ID token has an algorithm that is not accepted", err)
	}
	if parsed != nil {
		return refuse("malformed_token", "the ID token is not a signed JWT", err)
	}
	strict.SkipClientIDCheck, strict.SkipExpiryCheck, strict.SkipIssuerCheck = true, true, true
	token, unsigned := of.VerifierContext(ctx, &strict).Verify(ctx, raw)
	switch {
	case unsigned != nil:
		return refuse("bad_signature", "no key of the provider has signed the ID token", err)
	case token.Issuer != p.settings.Issuer:
		return refuse("wrong_issuer", "the ID token is of another issuer", err)
	case !slices.Contains(token.Audience, p.settings.Client):
		return refuse("wrong_audience", "the ID token was issued for another client", err)
	}
	return refuse("malformed_token", "the ID token is not valid", err)
}

// identify reads who has signed in, and what they may do.
func (p *Provider) identify(said identity.Claims) (*Identity, error) {
	principal, err := said.Principal(p.settings.Name, p.settings.Principal)
	if err != nil {
		return nil, refuse("no_principal", fmt.Sprintf("%v (claim %q)", err, p.settings.Principal), nil)
	}
	groups := said.Texts(p.settings.Groups)
	who := &Identity{Principal: principal, Subject: said.Named("sub"), Roles: rolesOf(p.settings, groups)}
	if who.Roles == 0 {
		no := refuse("no_role", fmt.Sprintf("you are %s, and %s. The page needs one that gives a role: approver, auditor "+
			"or admin. Ask whoever runs codemode, or whoever manages your account", principal,
			shownGroups(groups, p.settings.Groups)), nil)
		no.Principal = principal
		return nil, no
	}
	return who, nil
}

// shownGroups says in which groups somebody is.
func shownGroups(groups []string, claim string) string {
	if len(groups) == 0 {
		return fmt.Sprintf("the provider names no groups of your account (claim %q)", claim)
	}
	more := ""
	if n := len(groups) - maxShownGroups; n > 0 {
		groups, more = groups[:maxShownGroups], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("none of your groups has a role here: %s%s (claim %q)", strings.Join(groups, ", "), more, claim)
}

// derive makes one of the secrets of a sign-in: 43 letters, digits, - and _.
func (p *Provider) derive(purpose, binding string) string {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(purpose + " " + binding))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// of returns the binding among those of a browser that a state belongs to; "" is none.
func (p *Provider) of(state string, bindings []string) (found string) {
	for _, b := range bindings {
		if b != "" && hmac.Equal([]byte(p.derive("state", b)), []byte(state)) {
			found = b
		}
	}
	return found
}

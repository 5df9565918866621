package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/codemode-project/codemode/internal/identity"
)

// leeway is how far the clock of an issuer may be off.
const leeway = 30 * time.Second

// isJWT reports whether a token has the form of a signed JWT. Others are opaque.
func isJWT(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	var has struct {
		Algorithm *json.RawMessage `json:"alg"`
	}
	return err == nil && json.Unmarshal(header, &has) == nil && has.Algorithm != nil
}

// verifyJWT checks the signature of a JWT with the keys of its issuer.
func (r *Resource) verifyJWT(ctx context.Context, token string) (*issuer, identity.Claims, error) {
	refuse := func(no *Refusal) (*issuer, identity.Claims, error) { return nil, identity.Claims{}, no }
	jws, err := jose.ParseSignedCompact(token, identity.Algorithms())
	if _, wrong := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); wrong {
		return refuse(invalid("bad_algorithm", "the signature of the token has an algorithm that is not accepted"))
	}
	if err != nil {
		return refuse(invalid("malformed_token", "the token is not a signed JWT"))
	}
	if !isAccessToken(jws) {
		return refuse(invalid("wrong_type", "the token is not an access token"))
	}
	unproven, ok := identity.Parse(jws.UnsafePayloadWithoutVerification())
	if !ok {
		return refuse(invalid("malformed_token", "the claims of the token are not a JSON object"))
	}
	of := r.issuers[unproven.Named("iss")] // the whole text must be equal
	if of == nil {
		return refuse(invalid("wrong_issuer", "the issuer of the token is not known here"))
	}
	if !unproven.Has("exp") {
		return refuse(invalid("malformed_token", "the token does not say when it expires"))
	}
	keys := &keySet{of: of}
	var names []string
	for _, a := range identity.Algorithms() {
		names = append(names, string(a))
	}
	verified, err := oidc.NewVerifier(of.URL, keys, &oidc.Config{
		SupportedSigningAlgs: names,
		SkipClientIDCheck:    true, // accept checks the audience and the times
		SkipExpiryCheck:      true,
	}).Verify(ctx, token)
	if keys.refusal != nil {
		return refuse(keys.refusal)
	}
	var payload json.RawMessage
	if err == nil {
		err = verified.Claims(&payload)
	}
	said, ok := identity.Parse(payload)
	if err != nil || !ok {
		return refuse(invalid("malformed_token", "the claims of the token are not those of a token"))
	}
	return of, said, nil
}

// isAccessToken checks the type of a JWT. Issuers that do not follow RFC 9068 write JWT or nothing; other types, such
// as logout+jwt, are never meant for us.
func isAccessToken(jws *jose.JSONWebSignature) bool {
	typ, present := jws.Signatures[0].Header.ExtraHeaders[jose.HeaderType]
	if !present {
		return true
	}
	text, _ := typ.(string)
	return slices.Contains([]string{"at+jwt", "application/at+jwt", "jwt"}, strings.ToLower(text))
}

// A keySet verifies one token with the keys of its issuer. It implements [oidc.KeySet], and keeps why it failed.
type keySet struct {
	of      *issuer
	refusal *Refusal
}

var errRefused = errors.New("refused")

// VerifySignature tries the keys that the issuer published. When none fits, it asks the issuer for newer ones, as long
// as that does not happen too often.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	jws, err := jose.ParseSignedCompact(token, identity.Algorithms())
	if err != nil {
		k.refusal = invalid("malformed_token", "the token is not a signed JWT")
		return nil, errRefused
	}
	var tried *published
	for range 2 {
		now, err := k.of.current(ctx, tried)
		if err != nil {
			k.refusal = unreachable()
			return nil, errRefused
		}
		if now == tried {
			break // there are no newer ones
		}
		if payload := now.verify(jws); payload != nil {
			return payload, nil
		}
		tried = now
	}
	k.refusal = invalid("bad_signature", "no key of the issuer has signed the token")
	return nil, errRefused
}

// verify returns the payload of a token if one of the keys has signed it. The keys of the token's own header (jwk, jku,
// x5u, x5c) count nothing.
func (p *published) verify(jws *jose.JSONWebSignature) []byte {
	header := jws.Signatures[0].Header
	for _, key := range p.keys {
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if payload, err := jws.Verify(key.Key); err == nil {
			return payload
		}
	}
	return nil
}

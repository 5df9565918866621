// Package identity has what the packages that ask an identity provider share: how they reach it, which signatures
// count, and what the claims of a token say about a person.
package identity

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Algorithms are the accepted signatures. All are asymmetric: a symmetric key would be a secret of the issuer, and an
// attacker could use a public key as one.
func Algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
		jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}
}

// maxAnswer bounds an answer of an issuer, in bytes.
const maxAnswer = 1 << 20

// Client returns a client for requests to issuers: encrypted, or within this machine, without redirects, and with
// answers of at most 1 MiB. wait bounds one request.
func Client(wait time.Duration) *http.Client {
	return &http.Client{Timeout: wait, Transport: careful{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

type careful struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (c careful) RoundTrip(r *http.Request) (*http.Response, error) {
	if !Private(r.URL) {
		return nil, errors.New("the address is not encrypted, and of another machine")
	}
	res, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxAnswer)
	}
	return res, err
}

// Private reports whether nobody on the way reads a request to an address: it is encrypted, or within this machine.
func Private(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

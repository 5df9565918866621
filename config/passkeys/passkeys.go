// Package passkeys says at which addresses of the page browsers use passkeys (WebAuthn), and under which name. It
// checks the key "console.passkeys". Package console/passkeys registers and verifies them.
package passkeys

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Check reports an address of the page at which browsers use no passkeys. n is the key that asks for them, and origin
// the key "console.origin", which may be "".
func Check(r *settings.Reader, n strictjson.Value, origin string) {
	const hint = `name where browsers find the page: "origin": "https://codemode.example.com", or ` +
		`"http://localhost:PORT" for browsers of this machine, with "address": "PORT"`
	if origin == "" {
		r.Wrong(n, hint, `"passkeys" needs "origin": browsers use no passkeys at an IP address`)
	} else if _, err := RelyingParty(origin); err != nil {
		r.Wrong(n, hint, `"passkeys": %v`, err)
	}
}

// RelyingParty returns the name that passkeys of a page belong to, its RP ID: the host name of the page's address.
// Another name needs other passkeys. The error is for whoever wrote the address.
//
// Browsers want a domain name and a secure context (WebAuthn Level 3, sections 4, "Relying Party Identifier", and 5).
// This machine's own name is one without TLS too.
func RelyingParty(origin string) (id string, err error) {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("%.80q is no address of a page", origin)
	}
	id = strings.ToLower(u.Hostname())
	_, notIP := netip.ParseAddr(id)
	switch {
	case notIP == nil:
		return "", fmt.Errorf("browsers use no passkeys at %.80q, because an IP address is no name", origin)
	case u.Scheme != "https" && !Local(origin):
		return "", fmt.Errorf("browsers use no passkeys at %.80q, because it has no TLS", origin)
	}
	return id, nil
}

// Local reports whether an address is the name that every machine has for itself, without TLS: http://localhost.
func Local(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Hostname(), "localhost")
}

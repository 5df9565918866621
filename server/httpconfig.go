package server

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/config"
)

// httpConfig is the key "http" of a configuration. If it lists tokens, every caller needs one, also on this machine.
type httpConfig struct {
	config.HTTP
	tokens map[string]*caller // by their fingerprints
}

// A caller is the owner of a token.
type caller struct {
	principal string
	reach     reach
	answers   bool // the token answers questions on the page and runs nothing, see [Answerers]
}

// readHTTP reads the key "http", with the variables of env. The error is [config.Problems].
func readHTTP(cfg *config.Config, env func(string) (string, bool)) (*httpConfig, error) {
	h, err := cfg.HTTP(env)
	if err != nil {
		return nil, err
	}
	c := &httpConfig{HTTP: h, tokens: map[string]*caller{}}
	for _, t := range h.Tokens {
		who := &caller{principal: cmp.Or(t.Principal, t.Fingerprint), answers: t.Answers}
		if !t.Answers {
			who.reach = reach{all: t.Profiles == nil, names: t.Profiles}
		}
		c.tokens[t.Fingerprint] = who
	}
	return c, nil
}

// serves reports whether a request with this Host, which arrived at that address of ours, is for us. A page that lets
// its own name resolve to this machine (DNS rebinding) sends that name.
func (c *httpConfig) serves(host string, local net.Addr) bool {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	} else if inner, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	if slices.Contains(c.Hosts, name) {
		return true
	}
	if local != nil && local.Network() == "unix" { // no web page reaches it
		ip, err := netip.ParseAddr(name)
		return name == "localhost" || err == nil && ip.IsLoopback()
	}
	at, err := netip.ParseAddrPort(addrText(local))
	if err != nil {
		return false
	}
	here := at.Addr().Unmap().WithZone("")
	if name == "localhost" {
		return here.IsLoopback()
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	ip = ip.Unmap()
	return ip == here || ip.IsLoopback() && here.IsLoopback()
}

func addrText(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// admits reports whether a page of this origin may send requests to a host that serves has accepted.
func (c *httpConfig) admits(origin, host string) bool {
	if origin == "" {
		return true // not a browser, or a page of our own that only reads
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // "null" too
	}
	return strings.EqualFold(u.Host, host) && (u.Scheme == "http" || u.Scheme == "https") ||
		slices.Contains(c.Origins, strings.ToLower(origin))
}

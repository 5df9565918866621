// Package origins tells which HTTP requests are meant for a listener: those for a name of this machine, from no page of
// another origin.
package origins

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Serves reports whether a request with this Host, which arrived at that address of ours, is for us; hosts
// are further names of ours, in lower case. A page that lets
// its own name resolve to this machine (DNS rebinding) sends that name.
func Serves(hosts []string, host string, local net.Addr) bool {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	} else if inner, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	if slices.Contains(hosts, name) {
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

// admits reports whether a page of this origin may send requests to a host that Serves has accepted.
func admits(origins []string, origin, host string) bool {
	if origin == "" {
		return true // not a browser, or a page of our own that only reads
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // "null" too
	}
	return strings.EqualFold(u.Host, host) && (u.Scheme == "http" || u.Scheme == "https") ||
		slices.Contains(origins, strings.ToLower(origin))
}

// FromHere reports whether a request comes from no web page, or from one that may send it: a page of ours, or of one of
// the origins, which are in lower case.
func FromHere(origins []string, r *http.Request) bool {
	if len(r.Header.Values("Origin")) > 1 || !admits(origins, r.Header.Get("Origin"), r.Host) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Origin") != "" // one that the configuration names
}

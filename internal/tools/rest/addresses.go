package rest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// inside4 holds the IPv4 addresses that are not on the internet (RFC 6890 and later), and one of a cloud that is only
// seen from inside it.
var inside4 = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32")

// outside6 has the IPv6 addresses of the internet, except for inside6: Teredo, 6to4, documentation. Loopback,
// unique-local, link-local, multicast and what NAT64 makes of IPv4 addresses lie elsewhere.
var (
	outside6 = netip.MustParsePrefix("2000::/3")
	inside6  = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func contains(list []netip.Prefix, ip netip.Addr) bool {
	for _, p := range list {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// public reports whether an address is on the internet.
func public(ip netip.Addr) bool {
	if ip.Is4() {
		return !contains(inside4, ip)
	}
	return outside6.Contains(ip) && !contains(inside6, ip)
}

// A reach says which addresses may be dialled: those on the internet, and those that the operator names.
type reach struct {
	names  map[string]bool // of hosts, in lower case
	ranges []netip.Prefix
}

func newReach(allow []string) (*reach, error) {
	r := &reach{names: map[string]bool{}}
	for _, text := range allow {
		if ip, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
			ip = ip.Unmap().WithZone("")
			r.ranges = append(r.ranges, netip.PrefixFrom(ip, ip.BitLen()))
		} else if p, err := netip.ParsePrefix(text); err == nil {
			r.ranges = append(r.ranges, p.Masked())
		} else if text == "" || strings.ContainsAny(text, "/:* ") {
			return nil, fmt.Errorf("%q is neither a host name nor a range of addresses such as 10.0.0.0/8", text)
		} else {
			r.names[hostName(text)] = true
		}
	}
	return r, nil
}

func hostName(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }

// check refuses an address that is about to be dialled. It sees what the name was resolved to: neither a name with
// several addresses nor one that changes its address gets past it.
func (r *reach) check(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := to.Addr().Unmap().WithZone("")
	if public(ip) || contains(r.ranges, ip) {
		return nil
	}
	return fmt.Errorf("its address %s is not on the internet, and allowPrivate does not name it", ip)
}

func (r *reach) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if host, _, err := net.SplitHostPort(address); err != nil || !r.names[hostName(host)] {
		d.Control = r.check
	}
	return d.DialContext(ctx, network, address)
}

// transport is a transport within reach. It knows no proxy, which would resolve the names itself.
func (r *reach) transport() *http.Transport {
	return &http.Transport{
		DialContext:            r.dial,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 1 << 20,
		ForceAttemptHTTP2:      true,
	}
}

package policy

import (
	"fmt"
	"net/netip"
	"net/url"
	slash "path"
	"strings"
)

// evil is the host of the attacker.
const evil = "evil.example"

// foreignHosts are URLs that look as an allow rule wants, and lead to another host or out of its folder.
func foreignHosts(of operators) (all []disguise) {
	for _, fill := range []string{"." + evil + "/", "@" + evil + "/", ":x@" + evil + "/", evil + "/", evil + "/x",
		evil + "?", evil + "#", "x@" + evil + "/", "x@" + evil + "/x", "../../../../admin", "x/../../../../admin",
		"%2e%2e/%2e%2e/%2e%2e/admin"} {
		for _, text := range of.texts(fill) {
			u, err := url.Parse(text)
			if err != nil || u.Host == "" {
				continue
			}
			real := *u
			real.Path, real.RawPath = slash.Clean("/"+u.Path), ""
			switch {
			case strings.HasSuffix(u.Hostname(), evil) && !of.names(evil):
				all = append(all, disguise{"https://" + evil + "/", text, fmt.Sprintf("%q leads to the host %s", text,
					u.Hostname())})
			case strings.HasSuffix(real.Path, "/admin") && real.Path != u.Path:
				all = append(all, disguise{real.String(), text, fmt.Sprintf("%q is %q", text, &real)})
			}
		}
	}
	return all
}

// otherNames are other URLs of what a deny or ask rule is about.
func otherNames(of operators) (all []disguise) {
	others := append(of.texts("/y"), of.texts("y")...)
	for i, plain := range append(of.texts("/x"), of.texts("x")...) {
		u, err := url.Parse(plain)
		if err != nil || u.Host == "" || strings.HasPrefix(u.Path, "//") {
			continue
		}
		if other, err := url.Parse(others[i]); err != nil || other.Host != u.Host {
			continue // the rule leaves the host open
		}
		host, rest := u.Hostname(), strings.TrimPrefix(plain, u.Scheme+"://"+u.Host)
		add := func(text string) {
			if text != plain {
				all = append(all, disguise{plain, text, fmt.Sprintf("%q leads to where %q does", text, plain)})
			}
		}
		at := func(host string) { add(u.Scheme + "://" + host + rest) }
		for _, same := range hostNames(host) {
			at(same)
		}
		at("x@" + u.Host)
		at(host + ".")
		at(strings.ToUpper(u.Host))
		at(u.Host[:len(u.Host)-1] + fmt.Sprintf("%%%x", u.Host[len(u.Host)-1]))
		if port := map[string]string{"http": "80", "https": "443"}[u.Scheme]; port != "" && u.Port() == "" {
			at(host + ":" + port)
			add(map[string]string{"http": "https", "https": "http"}[u.Scheme] + "://" + u.Host + rest)
		}
		add(" " + plain)
		add(u.Scheme + ":\t//" + u.Host + rest)
		add(u.Scheme + `:\\` + u.Host + rest)
		add(plain + "#x")
		if len(rest) > 1 {
			at(u.Host + "/." + rest)
			at(u.Host + "/x/.." + rest)
		}
	}
	return all
}

// hostNames are other names of a host: the notations of an IPv4 address, and the names of this machine.
func hostNames(host string) (all []string) {
	if host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1" || host == "0.0.0.0" {
		all = append(all, "localhost", "127.0.0.1", "127.0.0.2", "[::1]", "0.0.0.0", "x.localhost")
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Is4() {
		return all
	}
	b := ip.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	return append(all, fmt.Sprint(n), fmt.Sprintf("0x%x", n), fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("%d.%d", b[0], n&0xffffff), fmt.Sprintf("[::ffff:%s]", ip))
}

func mendHost(of operators, allow bool) string {
	switch {
	case of.has("host"):
		return `a host has more names than a rule can list: allow the hosts that programs may reach ("host" in an allow ` +
			`rule), and deny the rest with "unmatched"`
	case allow:
		return `compare hosts and not texts: write "host" in place of the other operator`
	}
	return `compare hosts and not texts: write "host"; better, allow only the hosts that programs may reach`
}

package profiles

import (
	"net/netip"
	"net/url"
	"strings"
)

// hostOperator is "host": the value is an absolute URL whose host is one of the given
// ones, or for *.domain is anything below the domain.
type hostOperator struct {
	valueOperator
	hosts []string // lower case, without a dot at the end
}

// eval compares only hosts that every parser reads alike. Backslashes, spaces, numbers in
// place of addresses and letters outside ASCII are read differently by browsers, C
// libraries and Go, so such a host is unknown unless a deny rule recognises it anyway.
func (o hostOperator) eval(v value) outcome {
	if v.node.kind != kindString {
		return wrongKind(v.node, "a string")
	}
	u, err := url.Parse(v.node.text)
	if err != nil || strings.ContainsAny(v.node.text, "\\ \t\r\n") {
		return outcome{unknown, "is not a URL that everyone reads alike"}
	}
	if u.Scheme == "" || u.Hostname() == "" {
		return outcome{unknown, "is not an absolute URL with a host"}
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if !isASCII(host) {
		if v.wide && o.contains(strings.TrimSuffix(fold(host), ".")) {
			return outcome{result: yes}
		}
		return outcome{unknown, "has a host that is not plain ASCII"}
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return is(o.contains(address.WithZone("").Unmap().String()))
	}
	if isNumericHost(host) {
		return outcome{unknown, "has an address in an unusual notation as its host"}
	}
	return is(o.contains(host))
}

func (o hostOperator) contains(host string) bool {
	for _, want := range o.hosts {
		if domain, ok := strings.CutPrefix(want, "*"); ok {
			if strings.HasSuffix(host, domain) && len(host) > len(domain) {
				return true
			}
		} else if host == want {
			return true
		}
	}
	return false
}

// isNumericHost reports whether the last label is a number. Many programs read such a
// host as an IPv4 address: 127.1, 2130706433, 0x7f.1, 010.0.0.1.
func isNumericHost(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return isDigits(last) || strings.HasPrefix(last, "0x")
}

package condition

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles/pattern"
)

// hostOperator is "host": the value is an absolute URL, and its host is one of the given
// ones, or for *.domain is anything below the domain.
type hostOperator struct {
	valueOperator
	hosts []string // lower case, without a dot at the end
}

// eval compares only hosts that every parser reads alike: Go's, those of browsers and Node, which follow the WHATWG,
// and those of C libraries and of regular expressions. What they read differently is unknown, unless a deny rule
// recognises it anyway.
func (o hostOperator) eval(v value) Outcome {
	if v.node.Kind() != strictjson.String {
		return wrongKind(v.node, "a string")
	}
	host, why := plainHost(v.node.Text())
	if why != "" {
		if v.wide && why == notASCII && o.contains(likelyHost(v.node.Text())) {
			return Outcome{Result: Yes}
		}
		return Outcome{Unknown, why}
	}
	if address, err := netip.ParseAddr(host); err == nil {
		host = address.Unmap().String()
	}
	return Holds(o.contains(host))
}

const (
	oddURL   = "is not a URL that everyone reads alike"
	notASCII = "has a host that is not plain ASCII"
)

// opaque are schemes of URLs without a host, or with a host that some readers leave out.
var opaque = map[string]bool{"file": true, "javascript": true, "data": true, "blob": true, "about": true,
	"mailto": true}

// plainHost returns the host of an absolute URL, in lower case and without a dot at its end. why is not empty if there
// are readers that would not find that very host.
func plainHost(text string) (host, why string) {
	scheme, rest, ok := strings.Cut(text, "://")
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return "", oddURL
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", oddURL
	}
	if !ok || u.Scheme == "" || !strings.EqualFold(u.Scheme, scheme) || u.Hostname() == "" || opaque[u.Scheme] {
		return "", "is not an absolute URL with a host"
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, behind := rest[:end], rest[end:]
	if !strings.HasPrefix(behind, "/") && strings.Contains(behind, "@") { // https://a.example?@b.example
		return "", oddURL
	}
	user, location, ok := strings.Cut(authority, "@")
	if !ok {
		user, location = "", authority
	}
	if strings.ContainsFunc(user, func(r rune) bool { return !userCharacter(r) }) {
		return "", oddURL
	}
	if !pattern.IsASCII(location) {
		return "", notASCII
	}
	name, port, why := location, "", ""
	if strings.HasPrefix(location, "[") {
		name, port, ok = strings.Cut(location[1:], "]")
		if port, ok = strings.TrimPrefix(port, ":"), ok && (port == "" || port[0] == ':'); !ok {
			return "", oddURL
		}
		if address, err := netip.ParseAddr(name); err != nil || !address.Is6() || address.Zone() != "" {
			return "", oddURL
		}
	} else {
		name, port, _ = strings.Cut(location, ":")
		name = strings.TrimSuffix(strings.ToLower(name), ".")
		if why = oddName(name); why != "" {
			return "", why
		}
	}
	if n, err := strconv.ParseUint(port, 10, 64); port != "" && (err != nil || n > 65535 || port[0] == '+') {
		return "", oddURL
	}
	if !strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), name) {
		return "", oddURL
	}
	return strings.ToLower(name), ""
}

// maxHost is how long a host name may be, by the rules of the DNS.
const maxHost = 253

// oddName says why a name is not the host to everyone, "" if it is.
func oddName(name string) string {
	if !isHostName(name) || len(name) > maxHost {
		return oddURL
	}
	if _, err := netip.ParseAddr(name); err != nil && isNumericHost(name) {
		return "has an address in an unusual notation as its host"
	}
	return ""
}

// userCharacter reports whether a character of a user's name or password means nothing else to anybody. An escape
// does: whoever decodes before parsing sees what it stands for.
func userCharacter(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
		strings.ContainsRune("-._~!$&'()*+,;=:", r)
}

// likelyHost returns the host that Go reads, as a lenient reader writes it.
func likelyHost(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(pattern.Fold(u.Hostname()), ".")
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

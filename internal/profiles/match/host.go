package match

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// hostOperator is "host": the value is an absolute URL, and its host is one of the given hosts, or for *.domain any
// host below the domain.
type hostOperator struct {
	valueOperator
	hosts []wantedHost
}

// A wantedHost is a host of a rule.
type wantedHost struct {
	scheme string // "" is any scheme in a deny or ask rule, and one of the web in an allow rule
	name   string // lower case, without a dot at the end
}

// web are the schemes that read a URL as the WHATWG says. Others hand its parts to a command, or name a socket of this
// machine.
var web = []string{"http", "https", "ws", "wss"}

// eval compares only hosts that all parsers read the same way: Go's, those of browsers and Node (which follow the
// WHATWG), C libraries, and regular expressions. If they differ, the result is unknown, unless a deny rule recognises
// the host anyway.
func (o hostOperator) eval(v value) Outcome {
	if v.node.Kind() != strictjson.String {
		return wrongKind(v.node, "a string")
	}
	scheme, _, _ := strings.Cut(strings.ToLower(v.node.Text()), "://")
	host, why := plainHost(v.node.Text())
	if why != "" {
		if v.wide && why == notASCII && o.contains(scheme, likelyHost(v.node.Text())) != No {
			return Outcome{Result: Yes}
		}
		return Outcome{Unknown, why}
	}
	if address, err := netip.ParseAddr(host); err == nil {
		host = address.Unmap().String()
	}
	result := o.contains(scheme, host)
	switch {
	case result != Unknown:
		return Outcome{Result: result}
	case v.wide:
		return Outcome{Result: Yes}
	}
	return Outcome{Unknown, fmt.Sprintf("has the scheme %s, which the rule does not name: write \"%s://%s\" if it may",
		scheme, scheme, host)}
}

const (
	oddURL   = "is not a URL that everyone reads alike"
	notASCII = "has a host that is not plain ASCII"
)

// opaque are schemes of URLs without a host, or with a host that some readers ignore.
var opaque = map[string]bool{"file": true, "javascript": true, "data": true, "blob": true, "about": true,
	"mailto": true}

// plainHost returns the host of an absolute URL, in lower case and without a dot at its end. why is not empty if some
// readers would find another host.
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
	if strings.HasPrefix(user, "-") || strings.ContainsFunc(user, func(r rune) bool { return !userCharacter(r) }) {
		return "", oddURL // ssh reads -oProxyCommand=x@host as an option
	}
	if !IsASCII(location) {
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

// maxHost is the maximum length of a host name in the DNS.
const maxHost = 253

// oddName says why some readers do not see the name as the host, "" if all do.
func oddName(name string) string {
	if !isHostName(name) || len(name) > maxHost {
		return oddURL
	}
	if _, err := netip.ParseAddr(name); err != nil && isNumericHost(name) {
		return "has an address in an unusual notation as its host"
	}
	return ""
}

// userCharacter reports whether a character of a user name or password has no other meaning for any reader. An escape
// has one: a reader that decodes before parsing sees the decoded character.
func userCharacter(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
		strings.ContainsRune("-._~!$&'()*+,;=:", r)
}

// likelyHost returns the host that Go reads, in the spelling of a lenient reader.
func likelyHost(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(Fold(u.Hostname()), ".")
}

// contains reports whether the rule has the host. It is unknown if only the scheme does not fit.
func (o hostOperator) contains(scheme, host string) Result {
	result := No
	for _, want := range o.hosts {
		if want.scheme != "" && want.scheme != scheme {
			continue
		}
		domain, below := strings.CutPrefix(want.name, "*")
		switch {
		case !below && host != want.name, below && (!strings.HasSuffix(host, domain) || len(host) <= len(domain)):
		case want.scheme == scheme, slices.Contains(web, scheme):
			return Yes
		default:
			result = Unknown
		}
	}
	return result
}

// isNumericHost reports whether the last label is a number. Many programs read such a
// host as an IPv4 address: 127.1, 2130706433, 0x7f.1, 010.0.0.1.
func isNumericHost(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return isDigits(last) || strings.HasPrefix(last, "0x")
}

func isHostName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		}) {
			return false
		}
	}
	return true
}

package rest

import (
	"slices"
	"strings"
)

// reserved lists the headers, folded, that no argument sets: they say who asks, where a message ends and who is on its
// way, or have a server take the request for another one.
var reserved = []string{"host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection",
	"keep-alive", "te", "trailer", "upgrade", "expect", "http2-settings", "cookie", "cookie2", "set-cookie",
	"authorization", "www-authenticate", "forwarded", "via", "x-real-ip", "x-client-ip", "x-original-url",
	"x-rewrite-url", "x-original-method", "x-http-method", "x-http-method-override", "x-method-override", "accept",
	"accept-encoding", "user-agent", "origin", "referer"}

func isReserved(name string) bool {
	name = folded(name)
	return slices.Contains(reserved, name) || strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "sec-") ||
		strings.HasPrefix(name, "x-forwarded")
}

// folded is the name of a header or a parameter as the most careless server compares it: many turn both - and _ into _.
func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// isToken reports whether a text can be the name of a header (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// isHeaderText reports whether a text can be the value of a header: visible ASCII and spaces.
func isHeaderText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f })
}

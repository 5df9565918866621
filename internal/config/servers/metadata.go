package servers

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// metadataURL is the key of [OAuth.MetadataURL].
const metadataURL = "clientMetadataUrl"

// CheckMetadataURL says why text cannot be the address of a client metadata document, and how to correct it. Both are
// "" if it can. The rules are those of draft-ietf-oauth-client-id-metadata-document-02, section 3.
//
// server is the address of the MCP server to log in at, "" for any. A document in a private network, or on this
// machine, is for servers that are there too: other authorization servers cannot fetch it.
func CheckMetadataURL(text, server string) (message, hint string) {
	hint = `write it as "https://example.com/codemode/client-metadata.json"`
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "cannot be parsed", hint
	case u.Scheme != "https" || u.Hostname() == "":
		return "must begin with https:// and a host", hint
	case u.User != nil:
		return "has a user name in it", hint
	case strings.Contains(text, "#"):
		return "has a fragment", "remove the # and what follows it"
	case u.Path == "" || u.Path == "/":
		return "has no path", hint
	case slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." }):
		return `has "." or ".." in its path`, "write the path without them"
	}
	if at, err := url.Parse(server); inside(u.Hostname()) && (err != nil || !inside(at.Hostname())) {
		return "is in a private network or on this machine, where no authorization server elsewhere can fetch it",
			"publish what codemode login --client-metadata prints at a public address"
	}
	return "", ""
}

// inside reports whether a host is one of this machine or of a private network, as far as its text says so.
func inside(host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		host = "." + strings.TrimSuffix(strings.ToLower(host), ".")
		return strings.HasSuffix(host, ".localhost")
	}
	ip = ip.Unmap()
	return !ip.IsGlobalUnicast() || ip.IsPrivate()
}

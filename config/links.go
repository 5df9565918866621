package config

import (
	"net/url"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// maxLifetime bounds how long the check of a program stays valid: by then the rules that it used are a day old.
const maxLifetime = 24 * time.Hour

// lifetime reads how long a check stays valid.
func (b *builder) lifetime(n strictjson.Value, what string) time.Duration {
	d := b.Duration(n, what)
	if d > maxLifetime {
		b.Wrong(n, "write 24h or less", "%s must be at most %s", what, maxLifetime)
	}
	return d
}

// webAddress reads the address of a page that people open: links append to it.
func (b *builder) webAddress(n strictjson.Value, what string) string {
	const hint = `write the whole address, such as "https://codemode.example/admin"`
	address, ok := b.Text(n, what)
	if !ok {
		return ""
	}
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		b.Wrong(n, hint, "%s must be an address that begins with https:// or http://", what)
	case u.User != nil:
		b.Wrong(n, "remove what stands before the @: everybody who runs programs sees the link",
			"%s must not contain a password", what)
	case u.RawQuery != "" || u.Fragment != "":
		b.Wrong(n, "end it before the ? or #", "%s must not have a query or a fragment", what)
	}
	return address
}

// Package address writes addresses into messages without their secrets: a webhook has one in its path, a database in
// its user, a collector in its query, and the errors of net/http and net/url quote the whole address.
package address

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Hidden replaces the hidden parts of an address.
const Hidden = "…"

// Unreadable replaces an address that cannot be read.
const Unreadable = "(an address that cannot be read)"

// Origin returns the scheme and the host of an address, and [Hidden] if there is more to it.
func Origin(address string) string {
	origin := SchemeHost(address)
	if origin == Unreadable {
		return origin
	}
	switch strings.TrimPrefix(address, origin) {
	case "", "/":
		return origin
	}
	return origin + "/" + Hidden
}

// SchemeHost returns the scheme and the host of an address, or [Unreadable].
func SchemeHost(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return Unreadable
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// SchemeHostPort returns the origin of an address as HTTP compares origins: with the port, even the default one.
func SchemeHostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port)
}

var (
	whole = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]+`)
	login = regexp.MustCompile(`[^\s"'<>/@` + "`" + `]+:[^\s"'<>@` + "`" + `]*@`) // user:password@ without a scheme
)

// Scrub replaces the addresses in a text by their origins.
func Scrub(text string) string {
	text = whole.ReplaceAllStringFunc(text, func(found string) string {
		address := strings.TrimRight(found, `.,:;)]}\`)
		return Origin(address) + found[len(address):]
	})
	return login.ReplaceAllString(text, Hidden+"@")
}

// Hide returns an error that shows only the origin of an address; nil for nil. For an unreadable address it does not
// say what is wrong, because that text quotes a part of it.
func Hide(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for at := err; at != nil; {
		u, ok := errors.AsType[*url.Error](at)
		if !ok {
			break
		}
		if u.Op == "parse" {
			text = strings.ReplaceAll(text, u.Error(), "the address cannot be read")
		} else {
			text = strings.ReplaceAll(text, u.URL, Origin(u.URL))
			text = strings.ReplaceAll(text, url.QueryEscape(u.URL), Hidden)
		}
		at = u.Err
	}
	if text = Scrub(text); text == err.Error() {
		return err
	}
	return &hiddenError{text, err}
}

type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }

// Is implements the interface of [errors.Is]. There is no Unwrap: it would return the [url.Error] with the address.
func (e *hiddenError) Is(target error) bool { return errors.Is(e.err, target) }

// Timeout reports whether the request timed out.
func (e *hiddenError) Timeout() bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.err)
	return ok && t.Timeout()
}

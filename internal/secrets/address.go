package secrets

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

const (
	hiddenPart = "…"                                // replaces the hidden parts of an address
	unreadable = "(an address that cannot be read)" // replaces such an address
)

// Origin returns the scheme and the host of an address, and an ellipsis if there is more to it.
func Origin(address string) string {
	origin := SchemeHost(address)
	if origin == unreadable {
		return origin
	}
	switch strings.TrimPrefix(address, origin) {
	case "", "/":
		return origin
	}
	return origin + "/" + hiddenPart
}

// SchemeHost returns the scheme and the host of an address, or says that it cannot be read.
func SchemeHost(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return unreadable
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
	anAddress = pattern(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]+`)
	aLogin    = pattern(`[^\s"'<>/@` + "`" + `]+:[^\s"'<>@` + "`" + `]*@`) // user:password@ without a scheme
)

// scrub replaces the addresses in a text by their origins.
func scrub(text string) string {
	text = anAddress().ReplaceAllStringFunc(text, func(found string) string {
		address := strings.TrimRight(found, `.,:;)]}\`)
		return Origin(address) + found[len(address):]
	})
	return aLogin().ReplaceAllString(text, hiddenPart+"@")
}

// HideAddress returns an error that shows only the origin of an address; nil for nil. For an unreadable address it does
// not say what is wrong, because that text quotes a part of it.
func HideAddress(err error) error {
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
			text = strings.ReplaceAll(text, url.QueryEscape(u.URL), hiddenPart)
		}
		at = u.Err
	}
	if text = scrub(text); text == err.Error() {
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

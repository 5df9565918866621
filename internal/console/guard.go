package console

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// maxBody bounds the body of a request; maxAnswer, that of an answer, which may have arguments, and of a file of
	// rules.
	maxBody, maxAnswer = 64 << 10, 4 << 20
	// bodyWait is how long the client may take to send a request; answerWait, to read the response.
	bodyWait, answerWait = 30 * time.Second, 30 * time.Second
)

// policy lets pages load only the files of this package, and forbids inline scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"worker-src 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var headers = map[string]string{
	"Content-Security-Policy": policy,
	"X-Content-Type-Options":  "nosniff",
	"X-Frame-Options":         "DENY",
	// Other origins see no path, because the path is half of a session. With no-referrer, browsers would send "Origin:
	// null" with our own forms.
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
}

// guard refuses requests that do not come from a page of ours, before it reads their bodies.
func (c *Console) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if to := c.properHost(r); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		if code, why := c.foreign(r); code != 0 {
			c.log.Debug("a request to the console was refused", "reason", why, "status", code)
			http.Error(w, why, code)
			return
		}
		limit := int64(maxBody)
		_, rest := c.split(r.URL.Path)
		for _, large := range []string{"/answer", "/api/answer", "/rules", "/api/rules"} {
			if rest == large || strings.HasPrefix(rest, large+"/") {
				limit = maxAnswer
			}
		}
		if r.ContentLength > limit {
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		deadlines := http.NewResponseController(w) // some servers in tests have none
		_ = deadlines.SetReadDeadline(time.Now().Add(bodyWait))
		_ = deadlines.SetWriteDeadline(time.Now().Add(bodyWait + answerWait))
		next.ServeHTTP(w, r)
		_ = deadlines.SetWriteDeadline(time.Time{}) // the next use of the connection may take longer
	})
}

// properHost is the address to redirect to from the name localhost, "" for other names. That name has several
// addresses. Another program may listen on the same port of one of them, and would get the cookie and the path. So no
// session exists under that name, unless the configuration says that the page is there: some identity providers want
// it.
func (c *Console) properHost(r *http.Request) string {
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil || !strings.EqualFold(name, "localhost") || c.origin(r) != "" || !navigates(r) ||
		r.Method != http.MethodGet ||
		!plainPath(r.URL.Path) {
		return ""
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if origin := "http://" + net.JoinHostPort(host, port); slices.Contains(c.options.Origins, origin) {
			return origin + r.URL.RequestURI()
		}
	}
	return ""
}

// origin returns the one of our origins that a request addresses, "" if none.
func (c *Console) origin(r *http.Request) string {
	if at := slices.IndexFunc(c.options.Origins, func(origin string) bool { return hasHost(origin, r) }); at >= 0 {
		return c.options.Origins[at]
	}
	return ""
}

func hasHost(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// foreign says why a request does not come from one of our pages; code 0 means that it may.
func (c *Console) foreign(r *http.Request) (code int, why string) {
	key, _ := c.split(r.URL.Path)
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	site, origin := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	sameOrigin := len(site) == 1 && site[0] == "same-origin"
	switch {
	case c.origin(r) == "":
		return http.StatusForbidden, "this page is not served under that host"
	case len(site) > 1 || len(origin) > 1:
		return http.StatusForbidden, "the request names its origin or site twice"
	case change && r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "only GET and POST are known here"
	case r.Header.Get("Service-Worker") != "":
		return http.StatusForbidden, "this page has no service worker"
	case len(site) == 1 && !sameOrigin && !(site[0] == "none" && !change) && !(navigates(r) && !change && key == ""):
		return http.StatusForbidden, "the request comes from another site" // other sites cannot know a session path
	case len(origin) == 1 && !(slices.Contains(c.options.Origins, strings.ToLower(origin[0])) && hasHost(origin[0], r)):
		return http.StatusForbidden, "the request comes from another origin"
	case r.URL.RawPath != "" || !plainPath(r.URL.Path):
		return http.StatusNotFound, "there is nothing under that path"
	}
	return 0, ""
}

// plainPath reports whether a path has only one spelling.
func plainPath(p string) bool {
	clean := path.Clean("/" + p)
	return p == clean || p == clean+"/" && clean != "/"
}

// navigates reports whether a request comes from a browser that follows a link.
func navigates(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// cookieName differs between the pages of several processes, for people who inspect their cookies.
func cookieName(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return "codemode-" + hex.EncodeToString(sum[:4])
}

// securePrefix makes browsers refuse a cookie of a page without TLS. All except Safari treat this host like one with
// TLS. The prefix __Host- demands the path /, under which browsers send a cookie to every other port of this host.
const securePrefix = "__Secure-"

// setCookie sets the cookie of a session. An empty id removes it.
func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, base, id string, life time.Duration) {
	c.addCookie(w, r, http.Cookie{Name: c.cookie, Value: id, Path: base, SameSite: http.SameSiteStrictMode}, life)
}

func (c *Console) addCookie(w http.ResponseWriter, r *http.Request, cookie http.Cookie, life time.Duration) {
	name := cookie.Name
	cookie.Name, cookie.MaxAge, cookie.HttpOnly, cookie.Secure = securePrefix+name, int(life.Seconds()), true, true
	if agent := r.UserAgent(); r.TLS == nil && strings.HasPrefix(c.origin(r), "http:") &&
		strings.Contains(agent, "Safari/") && !strings.Contains(agent, "Chrom") {
		cookie.Name, cookie.Secure = name, false
	}
	if cookie.Value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, &cookie)
}

// cookies returns the values of the cookies of a name. Other ports of this host can set some too.
func cookies(r *http.Request, name string) (all []string) {
	for _, name := range []string{securePrefix + name, name} {
		for _, cookie := range r.CookiesNamed(name) {
			all = append(all, cookie.Value)
		}
	}
	return all
}

// session returns the session of a request, nil if it has none. Other ports of this host can set cookies of the same
// name for shorter paths. Browsers send those too, but they neither open nor close a session.
func (c *Console) session(r *http.Request) *session {
	key := keyOf(r)
	if key == "" {
		return nil
	}
	return c.logins.of(key, cookies(r, c.cookie))
}

package console

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// maxBody bounds what a request brings, but for an answer, which may bring arguments.
	maxBody, maxAnswer = 64 << 10, 4 << 20
	// bodyWait is how long a request may take to arrive, answerWait an answer to be taken in.
	bodyWait, answerWait = 30 * time.Second, 30 * time.Second
)

// policy lets pages load what comes with this package and nothing else, and run no text of theirs as a script, whatever they hold.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"worker-src 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var headers = map[string]string{
	"Content-Security-Policy": policy,
	"X-Content-Type-Options":  "nosniff",
	"X-Frame-Options":         "DENY",
	// Another origin gets no path, which is half of a session; with no-referrer browsers would send "Origin: null" with our own forms.
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
}

// guard turns away what does not come from a page of ours, before anything of it is read.
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
			c.log.Debug("a request to the console was turned away", "because", why, "status", code)
			http.Error(w, why, code)
			return
		}
		limit := int64(maxBody)
		_, rest := c.split(r.URL.Path)
		for _, large := range []string{"/answer", "/api/answer", "/rules"} {
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
		_ = deadlines.SetWriteDeadline(time.Time{}) // the connection may be used for something else that takes longer
	})
}

// properHost is where somebody has to go who came to the page by the name localhost, "" for all others. That name is of several
// addresses, and the same port of another one may be somebody else's, who would get the cookie and the path: there is no session
// under it.
func (c *Console) properHost(r *http.Request) string {
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil || !strings.EqualFold(name, "localhost") || !navigates(r) || r.Method != http.MethodGet || !plainPath(r.URL.Path) {
		return ""
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if origin := "http://" + net.JoinHostPort(host, port); slices.Contains(c.options.Origins, origin) {
			return origin + r.URL.RequestURI()
		}
	}
	return ""
}

// origin is that of ours which a request is sent to, "" if there is none.
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

// foreign says why a request is not from a page of ours; 0 is that it may be.
func (c *Console) foreign(r *http.Request) (code int, why string) {
	key, _ := c.split(r.URL.Path)
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	site, origin := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	sameOrigin := len(site) == 1 && site[0] == "same-origin"
	switch {
	case c.origin(r) == "":
		return http.StatusForbidden, "this page is not served under that host"
	case len(site) > 1 || len(origin) > 1:
		return http.StatusForbidden, "the request says twice where it comes from"
	case change && r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "only GET and POST are known here"
	case r.Header.Get("Service-Worker") != "":
		return http.StatusForbidden, "this page has no service worker"
	case len(site) == 1 && !sameOrigin && !(site[0] == "none" && !change) && !(navigates(r) && !change && key == ""):
		return http.StatusForbidden, "the request comes from another site" // which cannot know the path of a session
	case len(origin) == 1 && !(slices.Contains(c.options.Origins, strings.ToLower(origin[0])) && hasHost(origin[0], r)):
		return http.StatusForbidden, "the request comes from another origin"
	case r.URL.RawPath != "" || !plainPath(r.URL.Path):
		return http.StatusNotFound, "there is nothing under that path"
	}
	return 0, ""
}

// plainPath reports whether there is no other way of writing a path.
func plainPath(p string) bool {
	clean := path.Clean("/" + p)
	return p == clean || p == clean+"/" && clean != "/"
}

// navigates reports whether a request is for a page that is to be shown by itself: somebody follows a link.
func navigates(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

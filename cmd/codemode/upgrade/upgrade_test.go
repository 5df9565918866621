package upgrade

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/codemode-project/codemode/internal/mcptest"
)

// home is the part of an address that is the list of releases.
const home = "/codemode-project/codemode/releases"

// serve starts a server with the releases of a repository. It counts the requests.
func serve(t *testing.T, answer http.HandlerFunc) (client *http.Client, address string, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodGet || r.ContentLength != 0 || r.UserAgent() != "codemode" || len(r.Cookies()) > 0 {
			t.Errorf("it asks with %s, %d bytes, %v", r.Method, r.ContentLength, r.Header)
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.Client(), s.URL + home + "/latest", asked
}

// leads answers with a redirect. A path is one of the same server.
func leads(to string, code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}
}

func TestLatest(t *testing.T) {
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a release":         {leads(home+"/tag/v1.2.3", http.StatusFound), "v1.2.3"},
		"with 301":          {leads(home+"/tag/v1.2.3", http.StatusMovedPermanently), "v1.2.3"},
		"a pre-release":     {leads(home+"/tag/v2.0.0-rc.1", http.StatusFound), "v2.0.0-rc.1"},
		"nothing published": {leads(home, http.StatusFound), ""},
	} {
		t.Run(name, func(t *testing.T) {
			client, address, asked := serve(t, row.answer)
			got, err := Latest(t.Context(), client, address)
			if err != nil || got.Version != row.want {
				t.Errorf("got %q, %v; want %q", got.Version, err, row.want)
			}
			if page := strings.TrimSuffix(address, "/latest") + "/tag/" + row.want; row.want != "" && got.URL != page {
				t.Errorf("its page is %q, want %q", got.URL, page)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("it asked %d times", n)
			}
		})
	}
}

// TestLatestRefuses: an answer that names no release of this repository is an error and is not followed.
func TestLatestRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a page":             {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("v9.9.9")) }, "answers 200 OK"},
		"nothing there":      {http.NotFound, "answers 404 Not Found"},
		"too many questions": {leads("", http.StatusTooManyRequests), "answers 429"},
		"no address":         {leads("", http.StatusFound), "redirect"},
		"no URL":             {leads("http://[::1", http.StatusFound), "Location"},
		"another server":     {leads("https://evil.example"+home+"/tag/v9.9.9", http.StatusFound), "no release of codemode"},
		"another repository": {leads("/somebody/else/releases/tag/v9.9.9", http.StatusFound), "no release of codemode"},
		"no version":         {leads(home+"/tag/latest", http.StatusFound), "no release of codemode"},
		"half a version":     {leads(home+"/tag/v1.2", http.StatusFound), "no release of codemode"},
		"more than a tag":    {leads(home+"/tag/v1.2.3/v9.9.9", http.StatusFound), "no release of codemode"},
		"control characters": {leads(home+"/tag/v1.2.3%1b[2J", http.StatusFound), "no release of codemode"},
	} {
		t.Run(name, func(t *testing.T) {
			client, address, asked := serve(t, row.answer)
			got, err := Latest(t.Context(), client, address)
			if err == nil || !strings.Contains(err.Error(), row.want) || got != (Release{}) {
				t.Errorf("got %+v, %v; want an error with %q", got, err, row.want)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("it asked %d times", n)
			}
		})
	}
}

// TestLatestWithoutAnAnswer: nobody listens, nobody answers in time, or the certificate is of somebody else.
func TestLatestWithoutAnAnswer(t *testing.T) {
	if _, err := Latest(t.Context(), Client(), "https://"+mcptest.FreeAddress(t)+home+"/latest"); err == nil ||
		!strings.Contains(err.Error(), "asking for the latest release") {
		t.Errorf("nobody listens: %v", err)
	}
	_, address, asked := serve(t, leads(home+"/tag/v9.9.9", http.StatusFound))
	patient := Client()
	patient.Timeout = 0
	if _, err := Latest(t.Context(), patient, address); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server with an unknown certificate was asked %d times", n)
	}
	synctest.Test(t, func(t *testing.T) { // Wait passes at once
		client := Client()
		client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe() // somebody who never answers
			t.Cleanup(func() { there.Close() })
			return here, nil
		}
		_, err := Latest(t.Context(), client, "http://silent.example/latest")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nobody answers: %v", err)
		}
	})
}

func TestNewer(t *testing.T) {
	for _, row := range []struct {
		latest, mine string
		want         bool
	}{
		{"v1.2.4", "v1.2.3", true},
		{"v1.10.0", "v1.9.0", true},
		{"v1.2.3", "v1.2.3", false},
		{"v1.2.3", "v1.2.3+dirty", false},
		{"v1.2.3", "v1.2.4", false},
		{"v1.2.3", "v1.2.3-rc.1", true},
		{"v1.2.3-rc.2", "v1.2.3-rc.1", true},
		{"v1.2.3", "v1.3.0-rc.1", false},
		{"v1.2.3", "v1.2.4-0.20261101120000-0123456789ab", false}, // a commit after v1.2.3
		{"", "v1.2.3", false},
	} {
		if got, err := (Release{Version: row.latest}).Newer(row.mine); err != nil || got != row.want {
			t.Errorf("is %q newer than %s: %t, %v; want %t", row.latest, row.mine, got, err, row.want)
		}
	}
	for _, mine := range []string{"dev", "", "(devel)", "1.2.3"} {
		if _, err := (Release{Version: "v1.2.3"}).Newer(mine); !errors.Is(err, ErrNoVersion) {
			t.Errorf("compared with %q: %v", mine, err)
		}
	}
}

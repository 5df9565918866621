// Package upgrade tells whether a newer release of codemode exists, and how to get it. It asks only when
// "codemode version --check" is called: one HTTPS request to the repository, without a body, cookies, or the version
// of this binary. It installs nothing.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// Wait is how long the repository may take to answer.
const Wait = 10 * time.Second

// A Release is the newest one.
type Release struct {
	Version string // such as v1.2.3; "" if nothing is released yet
	URL     string // its page
}

// Client is a client for [Latest]: it uses the proxy that the environment names (HTTPS_PROXY, NO_PROXY), keeps nothing,
// and waits for [Wait] at most.
func Client() *http.Client {
	return &http.Client{
		Timeout:   Wait,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
	}
}

// Latest asks for the newest release with one request. The address answers with a redirect to the page of that
// release, which ends with its tag; Latest does not follow it.
func Latest(ctx context.Context, client *http.Client, address string) (Release, error) {
	once := *client
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Release{}, err
	}
	req.Header.Set("User-Agent", "codemode")
	resp, err := once.Do(req)
	if err != nil {
		return Release{}, fmt.Errorf("asking for the latest release: %w", err)
	}
	resp.Body.Close()
	to, err := resp.Location()
	switch {
	case resp.StatusCode != http.StatusFound && resp.StatusCode != http.StatusMovedPermanently:
		return Release{}, fmt.Errorf("asking for the latest release: %s answers %d %s, where a redirect is expected",
			address, resp.StatusCode, http.StatusText(resp.StatusCode))
	case err != nil:
		return Release{}, fmt.Errorf("asking for the latest release: the redirect of %s: %w", address, err)
	}
	return released(address, to)
}

// released reads the release from the page that the address leads to.
func released(address string, page *url.URL) (Release, error) {
	home := strings.TrimSuffix(address, "/latest")
	switch tag, ok := strings.CutPrefix(page.String(), home+"/tag/"); {
	case page.String() == home: // the list of releases, which is empty
		return Release{}, nil
	case ok && semver.IsValid(tag) && semver.Canonical(tag) == tag:
		return Release{Version: tag, URL: page.String()}, nil
	}
	return Release{}, fmt.Errorf("asking for the latest release: %s leads to %q, which is no release of codemode",
		address, page.Host+path.Clean("/"+page.Path))
}

// ErrNoVersion is the error of a binary that was built without a version, so that nothing can be compared.
var ErrNoVersion = errors.New("this binary has no version: it was not built from a tag, nor by go install")

// Newer tells whether a release is newer than a version, by the rules of semantic versions: v1.0.0-rc.1 is older than
// v1.0.0, and what follows a plus sign (v1.0.0+dirty) does not count.
func (r Release) Newer(than string) (bool, error) {
	if !semver.IsValid(than) {
		return false, ErrNoVersion
	}
	return r.Version != "" && semver.Compare(r.Version, than) > 0, nil
}

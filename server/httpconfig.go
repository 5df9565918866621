package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
)

// httpConfig is the key "http" of a configuration, checked:
//
//	"http": {
//	  "tokens": [
//	    { "token": "${ANNA_TOKEN}", "principal": "anna", "profiles": ["supervised"] },
//	    { "token": "sha256:9f86d081...", "principal": "ci", "profiles": ["readonly"] }
//	  ],
//	  "hosts": ["codemode.example.com"],
//	  "origins": ["https://codemode.example.com"]
//	}
//
// With tokens nobody gets in without one, from this machine neither.
type httpConfig struct {
	tokens  map[string]*caller // by their fingerprints
	hosts   []string           // names that a request may be for, beside those of this machine
	origins []string           // of pages that may send requests, beside our own
}

// A caller is whom a token belongs to.
type caller struct {
	principal string
	reach     reach
}

// maxTokens bounds what is compared with each request.
const maxTokens = 10_000

// leastToken is the shortest token that is not guessed.
const leastToken = 16

// longestPrincipal is how long the name of a principal may be.
const longestPrincipal = 128

var (
	variable      = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	principalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@+-]*$`)
	hostName      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
)

// readHTTP reads the key "http". A token stands in the file as the variable that it is in, or as its digest.
func readHTTP(raw json.RawMessage, env func(string) (string, bool)) (*httpConfig, error) {
	c := &httpConfig{tokens: map[string]*caller{}}
	if len(raw) == 0 || string(raw) == "null" {
		return c, nil
	}
	var file struct {
		Tokens []struct {
			Token     string          `json:"token"`
			Principal string          `json:"principal"`
			Profiles  json.RawMessage `json:"profiles"`
		} `json:"tokens"`
		Hosts   []string `json:"hosts"`
		Origins []string `json:"origins"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("http: %s; it takes tokens, hosts and origins", strings.TrimPrefix(err.Error(), "json: "))
	}
	if len(file.Tokens) > maxTokens {
		return nil, fmt.Errorf("http.tokens: there are %d, the limit is %d", len(file.Tokens), maxTokens)
	}
	for i, t := range file.Tokens {
		digest, err := tokenDigest(t.Token, env)
		within, reachErr := readReach(t.Profiles)
		switch {
		case err != nil:
		case c.tokens[digest] != nil:
			err = errors.New("this token stands there twice")
		case t.Principal != "" && (len(t.Principal) > longestPrincipal || !principalName.MatchString(t.Principal)):
			err = fmt.Errorf("the principal %.40q has other characters than letters, digits and ._:@+-", t.Principal)
		default:
			err = reachErr
		}
		if err != nil {
			return nil, fmt.Errorf("http.tokens[%d]: %w", i, err)
		}
		who := &caller{principal: t.Principal, reach: within}
		if who.principal == "" {
			who.principal = digest
		}
		c.tokens[digest] = who
	}
	for _, h := range file.Hosts {
		h = strings.ToLower(h)
		if _, err := netip.ParseAddr(h); err != nil && !hostName.MatchString(h) {
			return nil, fmt.Errorf("http.hosts: %.80q is no name of a host; write it without scheme and port", h)
		}
		c.hosts = append(c.hosts, h)
	}
	for _, o := range file.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return nil, fmt.Errorf("http.origins: %.80q is no origin such as https://codemode.example.com", o)
		}
		c.origins = append(c.origins, strings.ToLower(o))
	}
	return c, nil
}

// readReach reads the profiles of a token. Only a token without the key is for all.
func readReach(raw json.RawMessage) (reach, error) {
	if raw == nil {
		return reach{all: true}, nil
	}
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil || names == nil || slices.Contains(names, "") {
		return reach{}, errors.New("profiles has to be a list of names of profiles; leave it out to allow all")
	}
	if len(names) == 0 {
		return reach{}, errors.New("with an empty list of profiles it is good for nothing; leave profiles out to allow all")
	}
	return reach{names: names}, nil
}

// tokenDigest is the fingerprint of the token that stands in a configuration in one of two ways.
func tokenDigest(text string, env func(string) (string, bool)) (string, error) {
	if digest, ok := strings.CutPrefix(text, "sha256:"); ok {
		if sum, err := hex.DecodeString(digest); err != nil || len(sum) != sha256.Size {
			return "", errors.New("after sha256: there have to be 64 hexadecimal digits, as sha256sum prints them for the token without a line break")
		}
		return "sha256:" + strings.ToLower(digest), nil
	}
	name := variable.FindStringSubmatch(text)
	if name == nil {
		return "", errors.New(`a token does not stand in the file itself: write "${VARIABLE}", or "sha256:" and its digest`)
	}
	var token string
	if env != nil {
		token, _ = env(name[1])
	}
	switch {
	case token == "":
		return "", fmt.Errorf("the variable %s is not set", name[1])
	case len(token) < leastToken:
		return "", fmt.Errorf("the token in %s has %d characters; one that is not guessed has at least %d", name[1], len(token), leastToken)
	case strings.ContainsAny(token, " \t\r\n"):
		return "", fmt.Errorf("the token in %s has a space or a line break in it", name[1])
	}
	return codemode.Fingerprint(token), nil
}

// serves reports whether a request with this Host, which came in at that address of ours, is for us. A page that made a name of
// its own point at this machine sends that name.
func (c *httpConfig) serves(host string, local net.Addr) bool {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	} else if inner, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	if slices.Contains(c.hosts, name) {
		return true
	}
	at, err := netip.ParseAddrPort(addrText(local))
	if err != nil {
		return false
	}
	here := at.Addr().Unmap().WithZone("")
	if name == "localhost" {
		return here.IsLoopback()
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	ip = ip.Unmap()
	return ip == here || ip.IsLoopback() && here.IsLoopback()
}

func addrText(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// admits reports whether a page of this origin may send requests to a host that serves accepted.
func (c *httpConfig) admits(origin, host string) bool {
	if origin == "" {
		return true // not a browser, or a page of our own that only reads
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // "null" too
	}
	return strings.EqualFold(u.Host, host) && (u.Scheme == "http" || u.Scheme == "https") || slices.Contains(c.origins, strings.ToLower(origin))
}

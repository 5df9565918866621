package server

import (
	"bytes"
	"cmp"
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
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/inforce"
)

// httpConfig is the key "http" of a configuration, whose form was checked with the file. With tokens nobody gets in
// without one, from this machine neither.
type httpConfig struct {
	tokens  map[string]*caller // by their fingerprints
	hosts   []string           // names that a request may be for, beside those of this machine
	grace   *time.Duration     // how long programs have to finish; nil says nothing
	origins []string           // of pages that may send requests, beside our own
}

// A caller is whom a token belongs to.
type caller struct {
	principal string
	reach     reach
	answers   bool // it answers questions on the page and runs nothing, see [Answerers]
}

// leastToken is the shortest token that is not guessed.
const leastToken = 16

var variable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// CheckHTTP says what keeps a configuration from being served over HTTP where the variables are those of env. The error
// is [config.Problems].
func CheckHTTP(cfg *config.Config, env func(string) (string, bool)) error {
	_, err := readHTTP(cfg, env)
	return err
}

// readHTTP reads the key "http". A token stands in the file as the variable that it is in, or as its digest.
func readHTTP(cfg *config.Config, env func(string) (string, bool)) (*httpConfig, error) {
	c := &httpConfig{tokens: map[string]*caller{}}
	if cfg == nil || len(cfg.HTTP) == 0 {
		return c, nil
	}
	var file struct {
		Tokens []struct {
			Token     string   `json:"token"`
			Principal string   `json:"principal"`
			Profiles  []string `json:"profiles"`
			Answers   bool     `json:"answers"`
		} `json:"tokens"`
		Hosts   []string `json:"hosts"`
		Origins []string `json:"origins"`
		Grace   string   `json:"grace"`
	}
	d := json.NewDecoder(bytes.NewReader(cfg.HTTP))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil { // the file was checked
		return nil, fmt.Errorf("http: %w", err)
	}
	var wrong config.Problems
	for i, t := range file.Tokens {
		digest, err := tokenDigest(t.Token, env)
		if err == nil && c.tokens[digest] != nil {
			err = errors.New("this token stands there twice")
		}
		if err != nil {
			wrong = append(wrong, cfg.ProblemAt(err.Error(), "", "http", "tokens", i, "token"))
			continue
		}
		who := &caller{principal: cmp.Or(t.Principal, digest), answers: t.Answers}
		if !t.Answers {
			who.reach = reach{all: t.Profiles == nil, names: t.Profiles}
		}
		c.tokens[digest] = who
	}
	if file.Grace != "" {
		grace, err := time.ParseDuration(file.Grace)
		if err != nil || grace < 0 {
			why := fmt.Sprintf("%q is not a length of time such as 10s", file.Grace)
			wrong = append(wrong, cfg.ProblemAt(why, "", "http", "grace"))
		}
		c.grace = &grace
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	for _, h := range file.Hosts {
		c.hosts = append(c.hosts, strings.ToLower(h))
	}
	for _, o := range file.Origins {
		c.origins = append(c.origins, strings.ToLower(o))
	}
	return c, nil
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
	return inforce.Fingerprint(token), nil
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

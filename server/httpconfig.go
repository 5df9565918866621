package server

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/server/oauth"
)

// httpConfig is the key "http" of a configuration. If it lists tokens, every caller needs one, also on this machine.
type httpConfig struct {
	config.HTTP
	of     *config.Config     // what it was read from; nil without a configuration
	tokens map[string]*caller // by their fingerprints
	oauth  *oauth.Resource    // verifies access tokens of issuers; nil accepts none
}

// A caller is the owner of a token.
type caller struct {
	principal string
	reach     reach
	answers   bool // the token answers questions on the page and runs nothing, see [Answerers]
}

// readHTTP reads the key "http", with the variables of env. The error is [config.Problems].
func readHTTP(cfg *config.Config, env func(string) (string, bool)) (*httpConfig, error) {
	h, err := cfg.HTTP(env)
	if err != nil {
		return nil, err
	}
	if h.OAuth != nil { // requests come for its address
		if u, err := url.Parse(h.OAuth.Resource); err == nil {
			h.Hosts = append(slices.Clip(h.Hosts), strings.ToLower(u.Hostname()))
		}
	}
	c := &httpConfig{HTTP: h, of: cfg, tokens: map[string]*caller{}}
	for _, t := range h.Tokens {
		who := &caller{principal: cmp.Or(t.Principal, t.Fingerprint), answers: t.Answers}
		if !t.Answers {
			who.reach = reach{all: t.Profiles == nil, names: t.Profiles}
		}
		c.tokens[t.Fingerprint] = who
	}
	return c, nil
}

// Package rest sends the calls of programs to an HTTP API that an OpenAPI description describes.
//
// The operator's [Options] are trusted. The description, the arguments and the answers are not: they decide neither
// where a request goes nor what goes with it besides the arguments. A [Client] is made once for an API:
//
//	c, err := rest.New(rest.Options{Base: base, Key: &rest.Key{In: openapi.InHeader, Name: "X-Key", Value: key}})
//	a, err := c.Call(ctx, plan, args, nil)
//
// A user may rely on these rules:
//
//   - Requests go to the origin and below the base path of the options. Redirects and next pages stay on that origin.
//     An argument adds no segment to a path, no parameter to a query and no header, unless the plan says so.
//   - The address is checked as it is dialled: what is not on the internet has to be named by [Options.AllowPrivate].
//   - A write is never sent twice, except after 429 or 503, and then only if its method or its key makes that safe.
//   - No credential of the options is in a result or an error, as long as it has six characters.
//
// The errors of a call tell what has happened. With an [*ArgumentError] nothing was sent. A [*StatusError] is the
// API's refusal. After an [*AnswerError] the call has been done. An [*UnknownError] leaves that open. With any other
// error nothing was sent, or a read got no answer.
//
// What a call is allowed to do is decided before, elsewhere.
package rest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// A Key is an API key in a header or in the query.
type Key struct {
	In    string // [openapi.InHeader] or [openapi.InQuery]
	Name  string
	Value string
}

// Options are what the operator says about an API.
type Options struct {
	Base *url.URL // scheme, host and base path; with http, everybody on the way can read and change the calls
	// Headers are sent with every request, and win over arguments. Those that hold secrets by their names are masked.
	Headers http.Header
	Key     *Key // nil: none
	// Send sends a request over a transport, with credentials that change. It may send it twice if the API refused it
	// the first time. nil sends it as it is.
	Send func(http.RoundTripper, *http.Request) (*http.Response, error)
	// Secrets lists the credentials that Send adds at the moment, so that they are masked; nil is none.
	Secrets func() []string
	// AllowPrivate has host names and ranges of addresses that may be dialled although they are not on the internet.
	AllowPrivate []string
	Slashes      []string    // arguments in the path that may be several segments
	MaxAnswer    int64       // bytes of an answer, after it is decompressed; 0 is 32 MiB
	TLS          *tls.Config // nil: as usual
}

const answerMax = 32 << 20

// A Client sends calls to one API. Any number of goroutines may use it.
type Client struct {
	o         Options // copied
	base      url.URL
	root      string          // the escaped path of base, without a slash at its end
	operators map[string]bool // the folded names of headers that the operator sets
	transport *http.Transport
	hidden    *secrets.Values // of the options
	seal      []byte          // signs what [Answer.Next] holds besides declared arguments
	sleep     func(context.Context, time.Duration) error
}

// New checks the options and returns a Client for them. It sends nothing.
func New(o Options) (*Client, error) {
	switch u := o.Base; {
	case u == nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("the base address has to begin with https:// and a host")
	case u.User != nil:
		return nil, errors.New("the base address has a user or a password in it: use a header")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, errors.New("the base address has a query or a fragment")
	case climbs(u.EscapedPath()):
		return nil, errors.New("the base address has . or .. in its path")
	}
	r, err := newReach(o.AllowPrivate)
	if err != nil {
		return nil, err
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = answerMax
	}
	c := &Client{base: *o.Base, root: strings.TrimRight(o.Base.EscapedPath(), "/"), operators: map[string]bool{},
		transport: r.transport(), seal: make([]byte, 32), sleep: sleep}
	c.transport.TLSClientConfig = o.TLS.Clone()
	_, _ = rand.Read(c.seal) // never fails
	headers := http.Header{}
	for name, values := range o.Headers {
		if !isToken(name) || folded(name) == "host" || folded(name) == "accept-encoding" {
			return nil, fmt.Errorf("%q cannot be set as a header", name)
		}
		for _, v := range values {
			if !isHeaderText(v) {
				return nil, fmt.Errorf("the value of the header %s has a sign that headers cannot have", name)
			}
			headers.Add(name, v)
		}
		c.operators[folded(name)] = true
	}
	if k := o.Key; k != nil {
		switch key := *k; {
		case k.In == openapi.InHeader && isToken(k.Name) && isHeaderText(k.Value):
			headers.Set(k.Name, k.Value)
			c.operators[folded(k.Name)] = true
			o.Key = &key
		case k.In == openapi.InQuery && k.Name != "":
			o.Key = &key
		default:
			return nil, errors.New("the key is neither in a header nor in the query, or has signs that cannot be there")
		}
	}
	o.Headers = headers
	c.o = o
	c.hidden = secrets.Known(c.credentials(), secrets.Mask)
	return c, nil
}

// Close ends the connections that are idle. Calls may still run.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// mask masks the credentials of now.
func (c *Client) mask() *secrets.Values {
	if c.o.Secrets == nil {
		return c.hidden
	}
	return secrets.Known(append(c.credentials(), c.o.Secrets()...), secrets.Mask)
}

// isKey reports whether a parameter of the query is the key of the operator, which wins.
func (c *Client) isKey(name string) bool {
	return c.o.Key != nil && c.o.Key.In == openapi.InQuery && folded(c.o.Key.Name) == folded(name)
}

// withoutKey removes the key from an address of the API.
func (c *Client) withoutKey(u *url.URL) *url.URL {
	clone := *u
	list := queryPairs(u.RawQuery)
	kept := slices.DeleteFunc(slices.Clone(list), func(p pair) bool { return c.isKey(unescape(p.name)) })
	if len(kept) < len(list) {
		clone.RawQuery = joinPairs(kept)
	}
	return &clone
}

// credentials lists the values that no text may show: the key, and those of headers that hold secrets by their names.
func (c *Client) credentials() []string {
	var all []string
	if c.o.Key != nil {
		all = append(all, c.o.Key.Value)
	}
	for name, values := range c.o.Headers {
		if !secrets.IsVariable(name) {
			continue
		}
		for _, v := range values {
			all = append(all, v)
			scheme, rest, spaced := strings.Cut(v, " ")
			if !spaced {
				continue
			}
			all = append(all, strings.TrimSpace(rest)) // Bearer ...
			if user, password, ok := (&http.Request{Header: http.Header{"Authorization": {v}}}).BasicAuth(); ok &&
				strings.EqualFold(scheme, "Basic") {
				all = append(all, user+":"+password, password)
			}
		}
	}
	return all
}

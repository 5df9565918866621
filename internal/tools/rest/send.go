package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

const (
	redirectsMax = 3
	repeatsMax   = 3 // after 429 and 503
	waitMax      = time.Minute
	waitMin      = 250 * time.Millisecond
)

// do sends a request, follows redirects and repeats what may be repeated. take reads the last answer.
func (c *Client) do(ctx context.Context, m *message, take func(*http.Response) error) error {
	var waited time.Duration
	repeats, redirects, lost := 0, 0, 0
	for {
		resp, err := c.send(ctx, m)
		if err == nil {
			again := true
			wait := c.wait(ctx, m, resp, waitMax-waited)
			switch {
			case isRedirect(resp.StatusCode) && resp.Header.Get("Location") != "":
				redirects++
				err = c.redirect(m, resp, redirects)
			case wait > 0 && repeats < repeatsMax:
				repeats, waited = repeats+1, waited+wait
				_, _ = io.CopyN(io.Discard, resp.Body, errorMax) // so that the connection can be used again
				err = c.sleep(ctx, wait)
			default:
				again, err = false, take(resp)
			}
			_ = resp.Body.Close()
			if err == nil && again {
				continue
			}
		}
		switch {
		case err == nil:
			return nil
		case isLost(err) && m.reads() && !m.streams && lost == 0 && ctx.Err() == nil:
			lost++
		case m.acted != "":
			return &UnknownError{m.acted, err}
		case !m.reads() && (isLost(err) || repeats > 0 && !isAnswer(err)):
			return &UnknownError{m.method, err}
		default:
			return err
		}
	}
}

func isLost(err error) bool {
	_, lost := errors.AsType[*lostError](err)
	return lost
}

func isAnswer(err error) bool {
	_, refused := errors.AsType[*StatusError](err)
	_, unusable := errors.AsType[*AnswerError](err)
	return refused || unusable
}

// send sends a request once. The error is a [*lostError] if the API may have got it.
func (c *Client) send(ctx context.Context, m *message) (*http.Response, error) {
	u := *m.url
	if k := c.o.Key; k != nil && k.In == openapi.InQuery {
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += pair{escape(k.Name), escape(k.Value)}.String()
	}
	r := (&http.Request{Method: m.method, URL: &u, Host: u.Host, Header: m.header.Clone(), Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if len(m.body) > 0 {
		r.ContentLength = int64(len(m.body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.body)), nil }
		r.Body, _ = r.GetBody()
	}
	t := &wire{c: c, m: m}
	var resp *http.Response
	var err error
	if c.o.Send != nil {
		resp, err = c.o.Send(t, r)
	} else {
		resp, err = t.RoundTrip(r)
	}
	switch {
	case err != nil && resp != nil: // the API has refused it, see Options.Send
		return nil, err
	case err != nil && t.used.Load():
		return nil, &lostError{err}
	case err != nil:
		return nil, fmt.Errorf("nothing was sent to %s: %w", c.base.Host, err)
	}
	return resp, nil
}

// A wire is the transport for one request. It notes whether a connection was used.
type wire struct {
	c    *Client
	m    *message
	used atomic.Bool
}

// RoundTrip implements [http.RoundTripper]. The trace is set here, because Send may send other requests too.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if secrets.SchemeHostPort(r.URL) != secrets.SchemeHostPort(&w.c.base) {
		return nil, errors.New("the request is for another origin")
	}
	return w.c.transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			w.used.Store(true)
			if w.m.sent != nil {
				w.m.once.Do(w.m.sent)
			}
		}})))
}

func isRedirect(code int) bool {
	return code == http.StatusMovedPermanently || code == http.StatusFound || code == http.StatusSeeOther ||
		code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect
}

// redirect makes a request the one to which the API redirects it. The error is a [*StatusError].
func (c *Client) redirect(m *message, resp *http.Response, count int) error {
	fail := func(text string) error { return &StatusError{Status: resp.StatusCode, Message: text} }
	to, err := m.url.Parse(resp.Header.Get("Location"))
	gets := resp.StatusCode == http.StatusSeeOther || resp.StatusCode == http.StatusFound
	switch {
	case err != nil:
		return fail("it redirects to an address that cannot be read")
	case to.User != nil:
		return fail("it redirects to an address with a user")
	case secrets.SchemeHostPort(to) != secrets.SchemeHostPort(&c.base):
		return fail(fmt.Sprintf("%s redirects to another origin, %.100q, which got no request and no credential",
			secrets.SchemeHost(c.base.String()), to.Scheme+"://"+to.Host))
	case count > redirectsMax:
		return fail("it redirects in circles")
	case !m.reads() && !gets:
		return fail("it redirects a write, which is not sent again")
	}
	if !m.reads() {
		m.acted, m.method, m.body = m.method, http.MethodGet, nil
		m.header.Del("Content-Type")
	}
	to.Fragment = ""
	m.url = c.withoutKey(to)
	m.repeatable = true
	return nil
}

// wait is how long to wait before a request is sent again; 0 says that it is not.
func (c *Client) wait(ctx context.Context, m *message, resp *http.Response, most time.Duration) time.Duration {
	code := resp.StatusCode
	if !m.repeatable || code != http.StatusTooManyRequests && code != http.StatusServiceUnavailable {
		return 0
	}
	wait, said := retryAfter(resp.Header)
	wait = max(wait, waitMin)
	end, limited := ctx.Deadline()
	if !said || wait > most || limited && time.Until(end) <= wait {
		return 0
	}
	return wait
}

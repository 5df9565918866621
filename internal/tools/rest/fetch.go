package rest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// FetchOptions say which description to get. The addresses are checked as those of calls.
type FetchOptions struct {
	URL          *url.URL
	Headers      http.Header // as in [Options]
	AllowPrivate []string    // as in [Options]
	Max          int64       // bytes of the description after it is decompressed; 0 is 128 MiB
	ETag         string      // of the description that is there; "" gets it in any case
	TLS          *tls.Config // as in [Options]
}

// A Fetched says what [Fetch] got.
type Fetched struct {
	Same  bool // the description still has the ETag, and nothing was written
	ETag  string
	Bytes int64
}

const descriptionMax = 128 << 20

// Fetch gets a description and writes it to w. After an error, w has an unknown part of it.
func Fetch(ctx context.Context, o FetchOptions, w io.Writer) (*Fetched, error) {
	if o.URL == nil {
		return nil, fmt.Errorf("the description has no address")
	}
	if o.Max <= 0 {
		o.Max = descriptionMax
	}
	base := *o.URL
	base.Path, base.RawPath, base.RawQuery, base.Fragment, base.ForceQuery = "", "", "", "", false
	c, err := New(Options{Base: &base, Headers: o.Headers, AllowPrivate: o.AllowPrivate, TLS: o.TLS})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	m := &message{method: http.MethodGet, url: o.URL, header: c.o.Headers.Clone(), repeatable: true, streams: true}
	m.header.Set("Accept", "application/json, application/yaml, */*;q=0.8")
	if o.ETag != "" && isHeaderText(o.ETag) {
		m.header.Set("If-None-Match", o.ETag)
	}
	f := &Fetched{}
	err = c.do(ctx, m, func(resp *http.Response) (err error) {
		f.ETag, f.Same = resp.Header.Get("ETag"), resp.StatusCode == http.StatusNotModified
		switch {
		case f.Same:
			return nil
		case resp.StatusCode != http.StatusOK:
			return readError(resp, c.hidden)
		}
		f.Bytes, err = io.Copy(w, io.LimitReader(resp.Body, o.Max+1))
		if err == nil && f.Bytes > o.Max {
			return fmt.Errorf("the description is longer than %d bytes", o.Max)
		}
		return err
	})
	if err != nil {
		return nil, clean(err, c.hidden)
	}
	return f, nil
}

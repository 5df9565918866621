package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// Call sends the arguments, an object, as the plan says. It calls sent, unless nil, once, before the first byte leaves.
func (c *Client) Call(ctx context.Context, p *openapi.Plan, args json.RawMessage, sent func()) (*Answer, error) {
	hidden := c.mask()
	v, err := strictjson.Parse(args, strictjson.Options{})
	if err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	m, err := c.request(p, v)
	if err != nil {
		return nil, clean(err, hidden)
	}
	m.sent = sent
	first := m.url // redirects change it
	pages := p.Method == http.MethodGet || p.Method == http.MethodPost
	var a *Answer
	err = c.do(ctx, m, func(resp *http.Response) (err error) {
		a, err = c.read(resp, hidden)
		if err == nil && pages && a.Block == nil {
			links := hidden.Hide(strings.Join(resp.Header["Link"], ","))
			a.Next = (&pager{c, p, v, first, m.fixed, a.Value, index(a.Value), hidden}).next(links)
		}
		return err
	})
	if err != nil {
		return nil, clean(err, hidden)
	}
	return a, nil
}

// clean removes credentials and addresses from an error. The types of this package stay.
func clean(err error, hidden *secrets.Values) error {
	switch e := err.(type) {
	case *ArgumentError:
		return &ArgumentError{hidden.Hide(e.Path), hidden.Hide(e.Message)}
	case *StatusError: // its body is masked already: it may be JSON
		return &StatusError{e.Status, e.Body, hidden.Hide(e.Message), e.RetryAfter}
	case *AnswerError:
		return &AnswerError{e.Status, hidden.Hide(e.Message)}
	case *UnknownError:
		return &UnknownError{e.Method, clean(e.Err, hidden)}
	}
	if text := hidden.Hide(secrets.HideAddress(err).Error()); text != err.Error() {
		return &cleanError{text, err}
	}
	return err
}

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/tools/openapi"
	"github.com/codemode-project/codemode/internal/tools/rest"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// An apiLink is the link to an HTTP API. It has no connection: each call is a request of its own.
type apiLink struct {
	server *Server
	host   *host
	client *rest.Client

	life  context.Context // ends with the link
	end   context.CancelCauseFunc
	told  chan struct{} // of another description
	never chan struct{}

	calls sync.WaitGroup // guarded by mu for Add

	mu     sync.Mutex
	closed bool
	now    *description
	ops    map[string]*openapi.Operation // by name
}

// openAPI reads the description of an API. It sends the API nothing.
func (h *host) openAPI(ctx context.Context, s *Server, a *login.Account) (link, error) {
	d, err := h.describe(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	base, err := baseOf(s, d.doc)
	if err != nil {
		return nil, err
	}
	l := &apiLink{server: s, host: h, told: make(chan struct{}, 1), never: make(chan struct{})}
	if l.client, err = rest.New(apiOptions(s, base, d.doc, a)); err != nil {
		return nil, err
	}
	l.life, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	l.take(d)
	if d.etag == "" {
		go l.watch(s.API.Description, d.stamp)
	}
	return l, nil
}

// baseOf returns the address of the API. That of its description is a proposal only: who wrote it could have the
// credentials sent anywhere.
func baseOf(s *Server, d *openapi.Document) (*url.URL, error) {
	if s.URL != "" {
		return url.Parse(s.URL)
	}
	if len(d.Servers) == 0 {
		return nil, errors.New(`its entry needs a "baseURL": its description names no address`)
	}
	return nil, fmt.Errorf(`its entry needs a "baseURL": its description proposes %q`, d.Servers[0])
}

func apiOptions(s *Server, base *url.URL, d *openapi.Document, a *login.Account) rest.Options {
	o := rest.Options{Base: base, Headers: s.Headers.Clone(), AllowPrivate: s.API.AllowPrivate, Slashes: s.API.Slashes}
	if k := s.API.Key; k != nil {
		o.Key = &rest.Key{In: openapi.InHeader, Name: k.Name, Value: k.Value}
		if k.Query {
			o.Key.In = openapi.InQuery
		}
		i := slices.IndexFunc(d.Schemes, func(s openapi.Scheme) bool { return s.Type == "apiKey" })
		if k.Name == "" && i >= 0 {
			o.Key.Name, o.Key.In = d.Schemes[i].Name, d.Schemes[i].In
		}
	}
	if s.API.Username != "" || s.API.Password != "" {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(s.API.Username, s.API.Password)
		if o.Headers == nil {
			o.Headers = http.Header{}
		}
		o.Headers.Set("Authorization", r.Header.Get("Authorization"))
	}
	if a != nil {
		o.Send, o.Secrets = a.RoundTrip, a.Secrets
	}
	return o
}

// take makes a description the current one.
func (l *apiLink) take(d *description) {
	ops := make(map[string]*openapi.Operation, len(d.doc.Operations))
	for _, op := range d.doc.Operations {
		ops[op.Name] = op
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.ops = d, ops
}

// watch looks whether the file of the description has changed.
func (l *apiLink) watch(path string, was stamp) {
	tick := time.NewTicker(describedPause)
	defer tick.Stop()
	for {
		select {
		case <-l.life.Done():
			return
		case <-tick.C:
		}
		if is := stampOf(path); is != was {
			was = is
			notice(l.told)
		}
	}
}

func (l *apiLink) list(ctx context.Context) (*toolList, error) {
	l.mu.Lock()
	d := l.now
	l.mu.Unlock()
	d, err := l.host.describe(ctx, l.server, d)
	if err != nil {
		return nil, err
	}
	l.take(d)
	page, all := new(toolList), &toolList{most: operationsMax}
	page.tools, all.tools = make([]Tool, 0, len(d.doc.Operations)), make([]Tool, 0, len(d.doc.Operations))
	hints := map[string]json.RawMessage{} // by what they say: many operations have the same
	unknown := map[string]bool{}
	for name := range l.server.API.Effects {
		unknown[name] = true
	}
	for _, op := range d.doc.Operations {
		delete(unknown, op.Name)
		page.tools = append(page.tools, toolOf(op, d, l.server.API.Effects[op.Name], hints))
	}
	for _, n := range d.doc.Notes {
		page.note("%s", n)
	}
	for _, left := range d.doc.Left {
		page.note("%s %s cannot be called: %s", left.Method, left.Path, left.Why)
	}
	for name := range unknown {
		page.note("it has no operation %q, whose effect the configuration says", name)
	}
	all.add(page, l.server)
	all.finish(l.server)
	return all, nil
}

// operationsMax is how many operations of one API are tools.
const operationsMax = 50_000

// toolOf is an operation as a tool. Its hints are what our rules found, or what the operator says: never what the
// description claims to do beyond its methods, names and summaries.
func toolOf(op *openapi.Operation, d *description, said string, hints map[string]json.RawMessage) Tool {
	effect, why := op.Effect, op.Why
	if said != "" {
		effect, why = said, said+", by the configuration"
	}
	key := op.Method + " " + why
	if hints[key] == nil {
		hints[key] = hintsOf(effect, why, op.Method)
	}
	return Tool{Name: op.Name, Title: op.Method + " " + op.Path, Description: op.Summary, Annotations: hints[key],
		Source: &operation{op, d}}
}

func hintsOf(effect, why, method string) json.RawMessage {
	idempotent := slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}, method)
	return marshal(map[string]any{
		"readOnlyHint": effect == "reads", "destructiveHint": effect == "destroys", "openWorldHint": effect == "sends",
		"idempotentHint": idempotent, "effect": why,
	})
}

// An operation is an operation as a [catalog.Source].
type operation struct {
	*openapi.Operation
	of *description
}

func (o *operation) Input() json.RawMessage {
	input, err := o.Operation.Input()
	if err != nil { // the call says why it cannot be made
		return anyObject
	}
	return input
}

func (o *operation) Output() json.RawMessage {
	output, _ := o.Operation.Output() // what cannot be read says nothing
	return output
}

// Text implements [catalog.Source].
func (o *operation) Text() json.RawMessage { return wordsOf(o.Operation) }

func (o *operation) Document() string { return o.of.digest }

func (l *apiLink) call(ctx context.Context, tool string, args json.RawMessage, o CallOptions) (*Result, error) {
	l.mu.Lock()
	op, over := l.ops[tool], l.closed
	if !over {
		l.calls.Add(1)
		defer l.calls.Done()
	}
	l.mu.Unlock()
	switch {
	case over:
		return nil, &Error{Server: l.server.Name, Tool: tool, Err: errStopped, again: true}
	case op == nil:
		return nil, &ToolError{Server: l.server.Name, Tool: tool, Message: fmt.Sprintf("unknown tool %q", tool)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(context.Cause(l.life)) })()
	plan, err := op.Plan()
	if err != nil {
		return nil, &Error{Server: l.server.Name, Tool: tool, Err: fmt.Errorf("its description does not say how: %w", err)}
	}
	a, err := l.client.Call(ctx, plan, args, o.Sent)
	if err != nil {
		return nil, l.failure(ctx, tool, err)
	}
	return apiResult(ctx, a)
}

func apiResult(ctx context.Context, a *rest.Answer) (*Result, error) {
	if a.Block != nil {
		return readContent(ctx, marshal(a.Block))
	}
	r := &Result{Structured: a.Value, Next: a.Next}
	var err error
	r.Value, err = r.withoutBlocks(ctx, a.Value, 0)
	return r, err
}

// failure says of an error what it means for the caller.
func (l *apiLink) failure(ctx context.Context, tool string, err error) error {
	said := func(message string, r *Result) error {
		return &ToolError{Server: l.server.Name, Tool: tool, Message: short(message), Result: r}
	}
	if refused, ok := errors.AsType[*rest.StatusError](err); ok {
		r := &Result{Structured: refused.Body, Value: refused.Body, Status: refused.Status}
		if refused.Body == nil {
			r.Value = json.RawMessage("null")
		}
		return said(refused.Error(), r)
	}
	if wrong, ok := errors.AsType[*rest.ArgumentError](err); ok {
		return said("nothing was sent: "+wrong.Error(), nil)
	}
	if bad, ok := errors.AsType[*rest.AnswerError](err); ok {
		return said(bad.Error(), nil)
	}
	if needed, ok := errors.AsType[*login.Error](err); ok {
		return &Error{Server: l.server.Name, Tool: tool, Err: needed}
	}
	lost, unknown := errors.AsType[*rest.UnknownError](err)
	if unknown {
		err = lost.Err
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &Error{Server: l.server.Name, Tool: tool, Unknown: unknown, Err: err}
}

func (l *apiLink) fetch(context.Context, *fetching) (*Result, error) {
	return nil, &Error{Server: l.server.Name, Err: errors.New("it is an HTTP API, which has no resources and no prompts")}
}

func (l *apiLink) info() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.now.doc
	return Status{Instructions: d.About, Protocol: d.Format, Implementation: strings.TrimSpace(d.Title + " " + d.Version)}
}

func (l *apiLink) changed() <-chan struct{} { return l.told }
func (l *apiLink) news() <-chan struct{}    { return l.never }
func (l *apiLink) ended() <-chan struct{}   { return l.never }
func (l *apiLink) why() error               { return context.Cause(l.life) }
func (l *apiLink) forgotten() bool          { return false }

func (l *apiLink) drain(ctx context.Context) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	idle := make(chan struct{})
	go func() { l.calls.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

func (l *apiLink) close(grace context.Context) {
	l.drain(grace)
	l.end(errClosed)
	l.client.Close()
}

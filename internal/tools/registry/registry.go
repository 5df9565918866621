package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
	"github.com/codemode-project/codemode/profiles"
)

// CheckWait is how long Check and the catalogue wait for upstreams that start.
const CheckWait = 10 * time.Second

// A Registry holds the tools of the connected servers. It finds them for the Gate, and sends the calls that the Gate
// admits.
type Registry struct {
	log     *slog.Logger
	rules   *inforce.Rules
	Catalog *catalog.Catalog
	Manager *upstream.Manager
	changed func() // called when the known tools change
	// Trace returns what servers get in _meta about the trace of a call, in place of what its caller sent; nil, and a nil
	// result, leave that.
	Trace func(c *call.Call) map[string]any

	mu     sync.Mutex
	listed map[string]string    // the servers with known tools, and their instructions
	waited map[string]time.Time // the servers for which Ready has waited in vain, and since when they were starting
	said   map[string]bool      // problems that the log has
}

// saidMax bounds the problems in the log: a server can list new ones without end.
const saidMax = 10_000

// notesMax bounds [Registry.Notes].
const notesMax = 20

// Notes says in sentences what people should know about the tools of a server: what programs cannot call, and why, and
// what is not checked.
func (g *Registry) Notes(server string) (notes []string) {
	for _, w := range g.Catalog.Withheld() {
		if w.Tool != nil && w.Tool.Server == server {
			notes = append(notes, w.Error())
		}
	}
	for _, p := range g.Catalog.Problems() {
		if p.Server == server {
			notes = append(notes, p.String())
		}
	}
	if more := len(notes) - notesMax; more > 0 {
		notes = append(notes[:notesMax], fmt.Sprintf("and %d more", more))
	}
	return notes
}

// Options are what a Registry needs from outside.
type Options struct {
	Log             *slog.Logger
	Rules           *inforce.Rules
	Logins, Version string                                                            // see [upstream.Options]
	Principals      login.Options                                                     // likewise
	Confine         func(*servers.Server, upstream.Command) (upstream.Command, error) // likewise
	Changed         func()                                                            // called when the known tools change
}

// New makes a Registry without servers, see [upstream.Manager.Set].
func New(o Options) *Registry {
	g := &Registry{log: o.Log, rules: o.Rules, Catalog: catalog.New(), changed: o.Changed, listed: map[string]string{},
		waited: map[string]time.Time{}, said: map[string]bool{}}
	g.Manager = upstream.NewManager(upstream.Options{
		Log: o.Log, Lazy: true, Name: "codemode", Version: o.Version, Confine: o.Confine,
		ToolsChanged: g.toolsChanged, Gone: g.gone, Logins: o.Logins, Principals: o.Principals,
	})
	return g
}

// toolsChanged adds an upstream's list of tools to the catalogue.
func (g *Registry) toolsChanged(server string, tools []upstream.Tool, instructions string) {
	list := make([]catalog.Tool, 0, len(tools))
	for _, t := range tools {
		list = append(list, catalog.Tool{
			Server: server, Raw: t.Name, Title: t.Title, Description: t.Description,
			Input: t.Input, Output: t.Output, Annotations: withMarks(t.Annotations, t.Meta), Withheld: t.Withheld,
		})
	}
	list = catalog.Named(server, list)
	// Pin the tools before anybody can call them. The built-in servers are part of this program.
	if identity := g.rules.Server(server).Identity; identity != "" {
		changed, err := g.rules.Pins.Observe(server, identity, list)
		if err != nil {
			g.log.Error("comparing tools with their accepted definitions failed", "server", server, "error", err)
		}
		for _, name := range changed {
			g.log.Warn("the definition of a tool has changed since a person accepted it; its calls are asked about, and codemode review shows the change", "tool", name)
		}
	}
	problems := g.Catalog.Replace(server, list)
	g.mu.Lock()
	g.listed[server] = instructions
	for _, p := range problems {
		if said := server + " " + p.String(); !g.said[said] && len(g.said) < saidMax {
			g.said[said] = true
			g.log.Warn("a tool has a problem", "server", server, "error", p.String())
		}
	}
	g.mu.Unlock()
	g.changed()
}

func (g *Registry) gone(server string) {
	g.Catalog.Remove(server)
	g.mu.Lock()
	delete(g.listed, server)
	g.mu.Unlock()
	g.changed()
}

// startWait is how long a call waits for its server's first start, and startPoll is how often it checks.
const (
	startWait = 20 * time.Second
	startPoll = 20 * time.Millisecond
)

// Find finds a tool for the Gate. It waits while the server in the name is starting: programs may run before the
// upstreams are ready.
func (g *Registry) Find(ctx context.Context, name string) (*call.Tool, error) {
	t, err := g.Catalog.Find(name)
	for deadline := time.Now().Add(startWait); err != nil; {
		// The state is read before the catalogue, so that a list that comes in between is found.
		wait := g.starting(name) && ctx.Err() == nil && time.Now().Before(deadline)
		if g.Catalog.Has(name) || !wait {
			t, err = g.Catalog.Find(name)
			break
		}
		hostfns.Next(ctx)
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
		}
	}
	if err == nil {
		return g.Describe(t), nil
	}
	if _, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		if t := g.resource(name); t != nil {
			return t, nil
		}
	}
	return nil, g.Missing(name, err)
}

// starting reports whether the server of a canonical name has not listed its tools yet.
func (g *Registry) starting(name string) bool {
	s, ok := g.ServerOf(name)
	return ok && (s.State == upstream.Starting || s.State == upstream.Stopped || s.State == upstream.Ready)
}

// ServerOf finds the server in a canonical name, if its tools are unknown.
func (g *Registry) ServerOf(name string) (upstream.Status, bool) {
	for _, s := range g.Manager.Status() {
		if strings.HasPrefix(name, call.Name(s.Name, "")) || strings.HasPrefix(name, s.Name+call.Separator) {
			return s, !g.IsListed(s.Name)
		}
	}
	return upstream.Status{}, false
}

// Missing says for programs why a name has no tool.
func (g *Registry) Missing(name string, err error) error {
	if w, ok := errors.AsType[*catalog.WithheldError](err); ok {
		n := &hostfns.NotFoundError{Name: name, Reason: w.Code, Detail: w.Error()}
		if w.Tool != nil {
			n.Withheld = g.Describe(w.Tool)
		}
		return n
	}
	n := &hostfns.NotFoundError{Name: name}
	if missing, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		n.Nearest = missing.Nearest
	}
	s, ok := g.ServerOf(name)
	if !ok {
		return n
	}
	switch s.State {
	case upstream.Starting, upstream.Ready: // it is about to list them
		return &hostfns.StartingError{Name: name, Server: s.Name}
	case upstream.Failed:
		n.Reason = hostfns.ReasonFailed
		n.Detail = fmt.Sprintf("there is no tool %q, because the server %q could not be started: %s", name, s.Name, s.Error)
	case upstream.Disabled:
		n.Reason = hostfns.ReasonDisabled
		n.Detail = fmt.Sprintf("there is no tool %q, because the server %q is disabled in the configuration", name, s.Name)
	default:
		n.Detail = fmt.Sprintf("there is no tool %q: the server %q %s", name, s.Name, s.State.Verb())
	}
	return n
}

// Describe converts a tool of the catalogue for the Gate.
func (g *Registry) Describe(t *catalog.Tool) *call.Tool {
	server := g.rules.Server(t.Server)
	tool := &call.Tool{
		Server: t.Server, Raw: t.Raw, Name: t.Name, Title: t.Title, Description: t.Description,
		Input: t.Input, Annotations: t.Hints, Digest: t.Digest, Trusted: server.Trusted,
		Timeout: server.Timeout,
		Validate: func(ctx context.Context, args call.Arguments) error {
			return ArgumentError(t.Validate(ctx, args))
		},
		WithoutNulls: t.WithoutNulls,
	}
	g.checkOutput(t, tool)
	return tool
}

// Search, Tools and Declarations make the registry the Gate's Library.
func (g *Registry) Search(ctx context.Context, query string, limit int, visible func(*call.Tool) bool) []*call.Tool {
	g.ReadyOnce(ctx)
	var found []*call.Tool
	for _, m := range g.Catalog.Search(query, limit, func(t *catalog.Tool) bool { return visible(g.Describe(t)) }) {
		found = append(found, g.Describe(m.Tool))
	}
	return found
}

func (g *Registry) Tools(ctx context.Context) []*call.Tool {
	g.ReadyOnce(ctx)
	var tools []*call.Tool
	for _, t := range g.Catalog.Tools() {
		tools = append(tools, g.Describe(t))
	}
	return tools
}

func (g *Registry) Declarations(names []string) string {
	var tools []*catalog.Tool
	for _, name := range names {
		if t, err := g.Catalog.Find(name); err == nil {
			tools = append(tools, t)
		}
	}
	return catalog.Declarations(tools)
}

// Ready starts the upstreams and waits, at most so long, until each has listed its tools or failed to.
func (g *Registry) Ready(ctx context.Context, wait time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := g.Manager.Ready(waiting); err != nil {
		g.log.Debug("not every upstream is ready", "error", err)
		if wait < CheckWait || ctx.Err() != nil {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, s := range g.unlisted() {
			g.waited[s.Name] = s.Since
		}
	}
}

// ReadyOnce is Ready for those who look for tools. Of all of them together it waits once for each start of a server.
func (g *Registry) ReadyOnce(ctx context.Context) {
	g.Ready(ctx, 0)
	g.mu.Lock()
	waits := slices.ContainsFunc(g.unlisted(), func(s upstream.Status) bool { return !g.waited[s.Name].Equal(s.Since) })
	g.mu.Unlock()
	if waits {
		g.Ready(ctx, CheckWait)
	}
}

// Starting names the servers that are starting and have not listed their tools, sorted.
func (g *Registry) Starting() (names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.unlisted() {
		names = append(names, s.Name)
	}
	return names
}

// unlisted are the servers that are starting and have not listed their tools. The caller holds g.mu.
func (g *Registry) unlisted() []upstream.Status {
	return slices.DeleteFunc(g.Manager.Status(), func(s upstream.Status) bool {
		_, listed := g.listed[s.Name]
		return listed || s.State != upstream.Starting
	})
}

// withMarks adds those members of a tool's _meta that demand a person's approval to its annotations. So rules see them,
// the digest of the definition covers them, and a review shows them.
func withMarks(annotations, meta json.RawMessage) json.RawMessage {
	var said map[string]json.RawMessage
	if json.Unmarshal(meta, &said) != nil {
		return annotations // a value other than an object says nothing
	}
	var all map[string]json.RawMessage
	for key, value := range said {
		if !profiles.IsMark(key) {
			continue
		}
		if all == nil {
			if json.Unmarshal(annotations, &all) != nil || all == nil {
				all = map[string]json.RawMessage{}
			}
		}
		if _, twice := all[key]; twice {
			key = "_meta/" + key // neither revokes the other
		}
		all[key] = value
	}
	if all == nil {
		return annotations
	}
	joined, err := json.Marshal(all)
	if err != nil { // cannot happen: all of it was JSON
		return annotations
	}
	return joined
}

// ArgumentError converts an error of the catalogue about arguments to one of the Gate.
func ArgumentError(err error) error {
	if wrong, ok := errors.AsType[*catalog.ArgumentError](err); ok {
		out := &hostfns.ArgumentError{Path: wrong.Path, Expected: wrong.Want, Got: wrong.Got, Takes: wrong.Takes}
		for _, m := range wrong.More {
			out.More = append(out.More, &hostfns.ArgumentError{Path: m.Path, Expected: m.Want, Got: m.Got})
		}
		return out
	}
	return err
}

// IsListed reports whether a server has listed its tools.
func (g *Registry) IsListed(server string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.listed[server]
	return ok
}

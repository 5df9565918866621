package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/upstream"
)

// A registry has the tools of the connected servers: it finds them for the Gate and sends the calls that the Gate admits.
type registry struct {
	log     *slog.Logger
	rules   *inforce.Rules
	catalog *catalog.Catalog
	manager *upstream.Manager
	changed func() // is called when other tools are known

	mu     sync.Mutex
	listed map[string]string // the servers whose tools are known, and their instructions
}

// newRegistry makes one without servers, see [upstream.Manager.Set].
func newRegistry(o Options, r *inforce.Rules, changed func()) *registry {
	g := &registry{log: o.Log, rules: r, catalog: catalog.New(), changed: changed, listed: map[string]string{}}
	g.manager = upstream.NewManager(upstream.Options{
		Log: o.Log, Lazy: true, Name: "codemode", Version: o.Version,
		ToolsChanged: g.toolsChanged, Gone: g.gone, Logins: loginsIn(o.StateDir),
	})
	return g
}

// toolsChanged takes an upstream's list of tools into the catalogue.
func (g *registry) toolsChanged(server string, tools []upstream.Tool, instructions string) {
	list := make([]catalog.Tool, 0, len(tools))
	for _, t := range tools {
		list = append(list, catalog.Tool{
			Server: server, Raw: t.Name, Title: t.Title, Description: t.Description,
			Input: t.Input, Output: t.Output, Annotations: withMarks(t.Annotations, t.Meta),
		})
	}
	// Before anybody can call them. The built-in servers are part of this program.
	if identity := g.rules.Server(server).Identity; identity != "" {
		changed, err := g.rules.Pins.Observe(identity, list)
		if err != nil {
			g.log.Error("catalogue", "server", server, "problem", err)
		}
		for _, name := range changed {
			g.log.Warn("a tool is not defined any more as it was when it was accepted; its calls are asked about, and codemode review shows what changed", "tool", name)
		}
	}
	for _, p := range g.catalog.Replace(server, list) {
		g.log.Warn("catalogue", "server", server, "problem", p.String())
	}
	g.mu.Lock()
	g.listed[server] = instructions
	g.mu.Unlock()
	g.changed()
}

func (g *registry) gone(server string) {
	g.catalog.Remove(server)
	g.mu.Lock()
	delete(g.listed, server)
	g.mu.Unlock()
	g.changed()
}

// startWait is how long a call waits for its server's first start, and
// startPoll how often it looks.
const (
	startWait = 20 * time.Second
	startPoll = 20 * time.Millisecond
)

// Find waits while the server that the name points at is starting: programs
// may come before the upstreams are ready.
func (g *registry) Find(ctx context.Context, name string) (*hostfns.Tool, error) {
	t, err := g.catalog.Find(name)
	for deadline := time.Now().Add(startWait); err != nil; {
		// Asked before the catalogue is: a list that comes in between is then found.
		wait := g.starting(name) && ctx.Err() == nil && time.Now().Before(deadline)
		if g.catalog.Has(name) || !wait {
			t, err = g.catalog.Find(name)
			break
		}
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
		}
	}
	if err == nil {
		return g.tool(t), nil
	}
	if _, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		if t := g.resource(name); t != nil {
			return t, nil
		}
	}
	return nil, g.missing(name, err)
}

// starting reports whether the server of a canonical name has not said yet what it offers.
func (g *registry) starting(name string) bool {
	s, ok := g.serverOf(name)
	return ok && (s.State == upstream.Starting || s.State == upstream.Stopped || s.State == upstream.Ready)
}

// serverOf finds the server that a canonical name points at, if its tools are not known.
func (g *registry) serverOf(name string) (upstream.Status, bool) {
	for _, s := range g.manager.Status() {
		if strings.HasPrefix(name, call.Name(s.Name, "")) {
			g.mu.Lock()
			_, listed := g.listed[s.Name]
			g.mu.Unlock()
			return s, !listed
		}
	}
	return upstream.Status{}, false
}

// missing says why a name has no tool, as programs are told.
func (g *registry) missing(name string, err error) error {
	if collision, ok := errors.AsType[*catalog.CollisionError](err); ok {
		return &hostfns.NotFoundError{Name: name, Reason: "name_collision", Detail: collision.Error()}
	}
	n := &hostfns.NotFoundError{Name: name}
	if missing, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		n.Nearest = missing.Nearest
	}
	if s, ok := g.serverOf(name); ok {
		n.Detail = fmt.Sprintf("there is no tool %q: the server %q is %s", name, s.Name, s.State)
		if s.Error != "" {
			n.Detail += ": " + s.Error
		}
	}
	return n
}

// tool describes a tool of the catalogue to the Gate.
func (g *registry) tool(t *catalog.Tool) *hostfns.Tool {
	tool := &hostfns.Tool{
		Server: t.Server, Raw: t.Raw, Name: t.Name, Title: t.Title, Description: t.Description,
		Input: t.Input, Annotations: annotations(t), Digest: t.Digest, Trusted: g.rules.Server(t.Server).Trusted, Timeout: g.rules.Server(t.Server).Timeout,
		Validate: func(ctx context.Context, args json.RawMessage) error {
			return argumentError(t.Validate(ctx, args))
		},
	}
	g.checkOutput(t, tool)
	return tool
}

func annotations(t *catalog.Tool) map[string]any {
	var hints map[string]any
	if json.Unmarshal(t.Annotations, &hints) != nil {
		return nil // what is no object says nothing
	}
	return hints
}

// Search, Tools and Declarations make the registry the Gate's Library.
func (g *registry) Search(ctx context.Context, query string, limit int, visible func(*hostfns.Tool) bool) []*hostfns.Tool {
	g.ready(ctx, checkWait)
	var found []*hostfns.Tool
	for _, m := range g.catalog.Search(query, limit, func(t *catalog.Tool) bool { return visible(g.tool(t)) }) {
		found = append(found, g.tool(m.Tool))
	}
	return found
}

func (g *registry) Tools(ctx context.Context) []*hostfns.Tool {
	g.ready(ctx, checkWait)
	var tools []*hostfns.Tool
	for _, t := range g.catalog.Tools() {
		tools = append(tools, g.tool(t))
	}
	return tools
}

func (g *registry) Declarations(names []string) string {
	var tools []*catalog.Tool
	for _, name := range names {
		if t, err := g.catalog.Find(name); err == nil {
			tools = append(tools, t)
		}
	}
	return catalog.Declarations(tools)
}

// ready starts the upstreams and waits, at most so long, until each has said
// what it offers or has failed to.
func (g *registry) ready(ctx context.Context, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := g.manager.Ready(ctx); err != nil {
		g.log.Debug("not every upstream is ready", "error", err)
	}
}

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
	"github.com/codemode-project/codemode/config"
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

	news map[string]int // by server, how often what it offers beside tools has changed

	comparing sync.Mutex
	compared  map[string]string // by server, the definitions of its prompts that were compared last
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
	Log     *slog.Logger
	Rules   *inforce.Rules
	Changed func() // called when the known tools change

	// See [upstream.Options].
	Logins, Descriptions, Version string
	Principals                    login.Options
	Confine                       func(*servers.Server, upstream.Command) (upstream.Command, error)
}

// New makes a Registry without servers, see [upstream.Manager.Set].
func New(o Options) *Registry {
	g := &Registry{log: o.Log, rules: o.Rules, Catalog: catalog.New(), changed: o.Changed, listed: map[string]string{},
		waited: map[string]time.Time{}, said: map[string]bool{}, compared: map[string]string{}, news: map[string]int{}}
	g.Manager = upstream.NewManager(upstream.Options{
		Log: o.Log, Lazy: true, Name: "codemode", Version: o.Version, Confine: o.Confine,
		ToolsChanged: g.toolsChanged, OffersChanged: g.offersChanged, Gone: g.gone,
		Logins: o.Logins, Descriptions: o.Descriptions, Principals: o.Principals,
	})
	if g.rules.Pins != nil {
		g.rules.Pins.Texts = g.Manager.DescribedText
	}
	return g
}

// toolsChanged adds an upstream's list of tools to the catalogue.
func (g *Registry) toolsChanged(server string, tools []upstream.Tool, instructions string) {
	list := named(server, tools)
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

// named are an upstream's tools as the catalogue has them.
func named(server string, tools []upstream.Tool) []catalog.Tool {
	list := make([]catalog.Tool, 0, len(tools))
	for _, t := range tools {
		one := catalog.Tool{
			Server: server, Raw: t.Name, Title: t.Title, Description: t.Description,
			Input: t.Input, Output: t.Output, Annotations: withMarks(t.Annotations, t.Meta), Withheld: t.Withheld,
			Source: t.Source,
		}
		one.View, one.Visibility = viewOf(t.Meta)
		list = append(list, one)
	}
	return catalog.Named(server, list)
}

// viewOf reads what the _meta of a tool says for MCP Apps.
func viewOf(meta json.RawMessage) (uri string, visibility []string) {
	var said, ui map[string]json.RawMessage
	if json.Unmarshal(meta, &said) != nil {
		return "", nil
	}
	_ = json.Unmarshal(said["ui"], &ui) // anything but an object says nothing
	if json.Unmarshal(ui["resourceUri"], &uri) != nil {
		_ = json.Unmarshal(said["ui/resourceUri"], &uri) // of older servers
	}
	if !strings.HasPrefix(uri, catalog.ViewScheme) {
		uri = ""
	}
	_ = json.Unmarshal(ui["visibility"], &visibility)
	visibility = slices.DeleteFunc(visibility, func(who string) bool { return who != "model" && who != "app" })
	return uri, visibility
}

// offersChanged notes that the prompts or resources of a server have changed.
func (g *Registry) offersChanged(server string) {
	g.mu.Lock()
	g.news[server]++
	g.mu.Unlock()
	g.changed()
}

func (g *Registry) newsOf(server string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.news[server]
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
	if meta == nil {
		return annotations
	}
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

// ToolInfos describes the current tools for [config.Config.Lint], sorted by name.
func (g *Registry) ToolInfos() []config.ToolInfo {
	var infos []config.ToolInfo
	for _, t := range g.Catalog.Tools() {
		infos = append(infos, config.ToolInfo{Server: t.Server, Tool: t.Raw, Name: t.Name, Input: t.Input,
			Schema: t.InputSchema, Annotations: t.Hints})
	}
	return infos
}

// SeenTool returns a server's description of a tool, in the version that processes sharing the folder last accepted.
// tool is spelled as in the canonical name or as by the server. It reports false for a server that is not configured,
// and for a tool that none of the processes has seen. Tools of built-in servers are not stored.
func SeenTool(stateDir string, cfg *config.Config, server, tool string) (config.ToolInfo, bool) {
	if !slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == server }) {
		return config.ToolInfo{}, false
	}
	var said struct {
		Input       json.RawMessage `json:"inputSchema"`
		Annotations map[string]any  `json:"annotations"`
	}
	definition, canonical, raw, ok := catalog.Accepted(stateDir, server, call.Part(server)+call.Separator+tool)
	if !ok || json.Unmarshal(definition, &said) != nil {
		return config.ToolInfo{}, false
	}
	return config.ToolInfo{Server: server, Tool: raw, Name: canonical, Input: said.Input,
		Annotations: said.Annotations}, true
}

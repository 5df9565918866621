package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A tool is what a server says about one of its tools: claims, from which init proposes rules that a person reads.
type tool struct {
	server, name string // name is that in programs
	reads        bool   // readOnlyHint, and it takes no address to read from
	destroys     bool   // destructiveHint, said and not assumed
	simple       bool   // it needs no arguments
}

// askTools starts some servers of a configuration once, without a record and without any state, and lists what they say
// about their tools. failed are the servers that did not run within [launch.ReadyWait], with the reasons.
func askTools(ctx context.Context, text []byte, names []string) (tools []tool, failed map[string]string, err error) {
	if _, nested := os.LookupEnv(servers.ChildVariable); nested {
		return nil, nil, nil // codemode behind codemode starts no servers
	}
	cfg, err := config.Parse("codemode.json", text)
	if err != nil {
		return nil, nil, err
	}
	cfg.Servers = slices.DeleteFunc(cfg.Servers, func(s config.Server) bool { return !slices.Contains(names, s.Name) })
	e, err := codemode.New(ctx, codemode.Options{Config: cfg, Env: launch.Env,
		ServiceOptions: codemode.ServiceOptions{Version: launch.Version()}, Log: slog.New(slog.DiscardHandler),
		CacheDir: launch.CacheDir()})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = launch.Close(ctx, e) }() // nothing is lost
	e.Tools().Ready(ctx, launch.ReadyWait)
	failed = map[string]string{}
	for _, s := range e.Tools().Manager.Status() {
		if slices.Contains(names, s.Name) && s.State != upstream.Ready {
			failed[s.Name] = whyNot(s)
		}
	}
	found, err := e.Discovery().Search(ctx, registry.Query{Profiles: []string{cfg.Default}})
	for _, t := range found {
		if slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == t.Server }) {
			tools = append(tools, claims(t))
		}
	}
	return tools, failed, err
}

// whyNot is why a server that was started does not run behind codemode.
func whyNot(s upstream.Status) string {
	switch {
	case s.Login.Needed:
		return "it wants a login, and the one that its client has is not codemode's: add it to codemode's configuration, and " +
			servers.LoginCommand(s.Name)
	case s.State == upstream.Starting:
		return fmt.Sprintf("it did not start within %v", launch.ReadyWait)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(s.Error, "no reason is known")), "\n")
	return "it did not start (" + line + ")"
}

func claims(t *catalog.Tool) tool {
	var schema struct {
		Required   []string
		Properties map[string]struct{ Format string }
	}
	known := json.Unmarshal(t.InputSchema(), &schema) == nil
	// An address that a program chooses takes what the program has read out, so a person has to see it.
	takesAddress := false
	for name, of := range schema.Properties {
		takesAddress = takesAddress || slices.Contains([]string{"uri", "url"}, of.Format) ||
			slices.Contains([]string{"url", "urls", "uri"}, strings.ToLower(name))
	}
	return tool{server: t.Server, name: t.Name, reads: t.Hints["readOnlyHint"] == true && !takesAddress,
		destroys: t.Hints["destructiveHint"] == true && t.Hints["readOnlyHint"] != true,
		simple:   known && len(schema.Required) == 0 && !strings.ContainsAny(t.Name, "\"'`\\")}
}

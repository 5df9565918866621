package setup

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/discovery"
	"github.com/codemode-project/codemode/upstream"
)

// A tool is what a server says about one of its tools: claims, from which init proposes rules that a person reads.
type tool struct {
	server, name string // name is that in programs
	reads        bool   // readOnlyHint, and it takes no address to read from
	destroys     bool   // destructiveHint, said and not assumed
	simple       bool   // it needs no arguments
}

// askTools starts the servers of a configuration once, without a record and without any state, and lists what they say
// about their tools. What a server needs longer than [launch.ReadyWait] for is missing. silent are the servers without
// an answer.
func askTools(ctx context.Context, text []byte) (tools []tool, silent []string, err error) {
	if _, nested := os.LookupEnv(servers.ChildVariable); nested {
		return nil, nil, nil // codemode behind codemode starts no servers
	}
	cfg, err := config.Parse("codemode.json", text)
	if err != nil {
		return nil, nil, err
	}
	e, err := codemode.New(ctx, codemode.Options{Config: cfg, Env: launch.Env, Version: launch.Version(),
		Log: slog.New(slog.DiscardHandler), CacheDir: launch.CacheDir()})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = launch.Close(ctx, e) }() // nothing is lost
	e.Tools().Ready(ctx, launch.ReadyWait)
	for _, s := range e.Tools().Manager.Status() {
		if s.State != upstream.Ready && s.State != upstream.Disabled {
			silent = append(silent, s.Name)
		}
	}
	found, err := e.Discovery().Search(ctx, discovery.Query{Profiles: []string{cfg.Default}})
	for _, t := range found {
		if slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == t.Server }) {
			tools = append(tools, claims(t))
		}
	}
	return tools, silent, err
}

func claims(t *catalog.Tool) tool {
	var schema struct {
		Required   []string
		Properties map[string]struct{ Format string }
	}
	known := json.Unmarshal(t.Input, &schema) == nil
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

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/discovery"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/upstream"
)

// toolsFound is how many tools a query shows at most.
const toolsFound = 20

// toolsWait is how long the list waits for servers that start.
const toolsWait = 20 * time.Second

func newTools(s streams) *cobra.Command {
	var set setting
	var asJSON, declarations bool
	cmd := &cobra.Command{
		Use:   "tools [QUERY]",
		Short: "List the servers and the tools that programs can call",
		Long: `Connects to every server, and lists how each is, with its last error, and which tools it
has. With QUERY only the tools that fit, best first. With --profile only what that profile
might let through. With --declarations what programs and models are told of the tools, in
TypeScript, or with --json their schemas.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tools(cmd.Context(), s, &set, strings.Join(args, " "), declarations, asJSON)
		},
	}
	set.flags(cmd)
	cmd.Flags().BoolVarP(&declarations, "declarations", "d", false, "print TypeScript declarations; with --json the schemas")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

type toolList struct {
	Servers []serverJSON   `json:"servers"`
	Tools   []catalog.Tool `json:"tools"`
}

type serverJSON struct {
	Name           string   `json:"name"`
	State          string   `json:"state"`
	Tools          int      `json:"tools"`
	Stale          bool     `json:"stale,omitempty"` // the tools are those of an earlier list
	Transport      string   `json:"transport,omitempty"`
	Implementation string   `json:"implementation,omitempty"`
	Protocol       string   `json:"protocol,omitempty"`
	Restarts       int      `json:"restarts,omitempty"`
	Error          string   `json:"error,omitempty"`
	Stderr         string   `json:"stderr,omitempty"` // the end of it, if there is an error
	Notes          []string `json:"notes,omitempty"`
}

func tools(ctx context.Context, s streams, set *setting, query string, declarations, asJSON bool) error {
	e, err := set.open(ctx, set.logger(s, slog.LevelWarn))
	if err != nil {
		return err
	}
	e.Tools().Ready(ctx, toolsWait)
	q := discovery.Query{Profiles: []string{set.profile}, Text: query}
	if query != "" {
		q.Limit = toolsFound
	}
	list := toolList{Servers: []serverJSON{}}
	status := e.Tools().Manager.Status()
	for _, st := range status {
		list.Servers = append(list.Servers, serverJSON{
			Name: st.Name, State: string(st.State), Tools: st.Tools, Stale: st.Stale, Transport: string(st.Transport),
			Implementation: st.Implementation, Protocol: st.Protocol, Restarts: st.Restarts,
			Error: st.Error, Stderr: stderrOf(st), Notes: st.Health(),
		})
	}
	var text string
	found, err := e.Discovery().Search(ctx, q)
	if err == nil && declarations {
		text, err = e.Discovery().Declarations(ctx, nil, q)
	}
	if err = errors.Join(err, closeEvaluator(ctx, e)); err != nil {
		return startError(err)
	}
	switch {
	case asJSON:
		list.Tools = make([]catalog.Tool, 0, len(found))
		for _, t := range found {
			list.Tools = append(list.Tools, *t)
		}
		if !declarations {
			for i := range list.Tools {
				list.Tools[i].Input, list.Tools[i].Output, list.Tools[i].Annotations = nil, nil, nil
			}
		}
		if err := printJSON(s.out, list); err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	case declarations:
		fmt.Fprint(s.out, visible.Text(text))
	default:
		printTools(s, status, found, query)
	}
	return nil
}

// printTools prints how the servers are, and the tools.
func printTools(s streams, status []upstream.Status, found []*catalog.Tool, query string) {
	if query == "" {
		printServers(s, status)
		fmt.Fprintln(s.out)
	}
	rows := [][]string{{"TOOL", "DESCRIPTION"}}
	for _, t := range found {
		text := t.Description
		if text == "" {
			text = t.Title
		}
		rows = append(rows, []string{t.Name, brief(text)})
	}
	if len(found) > 0 {
		printTable(s.out, rows)
		return
	}
	fmt.Fprintln(s.err, "no tool fits")
}

// printServers prints a table of the servers, and under each that is not well what is known of it.
func printServers(s streams, status []upstream.Status) {
	rows := [][]string{{"SERVER", "STATE", "TOOLS", "CONNECTION"}}
	below := map[int][]string{}
	for _, st := range status {
		tools := fmt.Sprint(st.Tools)
		if st.Stale {
			tools += " (from before)"
		}
		rows = append(rows, []string{st.Name, string(st.State), tools, connection(st)})
		below[len(rows)-1] = troubles(st)
	}
	for i, line := range table(rows) {
		fmt.Fprintln(s.out, line)
		for _, text := range below[i] {
			visible.Fprintf(s.out, "    %s\n", text)
		}
	}
}

// connection says by what a server is reached, and what it calls itself.
func connection(st upstream.Status) string {
	text := string(st.Transport)
	if st.Implementation != "" {
		text += ", " + st.Implementation
	}
	if st.Protocol != "" {
		text += ", protocol " + st.Protocol
	}
	return text
}

// stderrOf is the end of what a server wrote there, where that may explain an error.
func stderrOf(st upstream.Status) string {
	if st.Error == "" {
		return ""
	}
	return st.Stderr
}

// troubles lists what a person should know about a server that is not well.
func troubles(st upstream.Status) []string {
	var out []string
	if st.Error != "" {
		out = append(out, "last error: "+withoutName(st.Error, st.Name))
		for text := range strings.Lines(strings.TrimSpace(st.Stderr)) {
			out = append(out, "stderr: "+strings.TrimSpace(text))
		}
	}
	for _, note := range st.Health() {
		out = append(out, "note: "+note)
	}
	return out
}

// brief is the first line of a description, not too long.
func brief(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(text); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return text
}

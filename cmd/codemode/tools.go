package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// maxFound is how many tools a query lists.
const maxFound = 20

func newTools(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var asJSON, declarations bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "tools [QUERY]",
		Short: "List the servers and the tools that programs can call",
		Long: `Connects to every server, and lists its state, its last error and its tools. With QUERY it
lists only the tools that match, best first; with --profile only those that the profile may
allow. With --declarations it prints the TypeScript declarations that programs and models
see, or with --json the schemas.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := registry.Query{Profiles: []string{set.Profile}, Text: strings.Join(args, " ")}
			if q.Text != "" {
				q.Limit = maxFound
			}
			return set.Use(cmd.Context(), s, slog.LevelWarn, func(e *codemode.Evaluator) error {
				return tools(cmd.Context(), s, e, q, wait, declarations, asJSON)
			})
		},
	}
	set.Flags(cmd)
	cmd.Flags().BoolVarP(&declarations, "declarations", "d", false,
		"print TypeScript declarations; with --json the schemas")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().DurationVar(&wait, "wait", launch.ReadyWait, "how long to wait for servers to start")
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
	Stale          bool     `json:"stale,omitempty"` // the tools are from an earlier list
	Transport      string   `json:"transport,omitempty"`
	Implementation string   `json:"implementation,omitempty"`
	Protocol       string   `json:"protocol,omitempty"`
	Restarts       int      `json:"restarts,omitempty"`
	Error          string   `json:"error,omitempty"`
	Stderr         string   `json:"stderr,omitempty"` // the end of it, if there is an error
	Notes          []string `json:"notes,omitempty"`
}

func tools(ctx context.Context, s cli.Streams, e *codemode.Evaluator, q registry.Query, wait time.Duration,
	declarations, asJSON bool) error {
	launch.Await(ctx, s.Err, e, wait)
	list := toolList{Servers: []serverJSON{}}
	status := e.Tools().Manager.Status()
	for i := range status {
		status[i].Notes = append(slices.Clip(status[i].Notes), e.Tools().Notes(status[i].Name)...)
	}
	for _, st := range status {
		list.Servers = append(list.Servers, serverJSON{
			Name: st.Name, State: string(st.State), Tools: st.Tools, Stale: st.Stale, Transport: string(st.Transport),
			Implementation: st.Implementation, Protocol: st.Protocol, Restarts: st.Restarts,
			Error: st.Error, Stderr: stderrOf(st), Notes: st.Health(),
		})
	}
	if starting := e.Tools().Starting(); len(starting) > 0 {
		visible.Fprintf(s.Err, "Not started within %v: %s. --wait waits longer.\n", wait, strings.Join(starting, ", "))
	}
	var text string
	found, err := e.Discovery().Search(ctx, q)
	if err == nil && declarations {
		text, err = e.Discovery().Declarations(ctx, nil, q)
	}
	if err != nil {
		return startError(err)
	}
	switch {
	case asJSON:
		list.Tools = make([]catalog.Tool, 0, len(found))
		for _, t := range found {
			list.Tools = append(list.Tools, *t)
		}
		for i := range list.Tools {
			if t := &list.Tools[i]; declarations {
				t.Input, t.Output = t.InputSchema(), t.OutputSchema()
			} else {
				t.Input, t.Output, t.Annotations = nil, nil, nil
			}
		}
		return cli.PrintJSON(s.Out, list)
	case declarations:
		fmt.Fprint(s.Out, visible.Text(text))
	default:
		printTools(s, status, found, q.Text)
		printWithheld(s, e.Tools().Catalog.Withheld(), q.Text)
	}
	return nil
}

// printTools prints the servers and the tools.
func printTools(s cli.Streams, status []upstream.Status, found []*catalog.Tool, query string) {
	if query == "" {
		printServers(s, status)
		fmt.Fprintln(s.Out)
	}
	rows := [][]string{{"TOOL", "DESCRIPTION"}}
	for _, t := range found {
		rows = append(rows, []string{t.Name, brief(cmp.Or(t.Description, t.Title))})
	}
	if len(found) == 0 {
		fmt.Fprintln(s.Err, "no tool matches")
		return
	}
	fmt.Fprintln(s.Out, strings.Join(cli.Table(rows), "\n"))
}

// printWithheld says of the tools with that in their names that they exist.
func printWithheld(s cli.Streams, withheld []*catalog.WithheldError, query string) {
	for _, w := range withheld {
		if query != "" && (strings.Contains(w.Name, query) || w.Tool != nil && strings.Contains(w.Tool.Raw, query)) {
			visible.Fprintf(s.Err, "%s\n", w.Error())
		}
	}
}

// printServers prints a table of the servers, with the troubles of each below it.
func printServers(s cli.Streams, status []upstream.Status) {
	rows := [][]string{{"SERVER", "STATE", "TOOLS", "CONNECTION"}}
	below := map[int][]string{}
	for _, st := range status {
		tools := fmt.Sprint(st.Tools)
		if st.Stale {
			tools += " (earlier list)"
		}
		rows = append(rows, []string{st.Name, string(st.State), tools, connection(st)})
		below[len(rows)-1] = troubles(st)
	}
	for i, line := range cli.Table(rows) {
		fmt.Fprintln(s.Out, line)
		for _, text := range below[i] {
			visible.Fprintf(s.Out, "    %s\n", text)
		}
	}
}

// connection is the transport of a server, and the name that the server gives itself.
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

// stderrOf is the end of a server's standard error, if there is an error that it may explain.
func stderrOf(st upstream.Status) string {
	if st.Error == "" {
		return ""
	}
	return st.Stderr
}

// troubles lists the last error and the notes of a server.
func troubles(st upstream.Status) []string {
	var out []string
	if st.Error != "" {
		out = append(out, "last error: "+cli.WithoutName(st.Error, st.Name))
		for text := range strings.Lines(strings.TrimSpace(st.Stderr)) {
			out = append(out, "stderr: "+strings.TrimSpace(text))
		}
	}
	for _, note := range st.Health() {
		out = append(out, "note: "+note)
	}
	return out
}

// brief is the first line of a description, at most 100 characters.
func brief(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(text); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return text
}

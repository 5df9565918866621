package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/upstream"
)

// toolsWait is how long the list waits for servers that start.
const toolsWait = 20 * time.Second

func newTools(s streams) *cobra.Command {
	var set setting
	var asJSON, declarations bool
	cmd := &cobra.Command{
		Use:   "tools [QUERY]",
		Short: "List the servers and the tools that programs can call",
		Long: `Connects to every server, and lists how each is and which tools it has. With QUERY only
the tools that fit, best first. With --profile only what that profile might let through.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tools(cmd.Context(), s, &set, strings.Join(args, " "), declarations, asJSON)
		},
	}
	set.flags(cmd)
	cmd.Flags().BoolVarP(&declarations, "declarations", "d", false, "print TypeScript declarations")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

type toolList struct {
	Servers []serverJSON    `json:"servers"`
	Tools   []codemode.Tool `json:"tools"`
}

type serverJSON struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Tools int    `json:"tools"`
	Error string `json:"error,omitempty"`
}

func tools(ctx context.Context, s streams, set *setting, query string, declarations, asJSON bool) error {
	e, err := set.open(ctx, set.logger(s, slog.LevelWarn))
	if err != nil {
		return err
	}
	e.WaitReady(ctx, toolsWait)
	q := codemode.Query{Profiles: []string{set.profile}, Text: query}
	list := toolList{Servers: []serverJSON{}}
	status := e.Status()
	for _, st := range status {
		list.Servers = append(list.Servers, serverJSON{Name: st.Name, State: string(st.State), Tools: st.Tools, Error: st.Error})
	}
	var text string
	list.Tools, err = e.Tools(ctx, q)
	if err == nil && declarations {
		text, err = e.Declarations(ctx, nil, "", q)
	}
	if err = errors.Join(err, closeEvaluator(ctx, e)); err != nil {
		return startError(err)
	}
	switch {
	case asJSON:
		if err := printJSON(s.out, list); err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	case declarations:
		fmt.Fprint(s.out, printable(text))
	default:
		printTools(s, status, list.Tools, query)
	}
	return nil
}

func printTools(s streams, status []upstream.Status, found []codemode.Tool, query string) {
	if query == "" {
		for _, st := range status {
			line := fmt.Sprintf("%s: %s, %d tools", st.Name, st.State, st.Tools)
			if st.Error != "" {
				line += ": " + st.Error
			}
			fmt.Fprintln(s.out, printable(line))
			for text := range strings.Lines(strings.TrimSpace(st.Stderr)) {
				if st.Error != "" {
					fmt.Fprintln(s.out, printable("    "+strings.TrimSpace(text)))
				}
			}
		}
		fmt.Fprintln(s.out)
	}
	for _, t := range found {
		text := t.Description
		if text == "" {
			text = t.Title
		}
		text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
		if runes := []rune(text); len(runes) > 100 {
			text = string(runes[:100]) + "…"
		}
		fmt.Fprintln(s.out, printable(strings.TrimRight(t.Name+"  "+text, " ")))
	}
	if len(found) == 0 {
		fmt.Fprintln(s.err, "no tool fits")
	}
}

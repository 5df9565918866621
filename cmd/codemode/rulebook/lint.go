package rulebook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/visible"
)

func newProfilesLint(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var toolsFile, save string
	var offline, asJSON bool
	cmd := &cobra.Command{
		Use:   "lint [FILE]",
		Short: "Find rules that probably do not do what their author meant",
		Long: `Checks the rules against the existing tools: conditions on arguments that no tool takes,
deny rules on optional arguments, patterns that match no tool, and allow rules that other
rules override. It also finds servers with a folder in their arguments or variables from
which a program could change what it may do, such as the folder of the configuration. The
tools come from the servers, which are started for that, or from a file:

  {"github": [{"name": "create_issue", "inputSchema": {...}, "annotations": {...}}]}

The list may also be the answer of a server to tools/list. FILE is the configuration to
check, instead of the one in force. Exit code 1 when there are
findings; notes alone are not findings.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && set.Config != "" {
				return cli.UsageError(errors.New("name the file once: as FILE or with --config"))
			}
			if len(args) == 1 {
				set.Config = args[0]
			}
			cfg, err := set.Load()
			if err != nil {
				return err
			}
			var tools []config.ToolInfo
			switch {
			case toolsFile != "":
				tools, err = ReadTools(toolsFile)
			case !offline:
				tools, err = liveTools(cmd.Context(), s, &set)
			}
			if err == nil && save != "" {
				err = saveTools(save, tools)
			}
			if err != nil {
				return err
			}
			found, err := lint(&set, cfg, tools)
			if err != nil {
				return err
			}
			return printFindings(s, found, len(tools), asJSON)
		},
	}
	set.Flags(cmd)
	cmd.Flags().StringVar(&toolsFile, "tools", "", "file with the tools, instead of asking the servers")
	cmd.Flags().StringVar(&save, "save-tools", "", "write the tools to this file, for --tools")
	cmd.Flags().BoolVar(&offline, "offline", false, "check only the rules")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// lint collects all findings about the rules, the servers and this machine.
func lint(set *launch.Settings, cfg *config.Config, tools []config.ToolInfo) ([]config.Finding, error) {
	found := cfg.Lint(tools)
	o, err := set.Options(nil, nil)
	if err != nil {
		return nil, err
	}
	unread := settings.Unread(os.LookupEnv) // a check of rules runs no command
	o.Env = unread
	powers, err := checks.ServerPowers(o, cfg)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	for _, p := range powers {
		problem := config.Problem{Position: p.Server.Pos, Length: 1, Message: "the server " + p.Server.Name + ": " +
			p.String(), Hint: checks.PowerHint}
		found = append(found, config.Finding{Problem: problem, Kind: "power"})
	}
	for _, p := range checks.OverlaysForNobody(cfg, unread) {
		found = append(found, config.Finding{Problem: p, Kind: "overlay for nobody"})
	}
	for _, p := range checks.MachineProblems(cfg, unread) { // another machine, or other variables, may have none
		found = append(found, config.Finding{Problem: p, Kind: "on this machine", Note: true})
	}
	return found, nil
}

func printFindings(s cli.Streams, found []config.Finding, tools int, asJSON bool) error {
	wrong := 0
	for _, f := range found {
		if !f.Note {
			wrong++
		}
	}
	if asJSON {
		type finding struct {
			Kind    string `json:"kind"`
			Note    bool   `json:"note,omitempty"`
			At      string `json:"at"`
			Message string `json:"message"`
			Hint    string `json:"hint,omitempty"`
		}
		all := []finding{}
		for _, f := range found {
			all = append(all, finding{f.Kind, f.Note, f.Position.String(), f.Message, f.Hint})
		}
		if err := cli.PrintJSON(s.Out, map[string]any{"findings": all, "tools": tools}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			kind := f.Kind
			if f.Note {
				kind = "note, " + kind
			}
			f.Message = fmt.Sprintf("[%s] %s", kind, f.Message)
			fmt.Fprintln(s.Out, visible.Text(relative(f.Problem.String())))
		}
		fmt.Fprintf(s.Out, "%d findings, %d notes, %d tools\n", wrong, len(found)-wrong, tools)
	}
	if wrong > 0 {
		return cli.WithCode(cli.ExitProgram, nil)
	}
	return nil
}

// liveTools asks the servers. All of them must answer: a rule about a server that is down would seem to match no tool.
func liveTools(ctx context.Context, s cli.Streams, set *launch.Settings) (tools []config.ToolInfo, err error) {
	err = set.Use(ctx, s, slog.LevelError, func(e *codemode.Evaluator) error {
		launch.Await(ctx, s.Err, e, launch.ReadyWait)
		var failed []error
		for _, st := range e.Tools().Manager.Status() {
			if st.Error != "" {
				failed = append(failed, fmt.Errorf("the server %q is %s: %s; --tools reads its tools from a file",
					st.Name, st.State, st.Error))
			}
		}
		tools = e.Tools().ToolInfos()
		return errors.Join(failed...)
	})
	return tools, err
}

// ReadTools reads a file of tools: by server, or as --save-tools writes it.
func ReadTools(path string) ([]config.ToolInfo, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	var flat []config.ToolInfo
	if json.Unmarshal(data, &flat) == nil {
		return complete(path, flat)
	}
	var byServer map[string]json.RawMessage
	if err := json.Unmarshal(data, &byServer); err != nil {
		return nil, cli.UsageError(fmt.Errorf("%s: %w", path, err))
	}
	for server, raw := range byServer {
		var answer struct {
			Tools json.RawMessage `json:"tools"`
		}
		if json.Unmarshal(raw, &answer) == nil && answer.Tools != nil {
			raw = answer.Tools
		}
		var list []struct {
			Name        string          `json:"name"`
			Input       json.RawMessage `json:"inputSchema"`
			Annotations map[string]any  `json:"annotations"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, cli.UsageError(fmt.Errorf("%s: the tools of %q: %w", path, server, err))
		}
		raws := make([]string, len(list))
		for i := range list {
			raws[i] = list[i].Name
		}
		names, _ := call.Names(server, raws)
		for i, t := range list {
			flat = append(flat, config.ToolInfo{Server: server, Tool: t.Name, Name: names[i], Input: t.Input,
				Annotations: t.Annotations})
		}
	}
	slices.SortFunc(flat, func(a, b config.ToolInfo) int {
		return strings.Compare(a.Server+"__"+a.Tool,
			b.Server+"__"+b.Tool)
	})
	return complete(path, flat)
}

func complete(path string, tools []config.ToolInfo) ([]config.ToolInfo, error) {
	for _, t := range tools {
		if t.Server == "" || t.Tool == "" {
			return nil, cli.UsageError(fmt.Errorf(`%s: each tool needs a server and a name: {"SERVER": [{"name": "TOOL"}]}`,
				path))
		}
	}
	return tools, nil
}

func saveTools(path string, tools []config.ToolInfo) error {
	data, err := json.MarshalIndent(tools, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o666)
	}
	return err
}

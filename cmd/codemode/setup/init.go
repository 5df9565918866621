// Package setup is the command "init": it reads the configuration files of other MCP clients and writes one for
// codemode. It also knows what to paste into each client, and which servers a client starts without codemode.
package setup

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/visible"
)

// New makes the command "init".
func New(s cli.Streams) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration from those of other MCP clients",
		Long: `Finds the MCP servers of Claude Code, Claude Desktop, Cursor, VS Code, Gemini CLI, Codex
and OpenCode, prints what it finds, and writes one configuration with all of them and a
careful profile: codemode asks you before each call, and denies what no rule mentions. It
copies values as they are; only you can read the file. It starts nothing, and changes no
file of another program.

With --client it only prints what to paste into that client, so that it uses codemode.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return initialize(s, &o) },
	}
	cmd.Flags().StringVar(&o.out, "out", "", "file to write (default: the one that codemode reads without --config)")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file if it exists")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "print the file instead of writing it")
	cmd.Flags().StringVar(&o.project, "project", "", "also read the clients' files of the project in this folder")
	cmd.Flags().StringVar(&o.client, "client", "",
		"print what to paste into this client: "+strings.Join(clientIDs(), ", "))
	return cmd
}

type initOptions struct {
	out, project, client string
	force, dry           bool
}

func initialize(s cli.Streams, o *initOptions) error {
	p, err := usualPlaces()
	if err != nil {
		return cli.UsageError(err)
	}
	standard := filepath.Join(p.config, "codemode", "codemode.json")
	out := standard
	if o.out != "" {
		if out, err = filepath.Abs(o.out); err != nil {
			return cli.UsageError(err)
		}
	}
	if o.client != "" {
		return printPaste(s, o.client, serveCommand(out, standard))
	}
	if o.project != "" {
		if o.project, err = filepath.Abs(o.project); err != nil {
			return cli.UsageError(err)
		}
	}
	found := findClients(p, o.project, os.LookupEnv)
	chosen := choose(found)
	printFound(s, p, found, chosen)
	text := configurationText(p, chosen)
	if _, err := config.Parse(out, text); err != nil { // cannot happen; better here than at the next start
		return cli.InternalError(fmt.Errorf("the new configuration is not valid: %w", err))
	}
	if o.dry {
		fmt.Fprintf(s.Out, "\n%s", visible.Text(string(text)))
		return nil
	}
	if err := writePrivate(out, text, o.force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf(
				"%s exists already, and was not changed: --force overwrites it, --out writes another file, --dry-run prints", out)
		}
		return cli.UsageError(err)
	}
	printNext(s, p, out, standard, found, chosen)
	return nil
}

// A choice is one server of the new configuration.
type choice struct {
	name  string
	entry *clientEntry
	from  *clientFile
}

// choose takes each server once. Of two different servers with one name, the second gets its client's name too.
func choose(found []*clientFile) []*choice {
	var chosen []*choice
	for _, f := range found {
		for _, e := range f.entries {
			if e.err != nil || e.isCodemode() {
				continue
			}
			same := slices.IndexFunc(chosen, func(c *choice) bool {
				return bytes.Equal(c.entry.raw, e.raw) &&
					(c.entry.name == e.name)
			})
			if same >= 0 {
				continue
			}
			name := serverName(e.name)
			for n := 1; slices.ContainsFunc(chosen,
				func(c *choice) bool { return canonicalName(c.name) == canonicalName(name) }); n++ {
				name = serverName(e.name) + "_" + strings.ReplaceAll(f.client.id, "-", "_")
				if n > 1 {
					name += fmt.Sprint(n)
				}
			}
			if name != e.name {
				e.note("called %q here", name)
			}
			chosen = append(chosen, &choice{name: name, entry: e, from: f})
		}
	}
	return chosen
}

var (
	notInName = regexp.MustCompile(`[^A-Za-z0-9$]+`)
	maxName   = 40
)

// serverName is a name that programs can use: no two underscores in a row, and at most maxName long.
func serverName(name string) string {
	if name != "" && !notInName.MatchString(name) && len(name) <= maxName {
		return name
	}
	kept := notInName.ReplaceAllStringFunc(name, func(odd string) string {
		if len(odd) == 1 && strings.ContainsAny(odd, "-._") {
			return odd
		}
		return "_"
	})
	kept = strings.Trim(kept, "_")
	if len(kept) > maxName {
		kept = strings.TrimRight(kept[:maxName], "_")
	}
	if kept == "" {
		return "server"
	}
	return kept
}

// canonicalName is the name of a server in programs.
func canonicalName(name string) string { return notInName.ReplaceAllString(name, "_") }

// configurationText is the new file, with comments.
func configurationText(p places, chosen []*choice) []byte {
	var b bytes.Buffer
	b.WriteString("// Written by codemode init. Comments and trailing commas are allowed here.\n{\n")
	b.WriteString("  // The servers of your clients. ${NAME} stands for an environment variable.\n  \"mcpServers\": {\n")
	for _, c := range chosen {
		fmt.Fprintf(&b, "    // %s, %s\n", c.from.client.name,
			strings.Join(strings.Fields(visible.Line(p.short(c.from.path))), " "))
		fmt.Fprintf(&b, "    %s: %s,\n", encode(c.name, ""), serverText(c.entry.value))
	}
	b.WriteString(`  },

  // What programs may do: denylist comes first, then asklist, then allowlist.
  "evaluation": {
    "defaultProfile": "careful",
    "profiles": {
      "careful": {
        // Allowed without a question. Add tools that only read, such as "github__get_*".
        "allowlist": ["time__*"],
        // codemode asks you before these, unless the allowlist has them.
        "asklist": [
`)
	for _, c := range chosen {
		fmt.Fprintf(&b, "          { \"tool\": %s, \"unlessAllowed\": true },\n", encode(canonicalName(c.name)+"__*", ""))
	}
	b.WriteString(`        ],
        // For tools that nothing above mentions, such as those of a server that you add later.
        "unmatched": "deny",
        // If nobody can be asked.
        "elicitationFallback": "deny",
      },
    },
  },
}
`)
	return b.Bytes()
}

// keyOrder is the usual order of a server's keys; others follow by name.
var keyOrder = []string{"type", "command", "args", "env", "environment", "cwd", "httpUrl", "url", "headers"}

// serverText writes a server with one key in each line, or all in one line if they are short.
func serverText(entry map[string]any) string {
	keys := slices.SortedFunc(maps.Keys(entry), func(a, b string) int {
		at := func(k string) int {
			if i := slices.Index(keyOrder, k); i >= 0 {
				return i
			}
			return len(keyOrder)
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b))
	})
	var lines []string
	for _, k := range keys {
		lines = append(lines, encode(k, "")+": "+encode(entry[k], ""))
	}
	if text := strings.Join(lines, ", "); len(text) < 100 {
		return "{ " + text + " }"
	}
	return "{\n      " + strings.Join(lines, ",\n      ") + "\n    }"
}

// writePrivate writes a file that only its owner can read. Without force it refuses to overwrite one; with it, the old
// file stays until the new one is complete.
func writePrivate(path string, data []byte, force bool) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	switch {
	case err != nil:
	case force:
		err = replace.File(path, data, 0o600)
	default:
		err = cli.WriteNew(path, data)
	}
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return nil
}

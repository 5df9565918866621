package main

import (
	"bytes"
	"cmp"
	"encoding/json"
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

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/visible"
)

func newInit(s streams) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration from what other MCP clients have",
		Long: `Looks for the MCP servers that Claude Code, Claude Desktop, Cursor, VS Code, Gemini CLI,
Codex and OpenCode know, shows what it finds, and writes one configuration with all of
them and a careful profile: you are asked before each call, and what no rule mentions is
denied. Values are copied as they are; the file is readable by you alone. Nothing is
started, and no file of another program is changed.

With --client it only prints what to paste into that client, so that it uses codemode.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return initialize(s, &o) },
	}
	cmd.Flags().StringVar(&o.out, "out", "", "file to write (default: the one that codemode uses by itself)")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file if it is there")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "print the file instead of writing it")
	cmd.Flags().StringVar(&o.project, "project", "", "also read the clients' files of the project in this folder")
	cmd.Flags().StringVar(&o.client, "client", "", "print what to paste into this client: "+strings.Join(clientIDs(), ", "))
	return cmd
}

type initOptions struct {
	out, project, client string
	force, dry           bool
}

func initialize(s streams, o *initOptions) error {
	p, err := here()
	if err != nil {
		return usage(err)
	}
	standard := filepath.Join(p.config, "codemode", "codemode.json")
	out := standard
	if o.out != "" {
		if out, err = filepath.Abs(o.out); err != nil {
			return usage(err)
		}
	}
	if o.client != "" {
		return printPaste(s, o.client, serveCommand(out, standard))
	}
	if o.project != "" {
		if o.project, err = filepath.Abs(o.project); err != nil {
			return usage(err)
		}
	}
	found := findClients(p, o.project, os.LookupEnv)
	chosen := choose(found)
	printFound(s, p, found, chosen)
	text := configurationText(p, chosen)
	if _, err := config.Parse(out, text); err != nil { // cannot happen; better here than at the next start
		return &exitError{code: exitInternal, err: fmt.Errorf("the configuration that was made of this cannot be used: %w", err)}
	}
	if o.dry {
		fmt.Fprintf(s.out, "\n%s", visible.Text(string(text)))
		return nil
	}
	if err := writePrivate(out, text, o.force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s is there already, and stays as it is: --force overwrites it, --out writes another, --dry-run prints", out)
		}
		return usage(err)
	}
	printNext(s, p, out, standard, found, chosen)
	return nil
}

// A choice is one server of the new configuration.
type choice struct {
	name  string
	entry *clientEntry
	from  *clientFile
	also  []string // clients that have the very same
}

// choose takes each server once. Two that differ under one name both come in, the
// second with its client's name.
func choose(found []*clientFile) []*choice {
	var chosen []*choice
	for _, f := range found {
		for _, e := range f.entries {
			if e.err != nil || e.isCodemode() {
				continue
			}
			same := slices.IndexFunc(chosen, func(c *choice) bool { return bytes.Equal(c.entry.raw, e.raw) && (c.entry.name == e.name) })
			if same >= 0 {
				chosen[same].also = append(chosen[same].also, f.client.name)
				continue
			}
			name := serverName(e.name)
			for n := 1; slices.ContainsFunc(chosen, func(c *choice) bool { return canonicalName(c.name) == canonicalName(name) }); n++ {
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

// serverName is a name that programs can use: no two underscores in a row, and not too long.
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

// canonicalName is what programs call a server.
func canonicalName(name string) string { return notInName.ReplaceAllString(name, "_") }

// configurationText is the file with its comments.
func configurationText(p places, chosen []*choice) []byte {
	var b bytes.Buffer
	b.WriteString("// Written by codemode init. Comments and trailing commas are allowed here.\n{\n")
	b.WriteString("  // The servers as your clients have them. ${NAME} stands for a variable of the environment.\n  \"mcpServers\": {\n")
	for _, c := range chosen {
		fmt.Fprintf(&b, "    // %s, %s\n", c.from.client.name, strings.Join(strings.Fields(visible.Line(p.short(c.from.path))), " "))
		fmt.Fprintf(&b, "    %s: %s,\n", oneLineJSON(c.name), serverText(c.entry.value))
	}
	b.WriteString(`  },

  // What programs may do: a denylist comes first, then asklist, then allowlist.
  "evaluation": {
    "defaultProfile": "careful",
    "profiles": {
      "careful": {
        // Allowed without a question. Add what only reads, such as "github__get_*".
        "allowlist": ["time__*"],
        // You are asked before these, unless the allowlist has them.
        "asklist": [
`)
	for _, c := range chosen {
		fmt.Fprintf(&b, "          { \"tool\": %s, \"unlessAllowed\": true },\n", oneLineJSON(canonicalName(c.name)+"__*"))
	}
	b.WriteString(`        ],
        // What nothing above mentions, such as the tools of a server that you add later.
        "unmatched": "deny",
        // When nobody can be asked.
        "elicitationFallback": "deny",
      },
    },
  },
}
`)
	return b.Bytes()
}

// keyOrder is how people write the keys of a server; others follow by name.
var keyOrder = []string{"type", "command", "args", "env", "environment", "cwd", "httpUrl", "url", "headers"}

// serverText writes a server with a key in a line, or all in one if it is short.
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
		lines = append(lines, oneLineJSON(k)+": "+oneLineJSON(entry[k]))
	}
	if text := strings.Join(lines, ", "); len(text) < 100 {
		return "{ " + text + " }"
	}
	return "{\n      " + strings.Join(lines, ",\n      ") + "\n    }"
}

func oneLineJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // cannot happen: it was read from JSON or TOML, and encoded before
		panic(err)
	}
	return strings.TrimRight(b.String(), "\n")
}

// writePrivate writes a file that its owner alone may read. Without force it
// writes none over what is there, and with it the old one stays until the new one is whole.
func writePrivate(path string, data []byte, force bool) error {
	failed := func(err error) error { return fmt.Errorf("writing the configuration: %w", err) }
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed(err)
	}
	target := path
	if force {
		target = filepath.Join(dir, ".codemode.json.tmp")
		if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that was killed
			return failed(err)
		}
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return failed(err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil && force {
		err = os.Rename(target, path)
	}
	if err != nil {
		return failed(errors.Join(err, os.Remove(target)))
	}
	return nil
}

package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/visible"
)

// printFound lists the files and their servers.
func printFound(s cli.Streams, p places, found []*clientFile, chosen []*choice) {
	have := map[string]bool{}
	for _, f := range found {
		have[f.client.id] = true
		visible.Fprintf(s.Out, "%s  %s\n", f.client.name, p.short(f.path))
		if f.err != nil {
			fmt.Fprintf(s.Out, "  cannot be read: %s\n", strings.Join(cli.ErrorLines(f.err), "\n    "))
		}
		for _, e := range f.entries {
			visible.Fprintf(s.Out, "  %-20s %s\n", e.name, e.verdict(f, chosen))
			for _, note := range e.notes {
				visible.Fprintf(s.Out, "  %-20s   %s\n", "", note)
			}
		}
	}
	var without []string
	for _, c := range mcpClients {
		if !have[c.id] {
			without = append(without, c.name)
		}
	}
	if len(without) > 0 {
		fmt.Fprintf(s.Out, "No servers of %s were found.\n", strings.Join(without, ", "))
	}
}

// verdict says what init does with an entry.
func (e *clientEntry) verdict(f *clientFile, chosen []*choice) string {
	switch {
	case e.err != nil:
		_, reason, _ := strings.Cut(e.err.Error(), ": ")
		return "left out: " + reason
	case e.isCodemode():
		return "codemode itself; left out"
	}
	if slices.ContainsFunc(chosen, func(c *choice) bool { return c.entry == e }) {
		text := e.summary()
		if e.server.Disabled {
			text += "  (disabled)"
		}
		return text
	}
	for _, c := range chosen {
		if c.entry.name == e.name && c.from != f {
			return "the same as in " + c.from.client.name
		}
	}
	return "the same"
}

// printNext says what init wrote and what to do next.
func printNext(s cli.Streams, p places, out, standard string, found []*clientFile, chosen []*choice) {
	visible.Fprintf(s.Out, "\nWrote %s: %s, and the profile careful, which asks you before each call.\n",
		p.short(out), cli.Count(len(chosen), "server"))
	if n := secretValues(chosen); n > 0 {
		fmt.Fprintf(s.Out,
			"It contains %s that look secret, and only you can read it. ${NAME} in their place keeps them out of the file.\n",
			cli.Count(n, "value"))
	}
	check := "codemode doctor"
	if out != standard {
		check += " --config " + cli.ShellWord(out)
	}
	visible.Fprintf(s.Out, "\nNext:\n  %s\n      starts each server once and prints what is missing\n", check)
	var ids []string
	for _, f := range found {
		if !slices.Contains(ids, f.client.id) {
			ids = append(ids, f.client.id)
		}
	}
	if len(ids) == 0 {
		ids = []string{"claude-code"}
	}
	for _, id := range ids {
		paste := "codemode init --client " + id
		if out != standard {
			paste += " --out " + cli.ShellWord(out)
		}
		visible.Fprintf(s.Out, "  %s\n", paste)
	}
	fmt.Fprintf(s.Out, "      prints what to paste there, in place of its present servers: no rule applies to\n      "+
		"calls of servers that a client starts itself\n")
}

// secretValues counts the values that look secret and are literal, not variables.
func secretValues(chosen []*choice) int {
	n := 0
	for _, c := range chosen {
		n += len(checks.LiteralSecrets(c.entry.value))
	}
	return n
}

// printPaste prints the configuration with which a client uses codemode.
func printPaste(s cli.Streams, id string, command []string) error {
	for _, c := range mcpClients {
		if c.id == id {
			where, text := c.paste(command)
			visible.Fprintf(s.Err, "%s, in %s:\n\n", c.name, where)
			fmt.Fprintln(s.Out, text)
			return nil
		}
	}
	return cli.UsageError(fmt.Errorf("there is no client %q; there are %s", id, strings.Join(clientIDs(), ", ")))
}

// serveCommand is the command with which a client starts this program.
func serveCommand(config, standard string) []string {
	command := "codemode"
	if path, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		command = path // clients have another PATH than terminals
	}
	if config == standard {
		return []string{command, "serve"}
	}
	return []string{command, "serve", "--config", config}
}

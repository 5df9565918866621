package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
)

// printFound shows which files there are and what is in them.
func printFound(s streams, p places, found []*clientFile, chosen []*choice) {
	have := map[string]bool{}
	for _, f := range found {
		have[f.client.id] = true
		visible.Fprintf(s.out, "%s  %s\n", f.client.name, p.short(f.path))
		if f.err != nil {
			fmt.Fprintf(s.out, "  cannot be read: %s\n", strings.Join(errorLines(f.err), "\n    "))
		}
		for _, e := range f.entries {
			visible.Fprintf(s.out, "  %-20s %s\n", e.name, e.verdict(f, chosen))
			for _, note := range e.notes {
				visible.Fprintf(s.out, "  %-20s   %s\n", "", note)
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
		fmt.Fprintf(s.out, "No servers of %s were found.\n", strings.Join(without, ", "))
	}
}

// verdict says what becomes of an entry.
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
			return "the same as that of " + c.from.client.name
		}
	}
	return "the same"
}

// printNext says what was written and what is to be done now.
func printNext(s streams, p places, out, standard string, found []*clientFile, chosen []*choice) {
	visible.Fprintf(s.out, "\nWrote %s: %s, and the profile careful, under which you are asked before each call.\n", p.short(out), count(len(chosen), "server"))
	if n := secretValues(chosen); n > 0 {
		fmt.Fprintf(s.out, "It holds %s that look secret, as they were, and only you can read it. ${NAME} in their place keeps them out of it.\n", count(n, "value"))
	}
	check := "codemode doctor"
	if out != standard {
		check += " --config " + shellWord(out)
	}
	visible.Fprintf(s.out, "\nNext:\n  %s\n      starts each server once and says what is missing\n", check)
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
			paste += " --out " + shellWord(out)
		}
		visible.Fprintf(s.out, "  %s\n", paste)
	}
	fmt.Fprintf(s.out, "      prints what to paste there, instead of the servers it has now: what a client still\n      starts by itself is called without any of these rules\n")
}

func count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// secretValues counts the values of the servers that are called like a secret
// and written out, not taken from a variable.
func secretValues(chosen []*choice) int {
	n := 0
	for _, c := range chosen {
		n += len(literalSecrets(c.entry.value))
	}
	return n
}

// printPaste prints what makes a client use codemode.
func printPaste(s streams, id string, command []string) error {
	for _, c := range mcpClients {
		if c.id == id {
			where, text := c.paste(command)
			visible.Fprintf(s.err, "%s, in %s:\n\n", c.name, where)
			fmt.Fprintln(s.out, text)
			return nil
		}
	}
	return usage(fmt.Errorf("there is no client %q here; there are %s", id, strings.Join(clientIDs(), ", ")))
}

// serveCommand is how a client starts this program with a configuration.
func serveCommand(config, standard string) []string {
	command := "codemode"
	if path, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		command = path // clients start with another PATH than terminals
	}
	if config == standard {
		return []string{command, "serve"}
	}
	return []string{command, "serve", "--config", config}
}

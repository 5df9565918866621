package setup

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/visible"
)

// printFound lists the files and their servers.
func printFound(s cli.Streams, p places, found []*clientFile, chosen []*choice) {
	for _, f := range found {
		name := f.client.name
		if f.place.scope != userScope {
			name += " (" + f.place.scope + ")"
		}
		visible.Fprintf(s.Out, "%s  %s\n", name, p.short(f.path))
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
}

// printWithout names the clients that have no file here.
func printWithout(s cli.Streams, found []*clientFile) {
	var without []string
	for _, c := range mcpClients {
		if !slices.ContainsFunc(found, func(f *clientFile) bool { return f.client.id == c.id }) {
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
	case e.off.why != "":
		return "off: " + e.off.why
	case e.err != nil:
		_, reason, _ := strings.Cut(e.err.Error(), ": ")
		return "left out: " + reason
	case e.isCodemode():
		return "codemode itself; left out"
	}
	if slices.ContainsFunc(chosen, func(c *choice) bool { return c.entry == e }) {
		return e.summary()
	}
	for _, c := range chosen {
		if c.entry.name == e.name && c.entry.same(e) && c.from != f {
			return "the same as in " + c.from.client.name
		}
	}
	if e.stays != "" {
		return e.summary() + "  (stays: " + e.stays + ")"
	}
	return e.summary() + "  (codemode has it already)"
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
	check := p.command() + " doctor"
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
		paste := p.command() + " init --client " + id
		if out != standard {
			paste += " --out " + cli.ShellWord(out)
		}
		visible.Fprintf(s.Out, "  %s\n", paste)
	}
	fmt.Fprintf(s.Out, "      prints what to paste there, in place of its present servers: no rule applies to\n      "+
		"calls of servers that a client starts itself\n")
	without := formless(found)
	printAnswers(s, without, p.opensTerminals(without))
}

// secretValues counts the values that look secret and are literal, not variables.
func secretValues(chosen []*choice) int {
	n := 0
	for _, c := range chosen {
		n += len(checks.LiteralSecrets(c.entry.value))
	}
	return n
}

// print says what an installation changes.
func (x *plan) print(s cli.Streams, b *book, starts bool) {
	fmt.Fprintln(s.Out, "\nThe plan:")
	switch {
	case x.existing == nil:
		visible.Fprintf(s.Out, "  %s  is written: %s, and the profile careful\n", x.short(x.out),
			cli.Count(len(x.chosen), "server"))
	case len(x.chosen) > 0:
		visible.Fprintf(s.Out, "  %s  gets %s more, and rules that ask about their tools\n", x.short(x.out),
			cli.Count(len(x.chosen), "server"))
	}
	for _, c := range x.clients {
		for _, f := range c.files {
			visible.Fprintf(s.Out, "  %s  %s\n", x.short(f.path), f.summary(c.client))
		}
	}
	x.printTroubles(s)
	x.printOffer(s)
	if starts && len(x.starts()) > 0 {
		fmt.Fprintln(s.Out, "codemode starts each server that moves once, and reads what its tools say about themselves. What does "+
			"not run stays.")
	}
	visible.Fprintf(s.Out, "Each file is copied to %s first. codemode init --undo brings them back.\n", x.short(b.dir))
}

// printOffer says how Codex leaves questions to codemode. Where codemode's rules ask about nothing it offers nothing.
func (x *plan) printOffer(s cli.Streams) {
	comes := slices.ContainsFunc(x.clients, func(c *clientPlan) bool {
		return c.client.id == "codex" && slices.ContainsFunc(c.files, func(f *fileChange) bool { return f.as != "" })
	})
	switch {
	case !comes:
	case x.approved:
		fmt.Fprintln(s.Out, "Codex does not ask before codemode's tools (default_tools_approval_mode): codemode asks.")
	case x.have == nil || !x.have.Profile("").Unrestricted():
		fmt.Fprintln(s.Out, "Offer: Codex may ask before a call of codemode's tools, and codemode then asks once more. "+
			"With --codex-approve,\ncodemode alone asks: its entry gets default_tools_approval_mode = \"approve\", "+
			"and no other server's does.")
	}
}

// summary says what changes in a file.
func (f *fileChange) summary(c *mcpClient) string {
	var parts, out []string
	for _, e := range f.edits {
		out = append(out, e.Out...)
		if e.Ours {
			parts = []string{"codemode comes in"}
		}
	}
	if f.isNew {
		parts = []string{"is made, with codemode in it"}
	}
	if f.as == otherName {
		parts[0] += " as " + otherName
	}
	if len(out) > 0 {
		parts = append(parts, strings.Join(out, ", ")+" behind it")
	}
	if f.shared {
		parts = append(parts, "and everybody who shares the project's files has them no more")
	}
	return c.name + ": " + strings.Join(parts, ", ")
}

// printTroubles says what stays as it is, and why.
func (x *plan) printTroubles(s cli.Streams) {
	for _, c := range x.clients {
		if c.shares != "" {
			visible.Fprintf(s.Out, "  %s has the same file as %s\n", c.client.name, c.shares)
		}
		if c.err != nil {
			visible.Fprintf(s.Out, "  %s stays as it is: %v; codemode init --client %s prints what to write there\n",
				c.client.name, c.err, c.client.id)
			continue
		}
		for _, f := range x.found {
			for _, e := range f.entries {
				if f.client != c.client || x.moves(e) || e.isCodemode() {
					continue
				}
				if e.off.why != "" {
					visible.Fprintf(s.Out, "  off: %s (%s); it stays in %s, and codemode does not start it\n", e.name, e.off.why,
						c.client.name)
					continue
				}
				reason := e.stays
				if e.err != nil {
					_, reason, _ = strings.Cut(e.err.Error(), ": ")
				}
				visible.Fprintf(s.Out, "  %s stays in %s, and no rule applies to it: %s\n", e.name, c.client.name, reason)
			}
		}
		for _, project := range x.otherProjects(c.client) {
			visible.Fprintf(s.Out, "  %s has servers of the project %s: codemode init --install --project %s moves them\n",
				c.client.name, project, cli.ShellWord(project))
		}
	}
}

// printDone says what an installation did, and how to see that it works.
func (x *plan) printDone(s cli.Streams, tools []tool, notes []string) {
	files := 0
	for _, c := range x.clients {
		files += len(c.files)
	}
	visible.Fprintf(s.Out, "\nDone: %s of your clients changed.\n", cli.Count(files, "file"))
	reads, destroys := 0, 0
	proof := ""
	for _, t := range tools {
		if t.reads {
			reads++
			if t.simple && !secretive.MatchString(t.name) && (proof == "" || !listing(proof) && listing(t.name)) {
				proof = t.name
			}
		}
		if t.destroys {
			destroys++
		}
	}
	if len(tools) > 0 {
		grave := ""
		if destroys > 0 {
			grave = fmt.Sprintf(", with a high risk for %d that destroy", destroys)
		}
		visible.Fprintf(s.Out, "Of %s, %d only read, as their servers say, and are allowed; "+
			"codemode asks about the others%s. Read the rules in %s.\n", cli.Count(len(tools), "tool"), reads, grave, x.short(x.out))
	}
	for _, c := range x.clients {
		for _, f := range x.found {
			for _, e := range f.entries {
				if f.client == c.client && e.failed {
					visible.Fprintf(s.Out, "%s stays in %s, and no rule applies to it: %s\n", e.name, c.client.name, e.stays)
				}
			}
		}
	}
	for _, note := range notes {
		visible.Fprintf(s.Out, "Note: %s.\n", note)
	}
	if n := secretValues(x.chosen); n > 0 {
		fmt.Fprintf(s.Out, "The configuration has %s that look secret, and only you can read it.\n", cli.Count(n, "value"))
	}
	printAnswers(s, x.formless(), x.existing == nil && x.opens())
	command := x.command() + " doctor --config " + cli.ShellWord(x.out)
	if proof != "" {
		command = x.command() + " run --config " + cli.ShellWord(x.out) + " -e " +
			cli.ShellWord("return await codemode."+proof+"({})")
	}
	visible.Fprintf(s.Out, "\nRestart your clients. This proves that it works:\n  %s\n", command)
}

// printAnswers says how a person answers where clients show no forms. opens says whether codemode opens a terminal.
func printAnswers(s cli.Streams, formless []string, opens bool) {
	if len(formless) == 0 {
		return
	}
	visible.Fprintf(s.Out, "\nNo forms are shown by %s. There, calls that codemode asks about are refused unless you answer in\n"+
		"another place:\n", strings.Join(formless, ", "))
	if opens {
		fmt.Fprint(s.Out, "  a terminal that codemode opens when a question comes (\"responder\": \"auto\" in the configuration)\n")
	} else {
		fmt.Fprint(s.Out, "  a terminal that codemode opens: \"responder\": \"auto\" in the configuration, where windows can be shown\n")
	}
	fmt.Fprintf(s.Out, "  %-24s in a second terminal, before you start the client\n", "codemode approvals")
	fmt.Fprintf(s.Out, "  %-24s the page, with \"console\" in the configuration; a notification can tell you of a question\n",
		"codemode console")
}

// secretive are names of tools whose results nobody wants on a terminal.
var secretive = regexp.MustCompile(`(?i)env|secret|token|key|password|credential`)

// listing reports whether a tool lists something, as its name says: that is likely quick and short.
func listing(name string) bool { return strings.Contains(strings.ToLower(name), "list") }

// summary says what becomes of a file.
func (r *restored) summary() string {
	switch {
	case r.err != nil:
		return "refused: " + r.err.Error()
	case r.note != "":
		return r.note
	case r.text == nil:
		return "is removed: it was not there before"
	}
	return "becomes what it was"
}

// printPaste prints the configuration with which clients use codemode.
func printPaste(s cli.Streams, ids []string, found []*clientFile, how start) error {
	for _, id := range ids {
		c := clientByID(id)
		how.name = c.nameIn(found)
		text, err := c.pasteText(how)
		if err != nil {
			return cli.InternalError(err)
		}
		visible.Fprintf(s.Err, "%s, in %s:\n\n", c.name, c.where)
		fmt.Fprintln(s.Out, text)
	}
	return nil
}

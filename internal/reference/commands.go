package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands is the page of all commands, from their tree.
func Commands(root *cobra.Command) string {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var topics, commands []*cobra.Command
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			switch {
			case below.Hidden || below.Deprecated != "" || below.Name() == "help" || below.Name() == "completion":
			case below.IsAdditionalHelpTopicCommand():
				topics = append(topics, below)
			default:
				commands = append(commands, below)
				walk(below)
			}
		}
	}
	walk(root)
	var b strings.Builder
	b.WriteString("# Commands\n\n" + generated + "As `codemode help` prints them, given a command. `codemode completion` " +
		"writes the completion for bash, fish,\nPowerShell or zsh.\n\n")
	list := table{{"Command", "What it does"}}
	for _, c := range commands {
		if c.Parent() == root {
			list = append(list, []string{fmt.Sprintf("[%s](#%s)", code(c.CommandPath()), slug(c)), prose(c.Short)})
		}
	}
	for _, c := range topics {
		list = append(list, []string{fmt.Sprintf("[%s](#%s)", code("codemode help "+c.Name()), slug(c)), prose(c.Short)})
	}
	b.WriteString(list.String())
	for _, c := range append(commands, topics...) {
		command(&b, c)
	}
	return b.String()
}

// slug is the fragment of a command's heading.
func slug(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// command writes the section of one command: usage, what it does, examples, flags.
func command(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n", c.CommandPath(), prose(c.Short))
	if c.Runnable() {
		fmt.Fprintf(b, "```text\n%s\n```\n\n", c.UseLine())
	}
	if c.Long != "" {
		fmt.Fprintf(b, "```text\n%s\n```\n\n", strings.TrimRight(c.Long, "\n"))
	}
	if c.HasExample() {
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", unindented(c.Example))
	}
	if below := c.Commands(); len(below) > 0 {
		for _, sub := range below {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(b, "- [%s](#%s): %s\n", code(sub.CommandPath()), slug(sub), prose(sub.Short))
			}
		}
		b.WriteString("\n")
	}
	flags := table{{"Flag", "Value", "If left out", "What it does"}}
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, flag(f)) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, flag(f)) })
	if len(flags) > 1 {
		b.WriteString(flags.String())
	}
}

// unindented is an example without the two spaces with which help begins each line.
func unindented(example string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(example, "\n")) {
		b.WriteString(strings.TrimPrefix(line, "  "))
	}
	return b.String()
}

func flag(f *pflag.Flag) []string {
	name := code("--" + f.Name)
	if f.Shorthand != "" {
		name = code("-"+f.Shorthand) + ", " + name
	}
	value, usage := pflag.UnquoteUsage(f)
	if value != "" && f.NoOptDefVal != "" { // the next word is no value of such a flag
		value = code("="+value) + ", or " + code(f.NoOptDefVal)
	}
	leftOut := f.DefValue
	switch leftOut {
	case "", "false", "0", "0s", "[]":
		leftOut = ""
	default:
		leftOut = code(leftOut)
	}
	return []string{name, value, leftOut, prose(usage)}
}

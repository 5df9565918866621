package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// NewGroup makes a command that only holds others. It prints its help.
func NewGroup(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// Count is a number with its noun: 1 server, 2 servers, 3 processes.
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// ShellWord quotes a word for a shell if it needs that.
func ShellWord(w string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@%+,") == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// WithoutName removes the server's name from the beginning of a message, for printing beside the name.
func WithoutName(text, server string) string {
	text = strings.TrimPrefix(text, fmt.Sprintf("server %q", server))
	return strings.TrimPrefix(strings.TrimPrefix(text, ": "), " ")
}

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/bench/search"
)

func newBenchSearch(s cli.Streams) *cobra.Command {
	var corpus, asked, format string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Measure how well search_tools answers plain questions",
		Long: `Asks search_tools the questions of this binary about the tools of --corpus, and counts how
often the first answer is a right tool (recall@1), and how often one of the first five is
(recall@5). The corpus is a file with a tool in each line: an object with server, name,
description and inputSchema. The report says whether it is the one that the questions are
for. Every other question is held out: nobody may use it to work on the ranking.

--questions asks your own about your own tools: a file with lines such as

  send a mail to somebody => mail/send_message mail/reply

where each of the tools behind the arrow is a right one.`,
		Example: `  codemode bench search --corpus corpus.jsonl -v
  codemode bench search --corpus my-tools.jsonl --questions my-questions.txt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("format", format, search.Formats); err != nil {
				return err
			}
			if corpus == "" {
				return cli.UsageError(errors.New("--corpus has to name a file with tools"))
			}
			text, err := os.ReadFile(corpus)
			if err != nil {
				return cli.UsageError(fmt.Errorf("--corpus: %w", err))
			}
			c, err := search.ParseCorpus(text)
			if err != nil {
				return cli.UsageError(fmt.Errorf("--corpus: %w", err))
			}
			questions, err := search.Questions()
			if asked != "" {
				var text []byte
				if text, err = os.ReadFile(asked); err == nil {
					questions, err = search.ParseQuestions(string(text))
				}
			}
			if err != nil {
				return cli.UsageError(fmt.Errorf("--questions: %w", err))
			}
			report, err := search.Measure(cmd.Context(), c, questions)
			if err != nil {
				return cli.UsageError(err)
			}
			return benchEnd(report.Write(s.Out, format, verbose), true)
		},
	}
	cmd.Flags().StringVar(&corpus, "corpus", "", "file with the tools, one in a line")
	cmd.Flags().StringVar(&asked, "questions", "", "file with other questions than those in this binary")
	cmd.Flags().StringVar(&format, "format", "table", strings.Join(search.Formats, ", "))
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list the questions without a right tool")
	return cmd
}

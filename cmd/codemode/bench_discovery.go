package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/bench/discovery"
)

func newBenchSavings(s cli.Streams) *cobra.Command {
	var data, format, serve string
	var peers []string
	cmd := &cobra.Command{
		Use:   "savings",
		Short: "Measure calls and tokens of programs against one tool call at a time",
		Long: `Takes the tasks of tau2-bench's airline and retail domains, with the list of calls that does
each of them, and makes these calls one at a time, by one program, and by two programs: one
that reads and returns all answers, and one that writes. No model takes part. The tools are
a server of this binary, in front of the data of --data: a checkout of tau2-bench.

One program can express a task if each text and number in the arguments of its calls is
  - in the words of the user, also as the name of a month, state, city or small number;
  - in the tool's declaration, which lists it;
  - in the answer of an earlier call of the program, which takes it from there by what
    stands beside it, such as the name of an item; or
  - the model's own words: the summary for a person.
An amount that the model has to compute, for example, is none of these, and such a task does
not count as expressible. It is optimistic that the user says everything at once, that no
rule of the company needs a look at an answer before a call that writes, and that a program
chooses from an answer what the list of calls chose.

A program counts if it leaves the database as the calls one at a time do. Figures are means
over the tasks that one program does: tool calls and requests of the model; approximate
tokens of the list of tools, of what discovery says, of arguments and programs, and of
results; all of these at the end of a task (context); and what the model reads over all
requests of a task, each with the context so far. The conversation and its instructions are
in none of them.

--surface adds another product with the same programs: a file with an object of tools (name,
description, inputSchema), prompt, and discovery, which the model reads in a request of its
own. A name such as cloudflare:retail is for one domain only.`,
		Example: `  codemode bench savings --data tau2-bench
  # the tools of one domain as an MCP server on standard input and output
  codemode bench savings --data tau2-bench --serve retail
  # another product beside them
  codemode bench savings --data tau2-bench --surface cloudflare:retail=surface.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				return cli.UsageError(errors.New("--data has to name a checkout of tau2-bench"))
			}
			if err := oneOf("format", format, discovery.Formats); err != nil {
				return err
			}
			if serve != "" {
				if err := oneOf("serve", serve, discovery.Names); err != nil {
					return err
				}
				d, err := discovery.Open(data, serve)
				if err != nil {
					return cli.UsageError(err)
				}
				return cli.InternalError(d.Serve(cmd.Context()))
			}
			surfaces, err := readSurfaces(peers)
			if err != nil {
				return cli.UsageError(fmt.Errorf("--surface: %w", err))
			}
			bar := newBar(s.Err)
			report, err := discovery.MeasureSavings(cmd.Context(), discovery.Options{Data: data, CacheDir: launch.CacheDir(),
				Peers: surfaces, Progress: bar.show})
			bar.clear()
			if err != nil {
				return cli.InternalError(err)
			}
			return benchEnd(discovery.Write(s.Out, format, report), report.Pass())
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "folder with a checkout of tau2-bench")
	cmd.Flags().StringVar(&format, "format", "table", strings.Join(discovery.Formats, ", "))
	cmd.Flags().StringVar(&serve, "serve", "", "serve the tools of a domain instead: "+strings.Join(discovery.Names, ", "))
	cmd.Flags().StringArrayVar(&peers, "surface", nil, "another product, as name=FILE; can be repeated")
	return cmd
}

// readSurfaces reads the files of --surface.
func readSurfaces(peers []string) (all []*discovery.Surface, err error) {
	for _, p := range peers {
		name, path, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%s: write name=FILE", p)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := discovery.ParseSurface(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

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
			if err := oneOf("format", format, discovery.Formats); err != nil {
				return err
			}
			if corpus == "" {
				return cli.UsageError(errors.New("--corpus has to name a file with tools"))
			}
			tools, err := os.ReadFile(corpus)
			if err != nil {
				return cli.UsageError(fmt.Errorf("--corpus: %w", err))
			}
			var questions []byte // nil: those of this binary
			if asked != "" {
				if questions, err = os.ReadFile(asked); err != nil {
					return cli.UsageError(fmt.Errorf("--questions: %w", err))
				}
			}
			report, err := discovery.MeasureRecall(cmd.Context(), tools, questions)
			if err != nil {
				return cli.UsageError(err)
			}
			report.Verbose = verbose
			return benchEnd(discovery.Write(s.Out, format, report), true)
		},
	}
	cmd.Flags().StringVar(&corpus, "corpus", "", "file with the tools, one in a line")
	cmd.Flags().StringVar(&asked, "questions", "", "file with other questions than those in this binary")
	cmd.Flags().StringVar(&format, "format", "table", strings.Join(discovery.Formats, ", "))
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list the questions without a right tool")
	return cmd
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/config/changes"
	"github.com/codemode-project/codemode/config/importtable"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

func newProfilesDiff(s streams) *cobra.Command {
	var set setting
	var calls, record string
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say how two profiles or files differ, in rules and in verdicts",
		Long: `OLD and NEW are profiles of your configuration, files, or FILE:PROFILE. Two files are
compared profile by profile. With --calls (a table as for profiles test, whose verdicts do
not matter) or --record (the record of past calls) it lists the calls that the two decide
otherwise. Exit code 1 when there is a difference.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			pairs, err := set.pairs(args[0], args[1])
			if err != nil {
				return err
			}
			samples, err := readSamples(calls, record)
			if err != nil {
				return err
			}
			different := false
			for _, p := range pairs {
				different = p.diff(s, samples) || different
			}
			if different {
				return &exitError{code: exitProgram}
			}
			fmt.Fprintln(s.out, "no difference")
			return nil
		},
	}
	set.fileFlags(cmd)
	cmd.Flags().StringVar(&calls, "calls", "", "table of calls to decide by both")
	cmd.Flags().StringVar(&record, "record", "", "record of past calls to decide by both")
	return cmd
}

// A pair is two profiles to compare; one of them is nil where it does not exist.
type pair struct {
	name           string
	oldCfg, newCfg *config.Config
	old, new       *profiles.Profile
}

// pairs finds what to compare.
func (s *setting) pairs(old, new string) ([]pair, error) {
	oldCfg, oldName, err := s.side(old)
	if err != nil {
		return nil, err
	}
	newCfg, newName, err := s.side(new)
	if err != nil {
		return nil, err
	}
	if (oldName == "") != (newName == "") {
		return nil, usage(fmt.Errorf("%s and %s: compare two files, or two profiles", old, new))
	}
	if oldName != "" {
		a, err := profileOf(oldCfg, oldName, config.Subject{}, time.Now())
		if err != nil {
			return nil, err
		}
		b, err := profileOf(newCfg, newName, config.Subject{}, time.Now())
		if err != nil {
			return nil, err
		}
		return []pair{{old + " -> " + new, oldCfg, newCfg, a, b}}, nil
	}
	names := append(oldCfg.All(), newCfg.All()...)
	slices.Sort(names)
	pairs := []pair{{"the base tool", oldCfg, newCfg, oldCfg.Profile(""), newCfg.Profile("")}}
	for _, name := range slices.Compact(names) {
		pairs = append(pairs, pair{"profile " + name, oldCfg, newCfg, oldCfg.Profile(name), newCfg.Profile(name)})
	}
	return pairs, nil
}

// side reads one side: a profile of the configuration, a file, or FILE:PROFILE.
func (s *setting) side(arg string) (cfg *config.Config, profile string, err error) {
	file, profile := arg, ""
	if _, err := os.Stat(arg); err != nil {
		i := strings.LastIndexByte(arg, ':')
		if i < 0 {
			cfg, err := s.load()
			return cfg, arg, err
		}
		file, profile = arg[:i], arg[i+1:]
	}
	cfg, err = config.Load(file)
	if err != nil {
		return nil, "", usage(err)
	}
	return cfg, profile, nil
}

// diff prints how the two differ and reports whether they do.
func (p *pair) diff(s streams, samples []sample) bool {
	if p.old == nil || p.new == nil {
		word := "is new"
		if p.new == nil {
			word = "is gone"
		}
		visible.Fprintf(s.out, "%s %s\n", p.name, word)
		return true
	}
	var lines []string
	changes, settings := profiles.Diff(p.old, p.new)
	for _, c := range changes {
		mark := "-"
		if c.Added {
			mark = "+"
		}
		lines = append(lines, fmt.Sprintf("%s %s  %s  %s", mark, c.List, place(c.Pos), c.Text))
	}
	for _, line := range settings {
		lines = append(lines, "  "+line)
	}
	for _, x := range samples {
		if line := x.compare(p); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return false
	}
	fmt.Fprintln(s.out, visible.Line(p.name))
	for _, line := range lines {
		visible.Fprintf(s.out, "  %s\n", line)
	}
	return true
}

// A sample is a call to decide twice.
type sample struct {
	at   string
	tool string
	args json.RawMessage
	past *changes.PastCall
}

func readSamples(calls, record string) ([]sample, error) {
	var samples []sample
	if calls != "" {
		data, err := os.ReadFile(calls)
		if err != nil {
			return nil, usage(err)
		}
		rows, err := config.ParseCalls(calls, data)
		if err != nil {
			return nil, usage(err)
		}
		for _, r := range rows {
			samples = append(samples, sample{at: place(r.Pos), tool: r.Tool, args: r.Args})
		}
	}
	if record != "" {
		past, err := readRecord(record)
		if err != nil {
			return nil, err
		}
		for i := range past {
			samples = append(samples, sample{at: fmt.Sprintf("%s:%d", record, past[i].Line), tool: past[i].Tool, args: past[i].Args, past: &past[i]})
		}
	}
	return samples, nil
}

// compare says how a call is decided otherwise, "" if it is not.
func (x *sample) compare(p *pair) string {
	if x.past != nil {
		old, new := changes.Replay(p.old, *x.past), changes.Replay(p.new, *x.past)
		if slices.Equal(old.Verdicts, new.Verdicts) {
			return ""
		}
		return fmt.Sprintf("~ %s  %s: %s -> %s", x.at, x.tool, changes.VerdictsText(old.Verdicts), changes.VerdictsText(new.Verdicts))
	}
	old, new := p.old.Decide(p.oldCfg.Call(x.tool, x.args)), p.new.Decide(p.newCfg.Call(x.tool, x.args))
	if old.Verdict == new.Verdict {
		return ""
	}
	return fmt.Sprintf("~ %s  %s %s: %s -> %s (%s)", x.at, x.tool, x.args, old.Verdict, new.Verdict, because(new.Reasons[0]))
}

func readRecord(path string) ([]changes.PastCall, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage(err)
	}
	defer f.Close()
	past, err := changes.ReadRecord(f)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", path, err))
	}
	return past, nil
}

func newProfilesReplay(s streams) *cobra.Command {
	var set setting
	var profile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay RECORD",
		Short: "Say which past calls the rules of now would decide otherwise",
		Long: `Reads a record (JSON lines, as codemode exports it) and decides each call in it again, by
the profile it was made under or by --profile. It lists the calls that would be decided
otherwise. Where the record does not keep what the verdict depends on, it says that it
cannot tell. Limits are not replayed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := set.load()
			if err != nil {
				return err
			}
			past, err := readRecord(args[0])
			if err != nil {
				return err
			}
			return replay(s, cfg, past, profile, args[0], asJSON)
		},
	}
	set.fileFlags(cmd)
	cmd.Flags().StringVar(&profile, "profile", "", "profile to decide by; each call's own if left out, - for the base tool")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

type replayedJSON struct {
	Line int      `json:"line"`
	Tool string   `json:"tool"`
	Was  string   `json:"was"`
	Now  []string `json:"now"`
	Rule string   `json:"rule,omitempty"`
	At   string   `json:"at,omitempty"`
	Why  string   `json:"why"`
}

func replay(s streams, cfg *config.Config, past []changes.PastCall, profile, record string, asJSON bool) error {
	var all []changes.Replayed
	shown := []replayedJSON{}
	gone := map[string]int{} // profiles to how many calls were made under them
	for _, c := range past {
		name := c.Profile
		if profile != "" {
			name = profile
		}
		p, err := profileOf(cfg, name, config.Subject{}, time.Now())
		if err != nil && profile != "" {
			return err
		}
		if err != nil { // an old record has calls under profiles that there are no more
			gone[name]++
			continue
		}
		r := changes.Replay(p, c)
		all = append(all, r)
		if !r.Certain() || r.Changed() {
			shown = append(shown, toReplayedJSON(&r))
		}
	}
	summary := changes.Summarise(all)
	if asJSON {
		return printed(s, map[string]any{"calls": shown, "summary": summary, "gone": gone})
	}
	for _, r := range shown {
		now := r.Now[0]
		if len(r.Now) > 1 {
			now = "cannot tell: " + strings.Join(r.Now, " or ")
		}
		visible.Fprintf(s.out, "%s:%d  %s: %s -> %s (%s)\n", record, r.Line, r.Tool, r.Was, now, r.Why)
	}
	fmt.Fprintln(s.out, visible.Text(summary.String()))
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		visible.Fprintf(s.out, "not replayed: %s under the profile %q, which there is no more; --profile decides them by another one\n", count(gone[name], "call"), name)
	}
	return nil
}

func toReplayedJSON(r *changes.Replayed) replayedJSON {
	j := replayedJSON{Line: r.Line, Tool: r.Tool, Was: r.Verdict.String()}
	for _, v := range r.Verdicts {
		j.Now = append(j.Now, v.String())
	}
	if !r.Certain() {
		var on []string
		for _, d := range r.Depends {
			on = append(on, fmt.Sprintf("%s at %s", d.Rule, place(d.Pos)))
		}
		j.Why = "it depends on what the record does not keep: " + strings.Join(on, ", ")
		return j
	}
	reason := r.Decision.Reasons[0]
	j.Rule, j.At, j.Why = reason.Rule, place(reason.Pos), because(reason)
	return j
}

func newProfilesImport(s streams) *cobra.Command {
	var name, out, order string
	var servers []string
	cmd := &cobra.Command{
		Use:   "import releio FILE",
		Short: "Make a profile of another program's rule table",
		Long: `Reads a rule table of releio (a JSON array with serverId, toolName, toolPattern,
autoApprove and priority, in which the first rule that fits decides) and prints a
configuration file with a profile that decides the same. Ids of servers become names by
--server ID=NAME, or by a "servers" list in the file. A * in serverId or toolName stands
for anything, as in toolPattern.

Programs differ in whether the highest or the lowest priority is tried first. Where the
verdict on any tool depends on it, nothing is written without --order, and each such tool
is named with both verdicts. The document of the program that the table is from has the answer.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] != "releio" {
				return usage(fmt.Errorf("%q cannot be imported; releio can", args[0]))
			}
			data, err := os.ReadFile(args[1])
			if err != nil {
				return usage(err)
			}
			names := map[string]string{}
			for _, pair := range servers {
				id, name, ok := strings.Cut(pair, "=")
				if !ok {
					return usage(fmt.Errorf("--server %s: write ID=NAME", pair))
				}
				names[id] = name
			}
			first, err := importtable.ParseOrder(order)
			if err != nil {
				return usage(fmt.Errorf("--order: %w", err))
			}
			imported, err := importtable.ImportReleio(data, name, names, first)
			if _, ok := errors.AsType[*importtable.OrderError](err); ok {
				err = fmt.Errorf("%w\nsay which it is with --order highest-first or --order lowest-first", err)
			}
			if err != nil {
				return usage(fmt.Errorf("%s: %w", args[1], err))
			}
			for _, d := range imported.Depends {
				visible.Fprintf(s.err, "depends on the order: %s\n", d)
			}
			for _, note := range imported.Notes {
				visible.Fprintf(s.err, "note: %s\n", note)
			}
			if out == "" {
				_, err = io.WriteString(s.out, visible.JSON(string(imported.File)))
				return err
			}
			return writeNew(out, imported.File)
		},
	}
	cmd.Flags().StringVar(&name, "profile", "imported", "name of the profile")
	cmd.Flags().StringArrayVar(&servers, "server", nil, "ID=NAME: what a server of the table is called here")
	cmd.Flags().StringVar(&order, "order", "", "highest-first or lowest-first: which priority of the table is tried first")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write it there; the file must not exist yet")
	return cmd
}

// writeNew writes a file that is not there yet.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usage(err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

package rulebook

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/changes"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

func newProfilesDiff(s cli.Streams) *cobra.Command {
	var record string
	var set launch.Settings
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare the rules and verdicts of two profiles or files",
		Long: `OLD and NEW are profiles of your configuration, files, or FILE:PROFILE. Two files are
compared profile by profile. With --record (JSON lines, as codemode audit export writes
them) it lists the past calls that the two decide differently. Exit code 1 when there is a
difference.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			pairs, err := findPairs(&set, args[0], args[1])
			if err != nil {
				return err
			}
			var past []changes.PastCall
			if record != "" {
				if past, err = readRecord(record); err != nil {
					return err
				}
			}
			different := false
			for _, p := range pairs {
				different = p.diff(s, record, past) || different
			}
			if different {
				return cli.WithCode(cli.ExitProgram, nil)
			}
			fmt.Fprintln(s.Out, "no difference")
			return nil
		},
	}
	set.FileFlags(cmd)
	cmd.Flags().StringVar(&record, "record", "", "record of past calls to decide by both")
	return cmd
}

// A pair is two profiles to compare; one of them is nil where it does not exist.
type pair struct {
	name     string
	old, new *profiles.Profile
}

// findPairs finds what to compare.
func findPairs(set *launch.Settings, old, new string) ([]pair, error) {
	oldCfg, oldName, err := readSide(set, old)
	if err != nil {
		return nil, err
	}
	newCfg, newName, err := readSide(set, new)
	if err != nil {
		return nil, err
	}
	if (oldName == "") != (newName == "") {
		return nil, cli.UsageError(fmt.Errorf("%s and %s: a file cannot be compared with a profile; give two files or two profiles", old, new))
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
		return []pair{{old + " -> " + new, a, b}}, nil
	}
	names := append(oldCfg.All(), newCfg.All()...)
	slices.Sort(names)
	pairs := []pair{{"the base tool", oldCfg.Profile(""), newCfg.Profile("")}}
	for _, name := range slices.Compact(names) {
		pairs = append(pairs, pair{"profile " + name, oldCfg.Profile(name), newCfg.Profile(name)})
	}
	return pairs, nil
}

// readSide reads one side: a profile of the configuration, a file, or FILE:PROFILE.
func readSide(set *launch.Settings, arg string) (cfg *config.Config, profile string, err error) {
	file, profile := arg, ""
	if _, err := os.Stat(arg); err != nil {
		i := strings.LastIndexByte(arg, ':')
		if i < 0 {
			cfg, err := set.Load()
			return cfg, arg, err
		}
		file, profile = arg[:i], arg[i+1:]
	}
	cfg, err = config.Load(file)
	if err != nil {
		return nil, "", cli.UsageError(err)
	}
	return cfg, profile, nil
}

// diff prints how the two differ and reports whether they do.
func (p *pair) diff(s cli.Streams, record string, past []changes.PastCall) bool {
	if p.old == nil || p.new == nil {
		word := "was added"
		if p.new == nil {
			word = "was removed"
		}
		visible.Fprintf(s.Out, "%s %s\n", p.name, word)
		return true
	}
	var lines []string
	rules, settings := profiles.Diff(p.old, p.new)
	for _, c := range rules {
		mark := "-"
		if c.Added {
			mark = "+"
		}
		lines = append(lines, fmt.Sprintf("%s %s  %s  %s", mark, c.List, place(c.Pos), c.Text))
	}
	for _, line := range settings {
		lines = append(lines, "  "+line)
	}
	for _, c := range past {
		old, new := changes.Replay(p.old, c), changes.Replay(p.new, c)
		if !slices.Equal(old.Verdicts, new.Verdicts) {
			lines = append(lines, fmt.Sprintf("~ %s:%d  %s: %s -> %s", record, c.Line, c.Tool,
				changes.VerdictsText(old.Verdicts), changes.VerdictsText(new.Verdicts)))
		}
	}
	if len(lines) == 0 {
		return false
	}
	fmt.Fprintln(s.Out, visible.Line(p.name))
	for _, line := range lines {
		visible.Fprintf(s.Out, "  %s\n", line)
	}
	return true
}

func readRecord(path string) ([]changes.PastCall, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	defer f.Close()
	past, err := changes.ReadRecord(f)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("%s: %w", path, err))
	}
	return past, nil
}

func newProfilesReplay(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var profile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay RECORD",
		Short: "List the past calls that the present rules would decide differently",
		Long: `Reads a record (JSON lines, as codemode audit export writes them) and decides each call
again, by its own profile or by --profile. It lists the calls that get another verdict. It
prints "cannot tell" where the record does not keep what the verdict depends on. Limits are
not replayed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := set.Load()
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
	set.FileFlags(cmd)
	cmd.Flags().StringVar(&profile, "profile", "", "profile that decides, - for the base tool; by default each call's own")
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

func replay(s cli.Streams, cfg *config.Config, past []changes.PastCall, profile, record string, asJSON bool) error {
	var all []changes.Replayed
	shown := []replayedJSON{}
	gone := map[string]int{} // removed profiles, with the number of their calls
	for _, c := range past {
		name := c.Profile
		if profile != "" {
			name = profile
		}
		p, err := profileOf(cfg, name, config.Subject{}, time.Now())
		if err != nil && profile != "" {
			return err
		}
		if err != nil { // a record can have calls under profiles that were removed
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
		return cli.PrintJSON(s.Out, map[string]any{"calls": shown, "summary": summary, "gone": gone})
	}
	for _, r := range shown {
		now := r.Now[0]
		if len(r.Now) > 1 {
			now = "cannot tell: " + strings.Join(r.Now, " or ")
		}
		visible.Fprintf(s.Out, "%s:%d  %s: %s -> %s (%s)\n", record, r.Line, r.Tool, r.Was, now, r.Why)
	}
	fmt.Fprintln(s.Out, visible.Text(summary.String()))
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		visible.Fprintf(s.Out,
			"not replayed: %s under the profile %q, which does not exist any more; --profile decides them by another one\n",
			cli.Count(gone[name], "call"), name)
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
		j.Why = "it depends on data that the record does not keep: " + strings.Join(on, ", ")
		return j
	}
	reason := r.Decision.Reasons[0]
	j.Rule, j.At, j.Why = reason.Rule, place(reason.Pos), because(reason)
	return j
}

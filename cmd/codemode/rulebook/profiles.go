// Package rulebook holds the commands about rules: "profiles" shows, checks, tests, compares, proposes, trusts and
// imports them, and "explain" decides one call and gives the reasons.
package rulebook

import (
	"cmp"
	"encoding/json"
	"errors"
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
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// NewProfiles makes the command "profiles".
func NewProfiles(s cli.Streams) *cobra.Command {
	return cli.NewGroup("profiles", "Check, test, compare and import rules",
		"", newProfilesShow(s), newProfilesLint(s), newProfilesTest(s),
		newProfilesDiff(s), newProfilesReplay(s), newProfilesImport(s), newProfilesPropose(s), newProfilesTrust(s),
		newProfilesUntrust(s), newProfilesSchema(s))
}

func newProfilesShow(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var who config.Subject
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [PROFILE]",
		Short: "Show a profile in force: all rules, what binds it, its settings",
		Long: `Shows a profile with the rules of all profiles that it extends, and of the floor, managed
and project files and overlays that bind it, each with file and line. Without PROFILE it
lists the profiles and their files. PROFILE "-" is the base tool.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := set.Load()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return showAll(s, cfg, asJSON)
			}
			p, err := profileOf(cfg, args[0], who, time.Now())
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(s.Out, p.JSON())
			}
			fmt.Fprint(s.Out, visible.Text(relative(p.Text())))
			return nil
		},
	}
	set.FileFlags(cmd)
	subjectFlags(cmd, &who)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func showAll(s cli.Streams, cfg *config.Config, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(s.Out, map[string]any{
			"files": cfg.Files, "profiles": cfg.All(), "default": cfg.Default, "floor": cfg.Floor, "overlays": cfg.Overlays(),
		})
	}
	var b strings.Builder
	for _, f := range cfg.Files {
		visible.Fprintf(&b, "%s: %s, %s\n", f.Standing, relative(f.File), f.Digest)
	}
	for _, name := range cfg.All() {
		note := ""
		switch name {
		case cfg.Default:
			note = "  the default"
		case cfg.Floor:
			note = "  the floor"
		}
		visible.Fprintf(&b, "profile %s, %s%s\n", name, place(cfg.Profile(name).Pos()), note)
	}
	for _, o := range cfg.Overlays() {
		visible.Fprintf(&b, "overlay %s, %s\n", o.ID, place(o.Pos))
	}
	fmt.Fprint(s.Out, b.String())
	for _, w := range cfg.Warnings {
		fmt.Fprintln(s.Err, visible.Text(relative(w.String())))
	}
	return nil
}

func newProfilesSchema(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write(config.Schema())
			return err
		},
	}
}

func newProfilesTrust(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var digest string
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Trust a project's file with its present content",
		Long: `Records that you have read a project's file and want all of it to apply: its allow rules
join those of your profiles, and codemode starts its servers. Any change ends the trust; then
the file can only restrict. The command prints what the file does.
Without FILE it lists the trusted files.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			trusted := launch.TrustStore()
			if trusted == "" {
				return cli.UsageError(errors.New("there is no place to remember it: set HOME or XDG_STATE_HOME"))
			}
			if len(args) == 0 {
				return listTrusted(s, trusted)
			}
			return trust(s, &set, trusted, args[0], digest)
		},
	}
	set.ConfigFlag(cmd)
	cmd.Flags().StringVar(&digest, "digest", "", "trust the file only if this is its digest: sha256:...")
	return cmd
}

func trust(s cli.Streams, set *launch.Settings, trusted, file, digest string) error {
	user, err := set.File()
	if err != nil {
		return cli.UsageError(err)
	}
	var sources []config.Source
	for _, f := range []config.Source{
		{File: launch.ManagedFile(), Standing: config.Managed}, {File: user, Standing: config.User},
		{File: file, Standing: config.Trusted},
	} {
		if f.File == "" {
			continue
		}
		if f.Data, err = os.ReadFile(f.File); err != nil {
			return cli.UsageError(err)
		}
		sources = append(sources, f)
	}
	cfg, err := config.ParseAll(os.LookupEnv, sources...)
	if err != nil {
		return cli.UsageError(err) // the file is not valid together with the others
	}
	data := sources[len(sources)-1].Data
	t, err := config.TrustFile(trusted, file, cmp.Or(digest, profiles.Digest(data)), time.Now())
	if err != nil {
		return cli.UsageError(err)
	}
	var b strings.Builder
	visible.Fprintf(&b, "trusted with its present content: %s\n  %s\n", t.File, t.Digest)
	trustedPowers(&b, cfg, file)
	fmt.Fprint(s.Out, b.String())
	return nil
}

// trustedPowers lists what a file allows and starts.
func trustedPowers(b *strings.Builder, cfg *config.Config, file string) {
	for _, server := range cfg.Servers {
		if server.Pos.File != file {
			continue
		}
		visible.Fprintf(b, "  starts the server %s: %s\n", server.Name, serverStart(server.JSON))
	}
	for _, name := range cfg.All() {
		for _, r := range cfg.Profile(name).Rules() {
			if r.List == profiles.Allowlist && r.Pos.File == file {
				visible.Fprintf(b, "  allows in %s: %s\n", name, strings.Join(r.Patterns, ", "))
			}
		}
	}
}

// serverStart is the command to start, with the names of its variables, not their values.
func serverStart(raw json.RawMessage) string {
	var server struct {
		Command string         `json:"command"`
		Args    []string       `json:"args"`
		Env     map[string]any `json:"env"`
		URL     string         `json:"url"`
	}
	if json.Unmarshal(raw, &server) != nil {
		return string(raw)
	}
	text := strings.Join(append([]string{server.Command}, server.Args...), " ")
	if server.Command == "" {
		text = server.URL
	}
	if len(server.Env) > 0 {
		text += " (" + strings.Join(slices.Sorted(maps.Keys(server.Env)), ", ") + ")"
	}
	return text
}

func listTrusted(s cli.Streams, trusted string) error {
	all, err := config.TrustedFiles(trusted)
	if err != nil {
		return cli.UsageError(err)
	}
	for _, t := range all {
		state := ""
		if data, err := os.ReadFile(t.File); err != nil {
			state = "  (the file does not exist any more)"
		} else if profiles.Digest(data) != t.Digest {
			state = "  (changed since, so it only tightens)"
		}
		visible.Fprintf(s.Out, "%s  %s  %s%s\n", t.Time.Format(time.DateOnly), t.File, t.Digest, state)
	}
	if len(all) == 0 {
		fmt.Fprintln(s.Err, "no project file is trusted")
	}
	return nil
}

func newProfilesUntrust(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "untrust FILE",
		Short: "Stop trusting a project's file",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			was, err := config.Distrust(launch.TrustStore(), args[0])
			if err != nil {
				return cli.UsageError(err)
			}
			if !was {
				return cli.UsageError(fmt.Errorf("%s was not trusted", args[0]))
			}
			visible.Fprintf(s.Out, "no longer trusted: %s\n", args[0])
			return nil
		},
	}
}

func newProfilesPropose(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var p changes.Proposal
	cmd := &cobra.Command{
		Use:   "propose PROFILE TOOL [ARGS]",
		Short: "Write a rule into your file as a comment, for review",
		Long: `Adds a rule to your configuration file as a comment. It decides nothing until somebody
removes the comment signs. With ARGS it covers calls with exactly these arguments. The
command lists the calls of the last 30 days that the rule would decide differently, as far
as the record (see codemode audit) keeps what the decision depends on.`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := set.OwnFile()
			if err != nil {
				return err
			}
			p.Profile, p.Tool, p.Time = args[0], args[1], time.Now()
			if len(args) > 2 {
				if p.Args, err = argumentText(args[2]); err != nil {
					return cli.UsageError(err)
				}
			}
			files, err := set.Files()
			if err != nil {
				return cli.UsageError(err)
			}
			var past changes.Past
			unread := set.ReadRecord(cmd.Context(), s, func(db *store.DB, _ recorder.Place) (err error) {
				past, err = launch.PastCalls(cmd.Context(), db)
				return err
			})
			effect, err := changes.EffectOf(cmd.Context(), p, files, past.Calls)
			if err == nil {
				err = changes.ProposeInFiles(files, p)
			}
			if err != nil {
				return cli.UsageError(err)
			}
			if unread != nil {
				visible.Fprintf(s.Err, "recent calls are not compared: %v\n", unread)
			} else {
				for _, line := range effect.Lines(launch.PastPeriod, true) {
					visible.Fprintf(s.Out, "%s\n", line)
				}
			}
			visible.Fprintf(s.Out, "proposed in %s; the rule decides nothing until you remove its comment signs\n",
				relative(path))
			return nil
		},
	}
	set.FileFlags(cmd)
	set.StateFlag(cmd)
	cmd.Flags().StringVar(&p.List, "list", "allowlist", "the list of the rule")
	cmd.Flags().StringVar(&p.ID, "id", "", "the rule's id")
	cmd.Flags().StringVar(&p.By, "by", os.Getenv("USER"), "the author of the rule")
	cmd.Flags().StringVar(&p.Why, "why", "", "the reason for the rule")
	return cmd
}

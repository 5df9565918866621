package main

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

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/config/changes"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

func newProfiles(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "Check, test, compare and import the rules",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newProfilesShow(s), newProfilesLint(s), newProfilesTest(s), newProfilesDiff(s), newProfilesReplay(s),
		newProfilesImport(s), newProfilesPropose(s), newProfilesTrust(s), newProfilesUntrust(s), newProfilesSchema(s))
	return cmd
}

// fileFlags are the flags of commands that only read the configuration.
func (s *setting) fileFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.config, "config", "", "configuration file (see: codemode help configuration)")
	cmd.Flags().StringVar(&s.project, "project", "", "a project's rules; none for none, .codemode.json here if left out")
}

// load reads the configuration without starting anything.
func (s *setting) load() (*config.Config, error) {
	files, err := s.files()
	if err != nil {
		return nil, usage(err)
	}
	if files.None() {
		return nil, usage(errors.New("there is no configuration file: name one with --config"))
	}
	cfg, err := files.Load()
	if err != nil {
		return nil, usage(err)
	}
	return cfg, nil
}

func newProfilesShow(s streams) *cobra.Command {
	var set setting
	var who config.Subject
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [PROFILE]",
		Short: "Show a profile as it is in force: all rules, what binds it, its settings",
		Long: `Shows a profile with the rules of all it extends, the floor, managed and project files
and overlays that bind it, each with file and line. Without PROFILE it lists the profiles
and the files they come from. PROFILE "-" is the base tool.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := set.load()
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
				return printed(s, p.JSON())
			}
			fmt.Fprint(s.out, visible.Text(relative(p.Text())))
			return nil
		},
	}
	set.fileFlags(cmd)
	subjectFlags(cmd, &who)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func showAll(s streams, cfg *config.Config, asJSON bool) error {
	if asJSON {
		return printed(s, map[string]any{
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
	fmt.Fprint(s.out, b.String())
	for _, w := range cfg.Warnings {
		fmt.Fprintln(s.err, visible.Text(relative(w.String())))
	}
	return nil
}

func newProfilesSchema(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.out.Write(config.Schema())
			return err
		},
	}
}

func newProfilesTrust(s streams) *cobra.Command {
	var set setting
	var digest string
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Let a project's rules count, as the file is now",
		Long: `Notes that you have read a project's file and want all of it to count: its allow rules
join those of your profiles, and its servers are started. It holds for the file as it is;
after any change it only tightens again. What the file would do is shown. Without FILE
it lists what is trusted.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store := trustStore()
			if store == "" {
				return usage(errors.New("there is no place to keep it: set HOME or XDG_STATE_HOME"))
			}
			if len(args) == 0 {
				return listTrusted(s, store)
			}
			return trust(s, &set, store, args[0], digest)
		},
	}
	cmd.Flags().StringVar(&set.config, "config", "", "your own configuration file (see: codemode help configuration)")
	cmd.Flags().StringVar(&digest, "digest", "", "trust it only if this is its digest: sha256:...")
	return cmd
}

func trust(s streams, set *setting, store, file, digest string) error {
	user, err := set.file()
	if err != nil {
		return usage(err)
	}
	var sources []config.Source
	for _, f := range []config.Source{
		{File: managedFile(), Standing: config.Managed}, {File: user, Standing: config.User}, {File: file, Standing: config.Trusted},
	} {
		if f.File == "" {
			continue
		}
		if f.Data, err = os.ReadFile(f.File); err != nil {
			return usage(err)
		}
		sources = append(sources, f)
	}
	cfg, err := config.ParseWith(os.LookupEnv, sources...)
	if err != nil {
		return usage(err) // it would not be used
	}
	data := sources[len(sources)-1].Data
	t, err := config.TrustFile(store, file, cmp.Or(digest, profiles.Digest(data)), time.Now())
	if err != nil {
		return usage(err)
	}
	var b strings.Builder
	visible.Fprintf(&b, "trusted as it is: %s\n  %s\n", t.File, t.Digest)
	trustedPowers(&b, cfg, file)
	fmt.Fprint(s.out, b.String())
	return nil
}

// trustedPowers says what a file brings with it.
func trustedPowers(b *strings.Builder, cfg *config.Config, file string) {
	for _, server := range cfg.Servers {
		if server.Pos.File != file {
			continue
		}
		visible.Fprintf(b, "  starts the server %s: %s\n", server.Name, serverPowers(server.JSON))
	}
	for _, name := range cfg.All() {
		for _, r := range cfg.Profile(name).Rules() {
			if r.List == profiles.Allowlist && r.Pos.File == file {
				visible.Fprintf(b, "  allows in %s: %s\n", name, strings.Join(r.Patterns, ", "))
			}
		}
	}
}

// serverPowers says what would be started, and which variables it gets; not their values.
func serverPowers(raw json.RawMessage) string {
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

func listTrusted(s streams, store string) error {
	all, err := config.TrustedFiles(store)
	if err != nil {
		return usage(err)
	}
	for _, t := range all {
		state := ""
		if data, err := os.ReadFile(t.File); err != nil {
			state = "  (it is gone)"
		} else if profiles.Digest(data) != t.Digest {
			state = "  (it has changed since, and only tightens)"
		}
		visible.Fprintf(s.out, "%s  %s  %s%s\n", t.Time.Format(time.DateOnly), t.File, t.Digest, state)
	}
	if len(all) == 0 {
		fmt.Fprintln(s.err, "no project file is trusted")
	}
	return nil
}

func newProfilesUntrust(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "untrust FILE",
		Short: "Take the trust in a project's file back",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			was, err := config.Distrust(trustStore(), args[0])
			if err != nil {
				return usage(err)
			}
			if !was {
				return usage(fmt.Errorf("%s was not trusted", args[0]))
			}
			visible.Fprintf(s.out, "not trusted any more: %s\n", args[0])
			return nil
		},
	}
}

func newProfilesPropose(s streams) *cobra.Command {
	var set setting
	var p changes.Proposal
	cmd := &cobra.Command{
		Use:   "propose PROFILE TOOL [ARGS]",
		Short: "Write a rule into your file as a comment, for review",
		Long: `Adds a rule to your configuration file as a comment. It decides nothing until somebody
takes the comment signs away. With ARGS it covers calls with exactly these arguments.
It says which calls of the last 30 days would have been decided otherwise, as far as the
record (see codemode audit) keeps what they depend on.`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := set.file()
			if err == nil && path == "" {
				err = errors.New("there is no configuration file: name one with --config")
			}
			if err != nil {
				return usage(err)
			}
			p.Profile, p.Tool, p.Time = args[0], args[1], time.Now()
			if len(args) > 2 {
				if p.Args, err = argumentText(args[2]); err != nil {
					return usage(err)
				}
			}
			files, err := set.files()
			if err != nil {
				return usage(err)
			}
			r := reading{set: set}
			past, unread := r.recent(cmd.Context())
			effect, err := changes.EffectOf(p, files, past)
			if err == nil {
				err = changes.ProposeInFiles(files, p)
			}
			if err != nil {
				return usage(err)
			}
			if unread != nil {
				visible.Fprintf(s.err, "recent calls are not compared: %v\n", unread)
			} else {
				for _, line := range effect.Lines(recentWords, true) {
					visible.Fprintf(s.out, "%s\n", line)
				}
			}
			visible.Fprintf(s.out, "proposed in %s; it decides nothing until its comment signs are taken away\n", relative(path))
			return nil
		},
	}
	set.fileFlags(cmd)
	cmd.Flags().StringVar(&set.state, "state", "", "folder of the record; a usual one if left out")
	cmd.Flags().StringVar(&p.List, "list", "allowlist", "which list it belongs to")
	cmd.Flags().StringVar(&p.ID, "id", "", "the rule's id")
	cmd.Flags().StringVar(&p.By, "by", os.Getenv("USER"), "who proposes it")
	cmd.Flags().StringVar(&p.Why, "why", "", "why")
	return cmd
}

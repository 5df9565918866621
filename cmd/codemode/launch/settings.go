// Package launch finds what a command works on and opens it. It turns the flags that commands share, environment
// variables and the usual folders of the system into configuration files, the state folder, the record and an
// Evaluator.
//
//	var set launch.Settings
//	set.Flags(cmd)
//	...
//	e, err := set.Open(ctx, streams, slog.LevelWarn)
package launch

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/confined"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/settings"
)

// Settings holds the flags that commands share. A command registers those that it has.
type Settings struct {
	Config  string
	project string
	Profile string
	root    string
	State   string // folder
	verbose bool

	Record   bool                // record the runs
	Channels []approvals.Channel // channels to people for every run
	TakeOver bool                // continue runs whose processes have ended
	Confined *confined.Process   // what this process may do; nil if it is not confined
	Observer recorder.Observer   // of the record

	Trace func(*call.Call) map[string]any // what servers get about the trace of a call

	Adjust func(*codemode.Options) // changes the options of the Evaluator; nil changes none
}

// Tenant returns the settings of a tenant: those of the process, with a configuration and a state folder of its own. No
// project applies to it.
func (s *Settings) Tenant(config, state string) Settings {
	return Settings{Config: config, State: state, project: "none", verbose: s.verbose, Record: s.Record}
}

// Own returns the flag, of those for one service, that was given; "" if none was.
func (s *Settings) Own() string {
	switch {
	case s.Config != "":
		return "--config"
	case s.project != "" && s.project != "none":
		return "--project"
	case s.Profile != "":
		return "--profile"
	case s.root != "":
		return "--root"
	}
	return ""
}

// FileFlags are the flags of commands that only read the configuration.
func (s *Settings) FileFlags(cmd *cobra.Command) {
	s.ConfigFlag(cmd)
	cmd.Flags().StringVar(&s.project, "project", "",
		"a project's rules: a file, or none; .codemode.json in this folder by default")
}

// ConfigFlag is the flag of commands that read only the user's file.
func (s *Settings) ConfigFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Config, "config", "", "configuration file (see: codemode help configuration)")
}

// StateFlag is the flag of commands that read or write the record or other state.
func (s *Settings) StateFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.State, "state", "", "folder for the record and other state, instead of the usual one")
}

// RecordFlags are the flags of commands that only read a record.
func (s *Settings) RecordFlags(cmd *cobra.Command) {
	s.ConfigFlag(cmd)
	s.StateFlag(cmd)
}

// Flags are the flags of commands that open an Evaluator.
func (s *Settings) Flags(cmd *cobra.Command) {
	s.FileFlags(cmd)
	s.RootFlag(cmd)
	cmd.Flags().StringVar(&s.Profile, "profile", "", "profile that decides calls")
	cmd.Flags().BoolVarP(&s.verbose, "verbose", "v", false, "log more on standard error")
}

// RootFlag is the flag of commands that start the built-in filesystem server.
func (s *Settings) RootFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.root, "root", "", "directory that the built-in filesystem server may use")
}

// sources are what the configuration refers to, in this process.
var sources = sync.OnceValue(func() *settings.Sources { return settings.NewSources(os.LookupEnv) })

// Env looks up what the configuration refers to: variables of the environment, commands and files.
func Env(name string) (string, bool) {
	value, ok := sources().Lookup(name)
	if _, is := os.LookupEnv(confined.Variable); is && !ok && strings.Contains(value, "ermission denied") {
		value += " (codemode is confined: if it has to read this and did not when it started, start codemode again, or name " +
			"the file in the key confine.read)"
	}
	return value, ok
}

// Version is the version of this binary.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// Logger logs to standard error.
func (s *Settings) Logger(to cli.Streams, least slog.Level) *slog.Logger {
	if s.verbose {
		least = slog.LevelDebug
	}
	return cli.NewLogger(to.Err, least)
}

const (
	// stopWait is how long running programs have when a command ends.
	stopWait = 5 * time.Second
	// ReadyWait is how long commands that list tools wait for servers to start.
	ReadyWait = 20 * time.Second
)

// Close stops everything, also after ctx has ended.
func Close(ctx context.Context, e *codemode.Evaluator) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return e.Close(ctx)
}

// Principal names the user who started the process; their runs are recorded under it. "" if the system does not tell.
func Principal() string {
	who, err := user.Current()
	if err != nil {
		return ""
	}
	return "local:" + who.Username
}

// Owner is the principal under which the page and the record know the user who started the process.
func Owner() string { return cmp.Or(Principal(), "local") }

// CacheDir is the folder of the compiled guest, "" if there is no usable one.
func CacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "codemode")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return dir
}

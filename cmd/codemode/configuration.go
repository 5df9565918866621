package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/inforce"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/inforce/loader"
)

const configurationHelp = `Your configuration file is the first of:

  1. the file named by --config
  2. the file named by the environment variable CODEMODE_CONFIG
  3. codemode/codemode.json in your configuration folder
     (on Linux ~/.config/codemode/codemode.json), if it is there
  4. none: the variables below are the configuration, as the profile environment; without
     them too, only the built-in servers are there, and codemode_eval is unrestricted

Others hold beside it:

  /etc/codemode/managed.json     of whoever runs the machine (or the file named by
                                 CODEMODE_MANAGED, where that one is not there).
                                 Nothing loosens it, and its floor binds everything.
  .codemode.json                 in the current folder, or the file named by --project
                                 ("--project none" for none): a project's rules. They
                                 only tighten yours, and its servers are not started,
                                 until you trust the file as it is:
                                 codemode profiles trust .codemode.json
  overlays.json                  beside your file: overlays that narrow single sessions,
                                 callers or programs, as an admin page writes them.

A folder may have come from anybody: what is found in it can take powers away, and
never give any.

The folder of the built-in filesystem must hold none of these files, there or not, nor
the state, the cache, saved programs, or what starts a server: it is refused otherwise.

Variables of the environment decide too:

  CODEMODE_ALLOWLIST, CODEMODE_ASKLIST, CODEMODE_DENYLIST
                                 patterns over tools, with commas or spaces between them
  CODEMODE_UNMATCHED             deny, ask or allow: what becomes of the tools that no
                                 list names; deny beside an allowlist, else allow
  CODEMODE_ASK_TIMEOUT           how long a question waits, such as 90s
  CODEMODE_STATE                 the folder for the record and what else is remembered,
                                 as --state names it; it is named in full

Beside your file or a managed one the first five bind every profile: they deny and ask
more, and allow nothing that the files do not.

CODEMODE_SESSION names the session that programs run in, such as one that was made on the page
for a role (cms_...). docs/configuration.md explains every key; codemode profiles schema prints
them for editors.`

// setting holds the flags of every command that needs an Evaluator.
type setting struct {
	config  string
	project string
	profile string
	root    string
	verbose bool

	worker []string // the command that reads programs, where any are read
	state  string   // folder
	record bool     // whether what runs is recorded

	channels []approvals.Channel // that reach people whoever asks
	people   *people             // the page for people; nil is none
	summoner *summoner           // opens a terminal for them; nil if none is
	goOn     bool                // with runs of processes that are gone
}

// recordFlags are those of the commands that run programs.
func (s *setting) recordFlags(cmd *cobra.Command) {
	s.record = true
	cmd.Flags().StringVar(&s.state, "state", "", "folder for the record and what else is remembered; a usual one if left out")
}

// stateFolder is where everything is kept that is remembered.
func (s *setting) stateFolder() (string, error) {
	if s.state != "" {
		return filepath.Abs(s.state)
	}
	dir, err := stateDir()
	if err != nil {
		return "", fmt.Errorf("%w; name one with --state or %s", err, stateVariable)
	}
	return dir, nil
}

func (s *setting) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.config, "config", "", "configuration file (see: codemode help configuration)")
	cmd.Flags().StringVar(&s.project, "project", "", "a project's rules; none for none, .codemode.json here if left out")
	cmd.Flags().StringVar(&s.profile, "profile", "", "profile that decides about calls")
	cmd.Flags().StringVar(&s.root, "root", "", "directory that the built-in filesystem server may use")
	cmd.Flags().BoolVarP(&s.verbose, "verbose", "v", false, "log more on standard error")
}

// file finds the configuration file; "" means that there is none.
func (s *setting) file() (string, error) {
	if s.config != "" {
		return s.config, nil
	}
	if path := os.Getenv("CODEMODE_CONFIG"); path != "" {
		return path, nil
	}
	path := usualFile()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path, nil
}

// usualFile is where a user's configuration is looked up; "" if there is nowhere to look.
func usualFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "codemode", "codemode.json")
}

// files finds all files that hold together, and the variables that hold with them.
func (s *setting) files() (config.Files, error) {
	own, err := s.file()
	if err != nil {
		return config.Files{}, err
	}
	if _, _, err := namedState(); err != nil {
		return config.Files{}, err // without its place, no project is trusted and no tool is known
	}
	f := config.Files{
		User: own, Managed: managedFile(), Project: s.projectFile(own), Trust: trustStore(),
		Environment: config.ReadEnvironment(os.Environ()), Env: os.LookupEnv,
	}
	if own != "" {
		f.Overlays = filepath.Join(filepath.Dir(own), "overlays.json")
	}
	return f, nil
}

// managedPath is where whoever runs the machine keeps the rules that bind its users.
const managedPath = "/etc/codemode/managed.json"

// managedFile finds the managed file. What the machine's owner has put there cannot be
// left out by setting a variable, nor because it cannot be looked at.
func managedFile() string { return managedFileAt(managedPath) }

func managedFileAt(path string) string {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return os.Getenv("CODEMODE_MANAGED")
	}
	return path
}

// projectName is what a project's rules are called.
const projectName = ".codemode.json"

// projectFile finds the project's rules, unless they are the user's own file.
func (s *setting) projectFile(user string) string {
	if s.project == "none" {
		return ""
	}
	path := cmp.Or(s.project, projectName)
	info, err := os.Stat(path)
	if err != nil && s.project == "" {
		return ""
	}
	if own, errUser := os.Stat(user); err == nil && errUser == nil && os.SameFile(own, info) {
		return ""
	}
	return path
}

// protected lists the configuration files that this or another codemode of this user reads, or would if they were there:
// a program that could make one would rule the next start.
func (s *setting) protected() map[string]string {
	p := map[string]string{managedPath: "the managed configuration"}
	add := func(path, what string) {
		if path != "" {
			p[path] = what
		}
	}
	add(os.Getenv("CODEMODE_MANAGED"), "the managed configuration")
	for _, path := range []string{os.Getenv("CODEMODE_CONFIG"), usualFile()} {
		if path != "" {
			add(path, "the user's configuration")
			add(filepath.Join(filepath.Dir(path), "overlays.json"), "the file of overlays")
		}
	}
	if s.project != "none" {
		add(cmp.Or(s.project, projectName), loader.ProjectPlace)
	}
	for _, find := range []func() (string, error){stateDir, usualStateDir} {
		if dir, err := find(); err == nil {
			add(dir, "the state of codemode")
		}
	}
	return p
}

// trustStore is where it is kept which project files are trusted; "" if there is no place.
func trustStore() string {
	dir, err := stateDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "trust", "projects.json")
}

// stateVariable names the folder of the state, where no flag does.
const stateVariable = "CODEMODE_STATE"

// namedState is the folder that stateVariable names; ok is false if it is not set.
func namedState() (dir string, ok bool, err error) {
	dir, ok = os.LookupEnv(stateVariable)
	switch {
	case !ok:
		return "", false, nil
	case dir == "":
		return "", false, fmt.Errorf("%s is set, and is empty: unset it, or name the folder in full", stateVariable)
	case !filepath.IsAbs(dir):
		return "", false, fmt.Errorf("%s is %q: name the folder in full, such as /home/you/codemode; "+
			"it would be another one in each folder that codemode is started in", stateVariable, dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", false, fmt.Errorf("%s is %q, which is no folder: name one", stateVariable, dir)
	}
	return filepath.Clean(dir), true, nil
}

// stateDir is where codemode keeps what it has to remember, unless --state says otherwise.
func stateDir() (string, error) {
	if dir, ok, err := namedState(); ok || err != nil {
		return dir, err
	}
	return usualStateDir()
}

func usualStateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "codemode"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no place to remember anything: %w", err)
	}
	return filepath.Join(home, ".local", "state", "codemode"), nil
}

func (s *setting) logger(to streams, least slog.Level) *slog.Logger {
	if s.verbose {
		least = slog.LevelDebug
	}
	return slog.New(&logHandler{out: to.err, least: least, mu: new(sync.Mutex)})
}

// options are what an Evaluator is made with. log may be nil.
func (s *setting) options(log *slog.Logger) (codemode.Options, error) {
	files, err := s.files()
	if err != nil {
		return codemode.Options{}, usage(err)
	}
	o := codemode.Options{
		Files: files, Root: s.root, Env: os.LookupEnv, CacheDir: cacheDir(), Log: log, Version: version().Version,
		Channels: s.channels, GoOn: s.goOn, Worker: s.worker, Protected: s.protected(),
	}
	if o.StateDir, err = s.stateFolder(); err != nil && log != nil {
		log.Debug("how tools are defined is not remembered", "error", err)
	}
	if s.record {
		if err != nil {
			return o, usage(err) // what cannot be recorded does not happen
		}
		o.RecordDir = o.StateDir
	}
	return o, nil
}

// notBehindItself refuses to start servers as a server of another codemode, or as anything that such a server started. Its
// configuration may name the same servers, and so itself: each would start the next.
func notBehindItself() error {
	if _, ok := os.LookupEnv(servers.ChildVariable); !ok {
		return nil
	}
	return usage(fmt.Errorf("this codemode was started by a server of another codemode (the variable %[1]s is set), and codemode behind codemode "+
		"starts servers without end: remove codemode from mcpServers of the outer one and add its servers there; "+
		"if no server of codemode started it, unset %[1]s", servers.ChildVariable))
}

// open makes the Evaluator that a command works with.
func (s *setting) open(ctx context.Context, log *slog.Logger) (*codemode.Evaluator, error) {
	if err := notBehindItself(); err != nil {
		return nil, err
	}
	o, err := s.options(log)
	if err != nil {
		return nil, err
	}
	files, path := o.Files, o.Files.User
	if path == "" && files.Managed == "" {
		if o.Config, err = config.Parse("no configuration", []byte("{}")); err != nil {
			return nil, usage(err)
		}
		without := "codemode_eval is unrestricted"
		if len(files.Environment) > 0 {
			without = "what programs may do is in variables of the environment"
		}
		log.Info("there is no configuration file: only built-in servers are there, and " + without)
		if _, err := os.Stat("codemode.json"); err == nil {
			log.Warn("codemode.json in this folder is not read by itself, because a folder may have come from anybody; if it is yours, name it: --config codemode.json")
		}
	}
	if s.root != "" {
		if info, err := os.Stat(s.root); err != nil || !info.IsDir() {
			return nil, usage(fmt.Errorf("--root %s: there is no such directory", s.root))
		}
	}
	e, err := codemode.New(ctx, o)
	if err != nil {
		return nil, usage(err) // nothing but a configuration keeps it from being made
	}
	if s.summoner != nil {
		s.summoner.follow(e)
	}
	if s.profile != "" && e.Config().Profile(s.profile) == nil {
		err := &inforce.UnknownProfileError{Name: s.profile, Names: e.Config().Names()}
		return nil, usage(errors.Join(err, closeEvaluator(ctx, e)))
	}
	return e, nil
}

// principal is whose runs these are: those of whoever started the process.
func principal() string {
	who, err := user.Current()
	if err != nil {
		return ""
	}
	return "local:" + who.Username
}

// cacheDir is where the compiled guest is kept, "" if there is no good place.
func cacheDir() string {
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

package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/runs/inforce"
)

// Options are the options of the Evaluator.
func (s *Settings) Options(worker []string, log *slog.Logger) (codemode.Options, error) {
	files, err := s.Files()
	if err != nil {
		return codemode.Options{}, cli.UsageError(err)
	}
	o := codemode.Options{
		Root: s.root, Env: Env, CacheDir: CacheDir(), Log: log, Channels: s.Channels, GoOn: s.TakeOver, Worker: worker,
		ServiceOptions: codemode.ServiceOptions{Files: files, Protected: s.protected(), Observer: s.Observer, Trace: s.Trace,
			Version: Version()},
	}
	if o.StateDir, err = s.StateFolder(); err != nil && log != nil {
		log.Debug("tool definitions are not remembered", "error", err)
	}
	if s.Record {
		if err != nil {
			return o, cli.UsageError(err) // a call that codemode cannot record does not happen
		}
		o.RecordDir = o.StateDir
	}
	if s.Adjust != nil {
		s.Adjust(&o)
	}
	if p := s.Confined; p != nil {
		p.Options, p.Log = o, log
		o.Worker, o.Confine = p.Worker(worker), p.Server
	}
	return o, nil
}

// Use opens an Evaluator, calls f with it and closes it. An error without an exit code is an internal one.
func (s *Settings) Use(ctx context.Context, to cli.Streams, least slog.Level, f func(*codemode.Evaluator) error) error {
	e, err := s.Open(ctx, to, least)
	if err != nil {
		return err
	}
	err = f(e)
	if closing := Close(ctx, e); err == nil {
		err = closing
	}
	return cli.InternalError(err)
}

// Open creates the Evaluator that a command works with. Records of least and above are logged.
func (s *Settings) Open(ctx context.Context, to cli.Streams, least slog.Level) (*codemode.Evaluator, error) {
	return s.OpenWith(ctx, to.Worker, s.Logger(to, least))
}

// OpenWith is Open with a logger. worker is the command of a process that reads programs.
func (s *Settings) OpenWith(ctx context.Context, worker []string, log *slog.Logger) (*codemode.Evaluator, error) {
	if err := notNested(); err != nil {
		return nil, err
	}
	o, err := s.Options(worker, log)
	if err != nil {
		return nil, err
	}
	if o.Files.User == "" && o.Files.Managed == "" {
		if o.Config, err = config.Parse("no configuration", []byte("{}")); err != nil {
			return nil, cli.UsageError(err)
		}
		without := "codemode_eval is unrestricted"
		if len(o.Files.Environment) > 0 {
			without = "environment variables say what programs may do"
		}
		log.Info("there is no configuration file: only the built-in servers exist, and " + without)
		if _, err := os.Stat("codemode.json"); err == nil {
			log.Warn("codemode.json in this folder is ignored, because anybody may have written it; if it is yours, name it: " +
				"--config codemode.json")
		}
	}
	if s.root != "" {
		if info, err := os.Stat(s.root); err != nil || !info.IsDir() {
			return nil, cli.UsageError(fmt.Errorf("--root %s: there is no such directory", s.root))
		}
	}
	e, err := codemode.New(ctx, o)
	if err != nil {
		return nil, cli.UsageError(err) // only a configuration can be the reason
	}
	if s.Profile != "" && e.Config().Profile(s.Profile) == nil {
		err := &inforce.UnknownProfileError{Name: s.Profile, Names: e.Config().Names()}
		return nil, cli.UsageError(errors.Join(err, Close(ctx, e)))
	}
	return e, nil
}

// notNested refuses to start servers in a process that a server of another codemode started, directly or not. Its
// configuration may name the same servers, and so itself: each would start the next.
func notNested() error {
	if _, ok := os.LookupEnv(servers.ChildVariable); !ok {
		return nil
	}
	return cli.UsageError(fmt.Errorf(
		"a server of another codemode started this one (the variable %[1]s is set), and codemode behind codemode "+
			"starts servers without end: remove codemode from mcpServers of the outer one and add its servers there; "+
			"if no server of codemode started it, unset %[1]s", servers.ChildVariable))
}

// Load reads the configuration without starting anything.
func (s *Settings) Load() (*config.Config, error) {
	files, err := s.Files()
	if err == nil && files.None() {
		err = errNoFile
	}
	if err != nil {
		return nil, cli.UsageError(err)
	}
	cfg, err := files.Load()
	return cfg, cli.UsageError(err)
}

var errNoFile = errors.New("there is no configuration file: name one with --config")

// OwnFile is the user's configuration file, which must exist.
func (s *Settings) OwnFile() (string, error) {
	path, err := s.File()
	if err == nil && path == "" {
		err = errNoFile
	}
	return path, cli.UsageError(err)
}

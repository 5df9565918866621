package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/profiles"
)

const configurationHelp = `Which configuration file is used, the first of:

  1. the file named by --config
  2. the file named by the environment variable CODEMODE_CONFIG
  3. codemode/codemode.json in your configuration folder
     (on Linux ~/.config/codemode/codemode.json), if it is there
  4. none: only the built-in servers are there, and codemode_eval is unrestricted

A file in the current folder is never used by itself: a configuration starts
programs, and a folder may have come from anybody. Name it with --config.`

// setting holds the flags of every command that needs an Evaluator.
type setting struct {
	config  string
	profile string
	root    string
	verbose bool
}

func (s *setting) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.config, "config", "", "configuration file (see: codemode help configuration)")
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
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil // nowhere to look: nothing is configured
	}
	path := filepath.Join(dir, "codemode", "codemode.json")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path, nil
}

func (s *setting) logger(to streams, least slog.Level) *slog.Logger {
	if s.verbose {
		least = slog.LevelDebug
	}
	return slog.New(&logHandler{out: to.err, least: least, mu: new(sync.Mutex)})
}

// open makes the Evaluator that a command works with.
func (s *setting) open(ctx context.Context, log *slog.Logger) (*codemode.Evaluator, error) {
	path, err := s.file()
	if err != nil {
		return nil, usage(err)
	}
	o := codemode.Options{
		ConfigPath: path, Root: s.root, Env: os.LookupEnv, CacheDir: cacheDir(), Log: log, Version: version().Version,
	}
	if path == "" {
		if o.Config, err = profiles.Parse("no configuration", []byte("{}")); err != nil {
			return nil, usage(err)
		}
		log.Info("there is no configuration file: only built-in servers are there, and codemode_eval is unrestricted")
	} else if _, err := os.Stat(path); err != nil {
		return nil, usage(fmt.Errorf("the configuration cannot be read: %w", err))
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
	if s.profile != "" && e.Config().Profile(s.profile) == nil {
		err := &codemode.UnknownProfileError{Name: s.profile, Names: e.Profiles()}
		return nil, usage(errors.Join(err, closeEvaluator(ctx, e)))
	}
	return e, nil
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

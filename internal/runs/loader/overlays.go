package loader

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/replace"
)

// SetOverlays replaces the overlays that come from people's tools, such as an admin page, by those in data: a
// configuration file that has only overlays, {"evaluation": {"overlays": [...]}}. They apply in addition to those of
// the configuration, from the next call of every run on. The error of unusable data is [config.Problems], and then
// nothing has changed. SetOverlays writes them to Options.Files.Overlays. If that names no file, they end with the
// process.
func (l *Loader) SetOverlays(data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.replaceOverlays(data)
	if err == nil {
		l.options.Changed()
	}
	return err
}

func (l *Loader) replaceOverlays(data []byte) error {
	files := l.options.Files
	if files.Overlays == "" {
		before := l.overlays
		l.overlays = data
		err := l.apply(l.base)
		if err != nil {
			l.overlays = before
		}
		return err
	}
	others := files
	others.Overlays = ""
	cfg := l.options.Config
	if !others.None() {
		var err error
		if cfg, err = others.Load(); err != nil {
			return fmt.Errorf("the overlays cannot be checked against a configuration that is broken: %w", err)
		}
	}
	if cfg != nil {
		if _, err := cfg.With(config.Source{File: files.Overlays, Data: data, Standing: config.Narrowing}); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(files.Overlays), 0o700); err != nil {
		return fmt.Errorf("keeping the overlays: %w", err)
	}
	if err := replace.File(files.Overlays, data, 0o600); err != nil {
		return fmt.Errorf("keeping the overlays: %w", err)
	}
	cfg, err := files.Load() // now, not when the watcher notices
	if err != nil {
		return err
	}
	return l.apply(cfg)
}

package codemode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/testwait"
)

// Whoever reads in the log that the configuration changed is told which file did, however it was named.
func TestReloadLinesNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.json")
	put := func(text string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	put(original)
	for _, name := range []func(*codemode.Options){
		func(o *codemode.Options) { o.ConfigPath = path },
		func(o *codemode.Options) { o.Files.User = path },
		func(o *codemode.Options) { o.Files.Managed = path },
	} {
		var log testwait.Buffer
		e := open(t, "", name, func(o *codemode.Options) { o.Log = log.Logger() })
		for _, step := range []struct{ text, says string }{
			{strings.Replace(original, "safe", "mild", 1), "the configuration was reloaded"},
			{"{", "the changed configuration is not used"}, {original, "the configuration was reloaded"},
		} {
			before := len(log.String())
			put(step.text)
			if !testwait.Holds(func() bool { return strings.Contains(log.String()[before:], step.says) }) {
				t.Fatalf("%q is not in the log:\n%s", step.says, log.String())
			}
			line, _, _ := strings.Cut(log.String()[before+strings.Index(log.String()[before:], step.says):], "\n")
			if !strings.Contains(line, path) || strings.Contains(line, `file=""`) {
				t.Errorf("it does not name %s: %s", path, line)
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A secret that can be guessed would let anybody say that a program was checked.
func TestAWeakPreflightSecretIsRefused(t *testing.T) {
	for _, secret := range []string{"short", strings.Repeat("x", 31)} {
		for name, change := range map[string]func(*codemode.Options){
			"CODEMODE_PREFLIGHT_SECRET": func(o *codemode.Options) {
				o.Env = func(name string) (string, bool) { return secret, name == preflight.SecretVariable }
			},
			"Options.PreflightSecret": func(o *codemode.Options) { o.PreflightSecret = secret },
		} {
			var o codemode.Options
			change(&o)
			e, err := codemode.New(t.Context(), o)
			if err == nil {
				e.Close(t.Context())
				t.Errorf("%s of %d bytes is taken without a word", name, len(secret))
			} else if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "openssl rand") ||
				strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	open(t, original, func(o *codemode.Options) { o.PreflightSecret = strings.Repeat("x", 32) })
}

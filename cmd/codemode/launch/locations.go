package launch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/loader"
)

// File finds the configuration file; "" means that there is none.
func (s *Settings) File() (string, error) {
	if path := cmp.Or(s.Config, os.Getenv("CODEMODE_CONFIG")); path != "" {
		return path, nil
	}
	path := usualFile()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path, nil
}

// usualFile is the default place of a user's configuration; "" if the system has none.
func usualFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "codemode", "codemode.json")
}

// Files finds all files that apply together, and the variables that apply with them.
func (s *Settings) Files() (config.Files, error) {
	own, err := s.File()
	if err != nil {
		return config.Files{}, err
	}
	if _, _, err := namedState(); err != nil {
		return config.Files{}, err // without the state folder, no project is trusted and no tool is known
	}
	f := config.Files{
		User: own, Managed: ManagedFile(), Project: s.projectFile(own), Trust: TrustStore(),
		Environment: config.ReadEnvironment(os.Environ()), Env: Env,
	}
	if own != "" {
		f.Overlays = filepath.Join(filepath.Dir(own), "overlays.json")
	}
	return f, nil
}

// managedPath is the file with the machine administrator's rules that bind its users.
const managedPath = "/etc/codemode/managed.json"

// ManagedFile finds the managed file. A user cannot avoid the administrator's file by setting a variable or by making
// the file inaccessible.
func ManagedFile() string { return managedFileAt(managedPath) }

func managedFileAt(path string) string {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return os.Getenv("CODEMODE_MANAGED")
	}
	return path
}

// projectName is the name of a file with a project's rules.
const projectName = ".codemode.json"

// projectFile finds the project's rules, unless they are the user's own file.
func (s *Settings) projectFile(user string) string {
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

// protected lists the configuration files that this or another codemode of this user reads, also those that do not
// exist: a program that could create one would control the next start.
func (s *Settings) protected() map[string]string {
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

// TrustStore is the file that remembers which project files are trusted; "" if there is no place for it.
func TrustStore() string {
	dir, err := stateDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "trust", "projects.json")
}

// StateVariable names the state folder, where no flag does.
const StateVariable = "CODEMODE_STATE"

// StateFolder is the folder of everything that lasts: the record, grants, logins, trust.
func (s *Settings) StateFolder() (string, error) {
	if s.State != "" {
		return filepath.Abs(s.State)
	}
	dir, err := stateDir()
	if err != nil {
		return "", fmt.Errorf("%w; name one with --state or %s", err, StateVariable)
	}
	return dir, nil
}

// Command is a command line of codemode that finds the state folder of s also in another terminal, without this
// process's flags and environment: that of a tenant has a folder of its own.
func (s *Settings) Command(words string) string {
	dir, err := s.StateFolder()
	if usual, none := usualStateDir(); err != nil || none == nil && dir == usual {
		return words
	}
	return words + " --state " + cli.ShellWord(dir)
}

// namedState is the folder that stateVariable names; ok is false if it is not set.
func namedState() (dir string, ok bool, err error) {
	dir, ok = os.LookupEnv(StateVariable)
	switch {
	case !ok:
		return "", false, nil
	case dir == "":
		return "", false, fmt.Errorf("%s is set, and is empty: unset it, or set it to an absolute path", StateVariable)
	case !filepath.IsAbs(dir):
		return "", false, fmt.Errorf("%s is %q: set it to an absolute path, such as /home/you/codemode; "+
			"a relative one means another folder wherever codemode is started", StateVariable, dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", false, fmt.Errorf("%s is %q, which is not a folder: name one", StateVariable, dir)
	}
	return filepath.Clean(dir), true, nil
}

// stateDir is the state folder, unless --state says otherwise.
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
		return "", fmt.Errorf("there is no place for the state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state", "codemode"), nil
}

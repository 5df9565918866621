package upstream

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files lists the files that a start of the server reads or executes, if its configuration names them: its program, the
// arguments that are files, and the file of its variables. env looks up the variables of our own environment. Anybody
// who can write one of these files controls the next start.
func (s *Server) Files(env func(string) (string, bool)) []string {
	if !s.OwnProcess() {
		return nil
	}
	var files []string
	if s.EnvFile != "" {
		files = append(files, s.EnvFile)
	}
	if vars, err := childEnv(s, env); err == nil {
		if program, err := LookPath(s.Command, s.Dir, vars); err == nil {
			files = append(files, program)
		}
	}
	for _, arg := range s.Words() {
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(s.Dir, arg)
		}
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
			files = append(files, arg)
		}
	}
	return files
}

// SearchPath is the PATH for looking up the server's program; env is as for [Server.Files].
func (s *Server) SearchPath(env func(string) (string, bool)) []string {
	if !s.OwnProcess() {
		return nil
	}
	vars, err := childEnv(s, env)
	if err != nil {
		return nil
	}
	return filepath.SplitList(vars["PATH"])
}

// childEnv is the whole environment of the server's process.
func childEnv(s *Server, env func(string) (string, bool)) (map[string]string, error) {
	vars := Inherited(env)
	if s.Transport == CLI { // the programs of people find passwords by HOME
		maps.DeleteFunc(vars, func(name, _ string) bool { return name != "PATH" && !slices.Contains(neededBySystem, name) })
	}
	if s.EnvFile != "" {
		more, err := readEnvFile(s.EnvFile)
		if err != nil {
			return nil, err
		}
		maps.Copy(vars, more)
	}
	maps.Copy(vars, s.Env)
	return vars, nil
}

// command returns the command that starts a server, with the rights that it gets.
func (h *host) command(s *Server) (Command, error) {
	c, err := CommandOf(s, h.env)
	if err == nil && h.confine != nil {
		if c, err = h.confine(&s.Server, c); err != nil {
			err = fmt.Errorf("confining it: %w", err)
		}
	}
	return c, err
}

// CommandOf returns the command that starts a Stdio server, or the program of a CLI server without the words of a call;
// env looks up the variables of ours that it inherits.
func CommandOf(s *Server, env func(string) (string, bool)) (Command, error) {
	vars, err := childEnv(s, env)
	return Command{Name: s.Command, Args: s.Args, Dir: s.Dir, Env: vars}, err
}

// envFileMax bounds a file of variables.
const envFileMax = 1 << 20

// readEnvFile reads KEY=value lines as editors write them: it skips blank lines and lines that begin with #, and
// removes a leading "export " and quotes around the value. It expands nothing in a value.
func readEnvFile(path string) (map[string]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading its envFile: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > envFileMax {
		return nil, fmt.Errorf("reading its envFile: %s is not a file of at most %d bytes", path, envFileMax)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading its envFile: %w", err)
	}
	vars := map[string]string{}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return nil, fmt.Errorf("reading its envFile: %s:%d: want KEY=value", path, i+1)
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		vars[name] = value
	}
	return vars, nil
}

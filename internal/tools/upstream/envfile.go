package upstream

import (
	"fmt"
	"os"
	"strings"
)

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

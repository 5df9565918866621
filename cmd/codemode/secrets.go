package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// secretKey is what people call a variable or a header that holds a secret.
var secretKey = regexp.MustCompile(`(?i)token|key|secret|passw|pwd|auth|credential|cookie|dsn`)

// literalSecrets names the variables and headers of a server's entry that look
// secret and stand there in clear, not as a variable.
func literalSecrets(entry map[string]any) []string {
	var names []string
	for _, key := range []string{"env", "environment", "headers", "http_headers"} {
		values, _ := entry[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			text, ok := values[name].(string)
			if ok && text != "" && secretKey.MatchString(name) && !strings.Contains(text, "${") && !strings.Contains(text, "{env:") {
				names = append(names, name)
			}
		}
	}
	return names
}

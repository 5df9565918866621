package setup

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// eachText changes every string inside a value, in the order of keys.
func eachText(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], change)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = eachText(v[k], change)
		}
	}
	return v
}

var (
	vscodeInput   = regexp.MustCompile(`\$\{input:([^}]*)\}`)
	noVariable    = regexp.MustCompile(`[^A-Za-z0-9]+`)
	shellVariable = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)|%([A-Za-z_][A-Za-z0-9_]*)%`)
	fileVariable  = regexp.MustCompile(`\{file:[^}]*\}`)
)

// adaptVSCode replaces ${input:id}, for which VS Code asks its user, by a variable.
func adaptVSCode(e *clientEntry) {
	seen := map[string]bool{}
	eachText(e.value, func(s string) string {
		return vscodeInput.ReplaceAllStringFunc(s, func(written string) string {
			id := vscodeInput.FindStringSubmatch(written)[1]
			name := strings.ToUpper(strings.Trim(noVariable.ReplaceAllString(id, "_"), "_"))
			if name == "" || name[0] >= '0' && name[0] <= '9' {
				name = "INPUT_" + name
			}
			if !seen[id] {
				seen[id] = true
				e.held = append(e.held, name)
				e.note("VS Code asks its user for %q; here it is the variable %s", id, name)
			}
			return "${" + name + "}"
		})
	})
}

// adaptProject keeps the meaning of relative commands and of the project's folder when codemode runs in another folder.
func adaptProject(e *clientEntry, project string) {
	eachText(e.value, func(s string) string { return strings.ReplaceAll(s, "${workspaceFolder}", project) })
	if e.value["command"] != nil && e.value["cwd"] == nil {
		e.value["cwd"] = project
	}
}

// adaptGemini translates url, which means SSE for Gemini, and variables in the notation of shells.
func adaptGemini(e *clientEntry) {
	if e.value["url"] != nil && e.value["httpUrl"] == nil && e.value["type"] == nil {
		e.value["type"] = "sse"
	}
	env, ok := e.value["env"].(map[string]any)
	if !ok {
		return
	}
	eachText(env, func(s string) string {
		return shellVariable.ReplaceAllStringFunc(s, func(written string) string {
			return "${" + strings.Trim(written, "$%") + "}"
		})
	})
}

// adaptOpenCode translates timeout, which OpenCode applies to the start, and notes variables that have no meaning here.
func adaptOpenCode(e *clientEntry) {
	if ms, ok := e.value["timeout"].(float64); ok {
		e.value["timeout"] = map[string]any{"startup": ms}
	}
	eachText(e.value, func(s string) string {
		if file := fileVariable.FindString(s); file != "" {
			e.note("codemode does not read %s: replace it by the value or by a variable", file)
			e.stays = "codemode does not read " + file
		}
		return s
	})
}

// adaptSeconds translates timeout, which is in seconds.
func adaptSeconds(e *clientEntry) {
	if seconds, ok := e.value["timeout"]; ok {
		e.value["tool_timeout_sec"] = seconds
		delete(e.value, "timeout")
	}
}

// adaptZed translates a command with its arguments in one object, as Zed had it before 2025, and leaves out where the
// server comes from.
func adaptZed(e *clientEntry) {
	delete(e.value, "source")
	if command, ok := e.value["command"].(map[string]any); ok {
		e.value["command"] = command["path"]
		for _, key := range []string{"args", "env"} {
			if e.value[key] == nil && command[key] != nil {
				e.value[key] = command[key]
			}
		}
	}
}

var continueSecret = regexp.MustCompile(`\$\{\{\s*(?:secrets|inputs)\.([^}\s]*)\s*\}\}`)

// adaptContinue replaces ${{ secrets.NAME }}, which Continue keeps, by a variable.
func adaptContinue(e *clientEntry) {
	delete(e.value, "name")
	eachText(e.value, func(s string) string {
		return continueSecret.ReplaceAllStringFunc(s, func(written string) string {
			name := strings.Trim(noVariable.ReplaceAllString(continueSecret.FindStringSubmatch(written)[1], "_"), "_")
			if !slices.Contains(e.held, name) {
				e.held = append(e.held, name)
				e.note("Continue keeps %s; here it is the variable %s", written, name)
			}
			return "${" + name + "}"
		})
	})
	if options, ok := e.value["requestOptions"].(map[string]any); ok && options["headers"] != nil && len(options) == 1 {
		e.value["headers"] = options["headers"]
		delete(e.value, "requestOptions")
	}
}

// adaptGoose translates the keys of Goose. Values of env_keys are in its keyring.
func adaptGoose(e *clientEntry) {
	for _, rename := range [][2]string{{"cmd", "command"}, {"envs", "env"}, {"uri", "url"}, {"env_keys", "env_vars"},
		{"available_tools", "includeTools"}} {
		v, ok := e.value[rename[0]]
		if delete(e.value, rename[0]); ok && v != nil {
			e.value[rename[1]] = v
		}
	}
	if tools, ok := e.value["includeTools"].([]any); ok && len(tools) == 0 { // means all
		delete(e.value, "includeTools")
	}
	for _, key := range []string{"name", "display_name", "description", "bundled"} {
		delete(e.value, key)
	}
	names, _ := e.value["env_vars"].([]any)
	for _, name := range names {
		if name, ok := name.(string); ok {
			e.held = append(e.held, name)
		}
	}
	adaptSeconds(e)
}

// adaptCrush translates variables in the notation of shells, and timeout, which is that of the start in seconds. Crush
// runs what stands in $(...); codemode does not.
func adaptCrush(e *clientEntry) {
	eachText(e.value, func(s string) string {
		if strings.Contains(s, "$(") || strings.Contains(s, "`") {
			e.stays = "Crush runs a command for one of its values, which codemode does not"
			e.note("%s: write a variable in its place", e.stays)
		}
		return shellVariable.ReplaceAllStringFunc(s, func(written string) string {
			if written[0] == '%' {
				return written
			}
			return "${" + written[1:] + "}"
		})
	})
	if seconds, ok := e.value["timeout"]; ok {
		e.value["startup_timeout_sec"] = seconds
		delete(e.value, "timeout")
	}
}

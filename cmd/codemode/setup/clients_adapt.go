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
		}
		return s
	})
}

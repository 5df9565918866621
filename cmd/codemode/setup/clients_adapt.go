package setup

import (
	"slices"
	"strings"
)

// adaptProject keeps the meaning of relative commands and of the project's folder when codemode runs in another folder.
func adaptProject(e *clientEntry, project string) {
	e.project = project
	if e.value["command"] != nil && e.value["cwd"] == nil {
		e.value["cwd"] = project
	}
}

// adaptGemini translates url, which means SSE for Gemini, and what variables of Windows are in an environment. It logs
// in with an account of Google, or as one, where authProviderType says so.
func adaptGemini(e *clientEntry) {
	if e.value["url"] != nil && e.value["httpUrl"] == nil && e.value["type"] == nil {
		e.value["type"] = "sse"
	}
	if kind, _ := e.value["authProviderType"].(string); kind != "" && kind != "dynamic_discovery" {
		e.stays = "the client logs in at it (authProviderType " + kind + ")"
	}
	if env, ok := e.value["env"].(map[string]any); ok {
		eachText(env, func(s string) string { return percentName.ReplaceAllString(s, "$${$1}") })
	}
}

// adaptCodex translates what Codex keeps in tables: how a variable comes to a server, and what it has noted about
// single tools when its user said "Always allow".
func adaptCodex(e *clientEntry) {
	vars, _ := e.value["env_vars"].([]any)
	for i, v := range vars {
		table, ok := v.(map[string]any)
		if !ok {
			continue
		}
		vars[i] = table["name"]
		if source, _ := table["source"].(string); source != "" && source != "local" {
			e.stays = "Codex takes a variable from " + source
		}
	}
	if tools, ok := e.value["tools"].(map[string]any); ok {
		delete(e.value, "tools")
		off, _ := e.value["disabled_tools"].([]any)
		for name, of := range tools {
			if of, _ := of.(map[string]any); of["enabled"] == false {
				off = append(off, name)
			}
		}
		if len(off) > 0 {
			e.value["disabled_tools"] = off
		}
		e.note("what Codex allows of its tools is not copied: the profile says what is allowed")
	}
	for _, key := range []string{"default_tools_approval_mode", "required"} {
		delete(e.value, key)
	}
}

// adaptOpenCode translates timeout, which OpenCode applies to the start, and leaves out whether OpenCode's own programs
// call the server's tools.
func adaptOpenCode(e *clientEntry) {
	delete(e.value, "codemode")
	if ms, ok := e.value["timeout"].(float64); ok {
		e.value["timeout"] = map[string]any{"startup": ms}
	}
}

// adaptSeconds translates timeout, which is in seconds.
func adaptSeconds(e *clientEntry) {
	if seconds, ok := e.value["timeout"]; ok {
		e.value["tool_timeout_sec"] = seconds
		delete(e.value, "timeout")
	}
}

// adaptZed translates timeout, and a command with its arguments in one object, as Zed had it before 2025. It leaves out
// where the server comes from.
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
	adaptSeconds(e)
}

// adaptContinue leaves out the name, and translates headers in the options of requests, and connectionTimeout, which is
// that of calls too.
func adaptContinue(e *clientEntry) {
	delete(e.value, "name")
	if ms, ok := e.value["connectionTimeout"]; ok {
		e.value["timeout"] = ms
		delete(e.value, "connectionTimeout")
	}
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
		if name, ok := name.(string); ok && !slices.Contains(e.held, name) {
			e.held = append(e.held, name)
		}
	}
	adaptSeconds(e)
}

// adaptCrush translates timeout, which is that of the start in seconds. Crush runs what stands in $(...); codemode does
// not.
func adaptCrush(e *clientEntry) {
	eachText(e.value, func(s string) string {
		if strings.Contains(s, "$(") || strings.Contains(s, "`") {
			e.stays = "Crush runs a command for one of its values, which codemode does not"
		}
		return s
	})
	if seconds, ok := e.value["timeout"]; ok {
		e.value["startup_timeout_sec"] = seconds
		delete(e.value, "timeout")
	}
}

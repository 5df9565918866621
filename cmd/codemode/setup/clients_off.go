package setup

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// of says why a client does not start an entry of a file.
func (s *switches) of(f *clientFile, e *clientEntry) off {
	if e.server.Disabled || e.value["disabled"] == true || e.value["enabled"] == false {
		key := `"disabled" in `
		if e.value["enabled"] == false {
			key = `"enabled" in `
		}
		return off{why: key + s.short(f.path)}
	}
	if f.client.off == nil {
		return off{}
	}
	return f.client.off(s, f, e)
}

// offGemini reads what Gemini CLI and Qwen Code have in the settings of the system, the user and the project. The names of
// its folders are those of a project, and those of administrators on Linux and elsewhere.
func offGemini(folder, variable, linux, elsewhere string, fold func(string) func(string) bool) func(*switches, *clientFile,
	*clientEntry) off {
	return func(s *switches, f *clientFile, e *clientEntry) off {
		user := filepath.Dir(f.client.places[0].file(s.places))
		system := filepath.Join(s.root, "/etc", linux)
		switch s.system {
		case "darwin":
			system = "/Library/Application Support/" + elsewhere
		case "windows":
			system = `C:\ProgramData\` + linux
		}
		settings := cmp.Or(s.env(variable+"_SYSTEM_SETTINGS_PATH"), filepath.Join(system, "settings.json"))
		files := []string{settings, filepath.Join(user, "settings.json"),
			cmp.Or(s.env(variable+"_SYSTEM_DEFAULTS_PATH"), filepath.Join(filepath.Dir(settings), "system-defaults.json"))}
		trust := folder == ".gemini" // whether untrusted folders are a matter, where no file says so
		for _, dir := range s.folders() {
			files = append(files, filepath.Join(dir, folder, "settings.json"))
		}
		for i, path := range files {
			m, broken := s.file(path)
			if broken != "" {
				return off{why: broken}
			}
			in := " in " + s.short(path)
			if value(m, "admin", "mcp", "enabled") == false {
				return off{why: "admin.mcp.enabled" + in}
			}
			for _, keys := range [][]string{{"mcp", "excluded"}, {"excludeMCPServers"}} {
				if list, _ := names(value(m, keys...)); slices.ContainsFunc(list, folded(e.name)) {
					return off{why: strings.Join(keys, ".") + in}
				}
			}
			for _, keys := range [][]string{{"mcp", "allowed"}, {"allowMCPServers"}} {
				if list, ok := names(value(m, keys...)); ok && !slices.ContainsFunc(list, fold(e.name)) {
					return off{why: "not among " + strings.Join(keys, ".") + in}
				}
			}
			if on, ok := value(m, "security", "folderTrust", "enabled").(bool); ok && i < 3 {
				trust = on
			}
		}
		enablement := filepath.Join(user, "mcp-server-enablement.json")
		m, broken := s.file(enablement)
		for name, v := range m {
			if state, _ := v.(map[string]any); folded(e.name)(name) && state["enabled"] == false {
				broken = s.short(enablement)
			}
		}
		if broken != "" {
			return off{why: broken}
		}
		if f.place.scope == projectScope && trust {
			return s.untrusted(filepath.Join(user, "trustedFolders.json"))
		}
		return off{}
	}
}

// untrusted says whether nobody has trusted the project's folder, or one above it, in a file of Gemini's form.
func (s *switches) untrusted(path string) off {
	m, broken := s.file(path)
	trusted := false
	for dir, how := range m {
		switch {
		case how == "DO_NOT_TRUST" && within(s.project, dir):
			return off{why: s.short(dir) + " is not trusted, in " + s.short(path), here: true}
		case how == "TRUST_FOLDER" && within(s.project, dir), how == "TRUST_PARENT" && within(s.project, filepath.Dir(dir)):
			trusted = true
		}
	}
	if trusted && broken == "" {
		return off{}
	}
	return off{why: cmp.Or(broken, "nobody has trusted "+s.short(s.project)+" yet, in "+s.short(path)), here: true}
}

func within(dir, parent string) bool {
	rest, err := filepath.Rel(parent, dir)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}

// notInTool is what Claude Code and OpenCode replace in names.
var notInTool = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

func claudeName(a string) func(string) bool {
	a = notInTool.ReplaceAllString(a, "_")
	return func(b string) bool { return a == notInTool.ReplaceAllString(b, "_") }
}

// offClaude reads all settings of Claude Code, and its state of each project.
func offClaude(s *switches, f *clientFile, e *clientEntry) off {
	managed := s.claudeManaged()
	if _, err := os.Stat(filepath.Join(managed, "managed-mcp.json")); err == nil {
		return off{why: "an administrator's " + filepath.Join(managed, "managed-mcp.json") + " replaces all others"}
	}
	files := []string{filepath.Join(managed, "managed-settings.json")}
	more, err := filepath.Glob(filepath.Join(managed, "managed-settings.d", "*.json"))
	if err == nil {
		files = append(files, more...)
	}
	files = append(files, filepath.Join(f.client.folder(s.places), "settings.json"))
	ours := len(files) // the files of the user and of administrators, which need no trust
	for _, dir := range s.folders() {
		files = append(files, filepath.Join(dir, ".claude", "settings.json"),
			filepath.Join(dir, ".claude", "settings.local.json"))
	}
	state := f.client.places[0].file(s.places)
	have, broken := s.file(state)
	if broken != "" {
		return off{why: broken}
	}
	projects, _ := have["projects"].(map[string]any)
	trusted, yes := false, false
	for dir, of := range projects {
		project, _ := of.(map[string]any)
		if list, _ := names(project["disabledMcpServers"]); slices.ContainsFunc(list, claudeName(e.name)) &&
			(f.place.scope == userScope || dir == s.project) {
			return off{why: "disabledMcpServers of " + s.short(dir) + " in " + s.short(state)}
		}
		trusted = trusted || project["hasTrustDialogAccepted"] == true && within(s.project, dir)
	}
	own, _ := projects[s.project].(map[string]any)
	for i, path := range append([]string{state}, files...) {
		m := own
		if i > 0 {
			if m, broken = s.file(path); broken != "" {
				return off{why: broken}
			}
		}
		if why := claudeDenies(m, e); why != "" {
			return off{why: why + " in " + s.short(path)}
		}
		if f.place.scope != projectScope {
			continue
		}
		if list, _ := names(m["disabledMcpjsonServers"]); slices.ContainsFunc(list, claudeName(e.name)) {
			return off{why: "disabledMcpjsonServers in " + s.short(path)}
		}
		list, _ := names(m["enabledMcpjsonServers"])
		if (slices.Contains(list, e.name) || m["enableAllProjectMcpServers"] == true) && (i <= ours || trusted) {
			yes = true
		}
	}
	if f.place.scope != projectScope || yes {
		return off{}
	}
	return off{why: "nobody has said yes to it in Claude Code yet", here: true}
}

func (s *switches) claudeManaged() string {
	switch s.system {
	case "darwin":
		return "/Library/Application Support/ClaudeCode"
	case "windows":
		return `C:\Program Files\ClaudeCode`
	}
	return filepath.Join(s.root, "/etc/claude-code")
}

// claudeDenies says which key of settings keeps a server, or all of its tools, from programs. Of a server whose single
// tools are denied, those become tools that codemode leaves out.
func claudeDenies(m map[string]any, e *clientEntry) string {
	denied, _ := m["deniedMcpServers"].([]any)
	if claudeLists(denied, e, false) {
		return "deniedMcpServers"
	}
	if allowed, ok := m["allowedMcpServers"].([]any); ok && !claudeLists(allowed, e, true) {
		return "not among allowedMcpServers"
	}
	rules, _ := names(value(m, "permissions", "deny"))
	for _, rule := range rules {
		server, tool, one := strings.Cut(strings.TrimPrefix(rule, "mcp__"), "__")
		switch {
		case !strings.HasPrefix(rule, "mcp__") || !claudeName(e.name)(server):
		case !one || tool == "*":
			return "permissions.deny"
		default:
			e.deny = append(e.deny, tool)
		}
	}
	return ""
}

// claudeLists reports whether a list of an administrator has a server: by its name, its command or its address. A list
// of those allowed that has commands, or addresses, is about these alone.
func claudeLists(list []any, e *clientEntry, allowed bool) bool {
	by := func(kind string) (has, matches bool) {
		for _, item := range list {
			m, _ := item.(map[string]any)
			want := m[kind]
			if want == nil {
				continue
			}
			has = true
			switch kind {
			case "serverName":
				matches = matches || want == e.name
			case "serverCommand":
				words, _ := names(want)
				matches = matches || slices.Equal(words, append([]string{e.server.Command}, e.server.Args...))
			default:
				pattern, _ := want.(string)
				like := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
				matches = matches || like.MatchString(e.server.URL)
			}
		}
		return has, matches
	}
	kind := "serverCommand"
	if e.server.URL != "" {
		kind = "serverUrl"
	}
	has, matches := by(kind)
	if has && allowed {
		return matches
	}
	_, named := by("serverName")
	return matches || named
}

// offCodex reads which projects Codex trusts, and which servers an administrator requires.
func offCodex(s *switches, f *clientFile, e *clientEntry) off {
	required := filepath.Join(s.root, "/etc/codex/requirements.toml")
	m, broken := s.file(required)
	if list, ok := m["mcp_servers"].(map[string]any); ok && list[e.name] == nil {
		broken = "not among mcp_servers in " + required
	}
	if broken != "" {
		return off{why: broken}
	}
	if f.place.scope != projectScope {
		return off{}
	}
	path := f.client.places[0].file(s.places)
	m, broken = s.file(path)
	projects, _ := m["projects"].(map[string]any)
	for dir := range projects {
		if level := value(projects, dir, "trust_level"); level == "trusted" && within(s.project, dir) {
			return off{}
		}
	}
	return off{why: cmp.Or(broken, "nobody has trusted "+s.short(s.project)+" yet, in "+s.short(path)), here: true}
}

// offOpenCode reads the lists of tools and of permissions, in the files that have the servers too.
func offOpenCode(s *switches, f *clientFile, e *clientEntry) off {
	name := notInTool.ReplaceAllString(e.name, "_")
	for i := range f.client.places {
		l := &f.client.places[i]
		file := l.path(s.places, s.project)
		if file == "" {
			continue
		}
		m, broken := s.file(file)
		if broken != "" {
			return off{why: broken}
		}
		for _, list := range []struct {
			key string
			off any
		}{{"tools", false}, {"permission", "deny"}} {
			of, _ := m[list.key].(map[string]any)
			for _, pattern := range slices.Sorted(maps.Keys(of)) {
				start, every := strings.CutSuffix(pattern, "*")
				if of[pattern] == list.off && every && start != "" && strings.HasPrefix(name+"_", start) {
					return off{why: fmt.Sprintf("%s[%q] in %s", list.key, pattern, s.short(file))}
				}
			}
		}
	}
	return off{}
}

// offEditor reads a key of an editor's settings that switches all servers off.
func offEditor(file func(places) string, key string, is any) func(*switches, *clientFile, *clientEntry) off {
	return func(s *switches, _ *clientFile, _ *clientEntry) off {
		paths := []string{file(s.places)}
		for _, dir := range s.folders() {
			paths = append(paths, filepath.Join(dir, ".vscode", "settings.json"))
		}
		for _, path := range paths {
			m, broken := s.file(path)
			if broken != "" {
				return off{why: broken}
			}
			if v, ok := m[key]; ok && v == is {
				return off{why: key + " in " + s.short(path)}
			}
		}
		return off{}
	}
}

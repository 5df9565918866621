package setup

import (
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
)

const (
	literal         notation = 1 << iota // documented: what is none of the others is text
	braces                               // ${NAME} and ${NAME:-default}
	dollar                               // $NAME, anywhere
	envNames                             // ${env:NAME}
	editor                               // ${userHome}, ${workspaceFolder}, ${input:...} and the others of an editor
	openCode                             // {env:NAME} and {file:...}
	workflowSecrets                      // ${{ secrets.NAME }}
)

// expanded are the keys of a server whose values codemode expands.
var expanded = []string{"command", "args", "env", "environment", "cwd", "envFile", "url", "httpUrl", "serverUrl", "headers",
	"http_headers", "oauth", "auth"}

var (
	variable    = regexp.MustCompile(`\$\{\{[^}]*\}\}|\$\{[^}]*\}|\{(?:env|file):[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)
	validName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	wholeName   = regexp.MustCompile(`^\$[A-Z_][A-Z0-9_]*$`)
	notInWord   = regexp.MustCompile(`[^A-Za-z0-9]+`)
	secretName  = regexp.MustCompile(`^\{\s*(?:secrets|inputs)\.([^}\s]*)\s*$`)
	percentName = regexp.MustCompile(`%([A-Za-z_][A-Za-z0-9_]*)%`)
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

// translate writes an entry's variables as codemode does, and escapes what is text for the client.
func (e *clientEntry) translate(c *mcpClient) {
	for _, key := range expanded {
		if v, ok := e.value[key]; ok {
			e.value[key] = eachText(v, func(s string) string { return e.translated(c, s) })
		}
	}
}

func (e *clientEntry) translated(c *mcpClient, s string) string {
	var out strings.Builder
	last := 0
	for _, at := range variable.FindAllStringIndex(s, -1) {
		out.WriteString(s[last:at[0]])
		out.WriteString(e.meaning(c, s[at[0]:at[1]], s))
		last = at[1]
	}
	out.WriteString(s[last:])
	return out.String()
}

// meaning is one variable of a client in our notation.
func (e *clientEntry) meaning(c *mcpClient, written, whole string) string {
	says := c.replaces
	inside := strings.TrimSuffix(written[strings.IndexByte(written, '{')+1:], "}")
	switch {
	case strings.HasPrefix(written, "${{"):
		inside = strings.TrimSuffix(inside, "}")
		if m := secretName.FindStringSubmatch(inside); m != nil && says&workflowSecrets != 0 {
			return e.hold(c, m[1], written)
		}
	case strings.HasPrefix(written, "${"):
		if replaced, ok := e.braced(c, inside, written); ok {
			return replaced
		}
	case written[0] == '{':
		name, isEnv := strings.CutPrefix(inside, "env:")
		switch {
		case says&openCode == 0 && !isEnv:
			return written // means nothing for codemode either
		case says&openCode == 0:
			return settings.Escape(written)
		case isEnv && validName.MatchString(name):
			return "${" + name + "}"
		}
		return e.only(c, written)
	case says&dollar != 0:
		return "${" + written[1:] + "}"
	case !wholeName.MatchString(whole):
		return written // for codemode too a dollar sign and letters
	}
	if says&literal == 0 {
		return e.only(c, written)
	}
	return settings.Escape(written)
}

// braced is what ${inside} means for a client; ok is false if it is text.
func (e *clientEntry) braced(c *mcpClient, inside, written string) (replaced string, ok bool) {
	says := c.replaces
	name, fallback, _ := strings.Cut(inside, ":-")
	kind, id, hasKind := strings.Cut(name, ":")
	folder := ""
	if says&editor != 0 && slices.Contains([]string{"workspaceFolder", "workspaceRoot", "workspaceFolderBasename"}, inside) {
		folder = "workspace"
	} else if says&braces != 0 && inside == "CLAUDE_PROJECT_DIR" {
		folder = "project"
	}
	switch {
	case folder != "" && e.project == "":
		return e.only(c, written), true
	case strings.HasSuffix(inside, "Basename") && folder != "":
		return settings.Escape(filepath.Base(e.project)), true
	case folder != "":
		return settings.Escape(e.project), true
	case says&editor != 0 && inside == "userHome":
		if e.home == "" {
			return written, true
		}
		return settings.Escape(e.home), true
	case says&editor != 0 && (inside == "pathSeparator" || inside == "/"):
		if runtime.GOOS == "windows" {
			return `\`, true
		}
		return "/", true
	case says&editor != 0 && hasKind && kind == "input":
		return e.hold(c, id, written), true
	case says&envNames != 0 && hasKind && kind == "env" && validName.MatchString(id):
		return "${" + strings.TrimPrefix(inside, "env:") + "}", true
	case says&(editor|envNames) != 0 && (hasKind || slices.Contains([]string{"cwd", "execPath", "file", "fileDirname",
		"extensionInstallFolder"}, inside)):
		return e.only(c, written), true
	case says&braces != 0 && strings.HasPrefix(inside, "CLAUDE_"): // such as CLAUDE_PLUGIN_ROOT: no variable of the user
		return e.only(c, written), true
	case says&braces != 0 && validName.MatchString(name) && !strings.Contains(fallback, "${"):
		return written, true
	case says&braces != 0:
		return e.only(c, written), true
	}
	return "", false
}

// only notes that an entry stays because nobody but its client knows a value.
func (e *clientEntry) only(c *mcpClient, written string) string {
	if e.stays == "" {
		e.stays = "only " + c.name + " knows " + written
		if c.replaces == 0 {
			e.stays = "codemode does not know what " + written + " is for " + c.name + ": write the value"
		}
	}
	return written
}

// hold replaces what a client asks its user for, or keeps, by a variable.
func (e *clientEntry) hold(c *mcpClient, id, written string) string {
	name := strings.Trim(notInWord.ReplaceAllString(id, "_"), "_")
	if c.replaces&editor != 0 {
		name = strings.ToUpper(name)
	}
	if !validName.MatchString(name) {
		name = "INPUT_" + name
	}
	if !slices.Contains(e.held, name) {
		e.held = append(e.held, name)
		e.note("%s keeps %s; here it is the variable %s", c.name, written, name)
	}
	return "${" + name + "}"
}

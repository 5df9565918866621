package config

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// read reads the parts of a file that its standing permits.
func (b *builder) read() {
	root := b.Root
	if b.standing == User || b.standing == Managed {
		b.secretFiles(root)
	}
	if b.standing == Narrowing {
		b.Object(root, "an overlay file", []settings.Field{
			settings.Key("overlays", b.overlays),
			settings.Key("evaluation", func(n strictjson.Value) {
				b.Object(n, `"evaluation" in an overlay file`, []settings.Field{settings.Key("overlays", b.overlays)})
			}),
			settings.Key("$schema", func(n strictjson.Value) { b.Text(n, "$schema") }),
		})
		return
	}
	if b.isBareMap(root) {
		b.servers(root)
		return
	}
	var serversAt strictjson.Value
	servers := func(n strictjson.Value) {
		if serversAt.Kind() != strictjson.Missing && serversAt.Key() != n.Key() {
			b.WrongKey(n, fmt.Sprintf("move what is in it to %q", serversAt.Key()),
				"the file has both \"mcpServers\" and \"servers\"")
		}
		serversAt = n
		b.servers(n)
	}
	b.Object(root, "the configuration", slices.Concat([]settings.Field{
		settings.Key("mcpServers", servers),
		settings.Key("servers", servers),
		settings.Key("evaluation", b.evaluation),
	}, b.processFields(), []settings.Field{
		settings.Key("scripts", b.scripts),
		settings.Key("limits", func(n strictjson.Value) { b.Decode(n, "limits", &b.fileLimits) }),
		settings.Key("outputValidation", func(n strictjson.Value) { b.validateOutputs(n, b.validation(n)) }),
		settings.Key("inputs", func(n strictjson.Value) {
			b.Warn(b.Position(n.KeyOffset()), len(n.Key()), "", `"inputs" has no effect: codemode asks nobody for them`)
		}),
		settings.Key("$schema", func(n strictjson.Value) { b.Text(n, "$schema") }),
	}))
}

// secretFiles notes the files that texts refer to.
func (b *builder) secretFiles(n strictjson.Value) {
	if n.Kind() == strictjson.String && settings.HasSource(n.Text()) {
		b.config.SecretFiles = append(b.config.SecretFiles, settings.Paths(n.Text())...)
	}
	for child := range settings.Children(n) {
		b.secretFiles(child)
	}
}

// isBareMap recognises a file that contains only servers, as some clients keep it.
func (b *builder) isBareMap(root strictjson.Value) bool {
	named := false
	for child := range settings.Children(root) {
		if slices.Contains([]string{"mcpServers", "servers", "evaluation"}, child.Key()) {
			return false // a server or profile may have one of the names below
		}
		server := slices.ContainsFunc([]string{"command", "url", "httpUrl", "serverUrl"}, func(key string) bool {
			return settings.Member(child, key).Kind() != strictjson.Missing
		})
		if !server {
			return false
		}
		named = named || !slices.Contains([]string{"store", "http", "tracing", "console", "responder", "notifications"},
			child.Key())
	}
	return named
}

func (b *builder) servers(n strictjson.Value) {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write {"name": {"command": "..."}}`, "the servers must be an object, this is %s", n.Kind())
		return
	}
	b.Unique(n)
	names := map[string]strictjson.Value{} // by their names in programs
	for child := range settings.Children(n) {
		name := call.Part(child.Key())
		if hint, message := servers.CheckName(child.Key()); message != "" {
			b.WrongKey(child, hint, "%s", message)
		}
		b.serverTaken(child, name)
		if other := names[name]; other.Kind() != strictjson.Missing && other.Key() != child.Key() {
			b.WrongKey(child, fmt.Sprintf("both are %q for programs: rename one of them", name),
				"the servers %q and %q have names that become equal", other.Key(), child.Key())
		}
		names[name] = child
		b.server(child)
	}
}

// serverTaken reports a name that a server of an earlier file has: rules refer to servers by name, and must keep
// referring to the same server.
func (b *builder) serverTaken(n strictjson.Value, name string) {
	for _, s := range b.config.Servers {
		if s.Pos.File != b.File && call.Part(s.Name) == name && b.standing != Untrusted {
			b.WrongKey(n, "give it another name", "the server %q is in %s already", s.Name, s.Pos)
		}
	}
}

func (b *builder) server(n strictjson.Value) {
	if n.Kind() == strictjson.Object {
		b.UniqueBelow(n)
	}
	if b.standing == Untrusted && n.Kind() == strictjson.Object {
		b.withoutSay(n, fmt.Sprintf("the server %q is not started and", n.Key()))
		return
	}
	if at := servers.HasSource(n); b.project() && at.Kind() != strictjson.Missing {
		b.Wrong(at, "write a variable of the environment, or move the server to your own file",
			"a project's file may not refer to commands and files: what it names would run, or be read, with your rights")
		return
	}
	s := Server{Name: n.Key(), JSON: settings.Source(n), Pos: b.Position(n.KeyOffset()), entry: n, src: b.Src,
		unread: b.standing != User && b.standing != Managed}
	s.TrustAnnotations = servers.Read(b.Reader, n.Key(), n, b.env).TrustAnnotations
	if v := settings.Member(n, "outputValidation"); v.Kind() != strictjson.Missing {
		s.OutputValidation = b.validation(v)
	}
	b.config.Servers = append(b.config.Servers, s)
}

// validation reads what happens to results that do not match their output schema.
func (b *builder) validation(n strictjson.Value) string {
	word, _ := b.Word(n, `"outputValidation"`, "off", "warn", "strict")
	return word
}

// validateOutputs takes the stricter setting of this file and the earlier files. An untrusted file cannot make it laxer
// than the default.
func (b *builder) validateOutputs(n strictjson.Value, word string) {
	strictness := []string{"off", "", "warn", "strict"}
	before := b.config.OutputValidation
	if slices.Index(strictness, word) > slices.Index(strictness, before) ||
		word == "off" && before == "" && b.standing != Untrusted {
		b.config.OutputValidation = word
	} else if b.standing == Untrusted && word == "off" {
		b.Stranger(n)
	}
}

package config

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/profiles"
)

// carry notes that a program can read something and send it away without a question to a person in between.
func (l *linter) carry(p *profiles.Profile) {
	var reads, sends []string
	for i := range l.tools {
		t := &l.tools[i]
		if !p.MayAllow(profiles.Call{Server: t.Server, Tool: t.Tool, Name: t.name, Annotations: t.Annotations}, t.raw()) {
			continue
		}
		switch {
		case t.sends():
			sends = append(sends, t.name)
		case t.reads():
			reads = append(reads, t.name)
		}
	}
	if len(reads) > 0 && len(sends) > 0 {
		l.add(findingCarry, true, p.Pos(), `ask about what sends, or set "raise": {"tainted": "ask"}`,
			"under the profile %q a program may read with %s and send with %s, and nobody is asked", p.Name(), few(reads),
			few(sends))
	}
}

// The words in the names of tools that send, and of tools that read.
var (
	sendingWords = []string{"send", "post", "publish", "upload", "email", "mail", "message", "share", "webhook", "fetch",
		"request", "http", "notify", "tweet", "comment"}
	readingWords = []string{"get", "read", "list", "search", "query", "find", "download", "show", "describe", "select"}
)

func (t *lintTool) sends() bool {
	return t.Annotations["openWorldHint"] == true && t.Annotations["readOnlyHint"] != true || t.hasWord(sendingWords)
}

func (t *lintTool) reads() bool {
	return t.Annotations["readOnlyHint"] == true || t.hasWord(readingWords)
}

func (t *lintTool) hasWord(words []string) bool {
	name := strings.FieldsFunc(strings.ToLower(t.Tool), func(r rune) bool { return !isWord(byte(r)) || r == '_' })
	return slices.ContainsFunc(name, func(w string) bool { return slices.Contains(words, w) })
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

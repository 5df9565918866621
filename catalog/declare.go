package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// declarationMax is what one tool may take of the declarations. The schema of a
// tool that needs more is left out, because nobody could read it anyway.
const declarationMax = 64 << 10

// Declarations returns TypeScript that declares the tools as members of the
// global codemode, the servers by name and the tools of each by name. The same
// tools always give the same bytes. A type that refers to itself, or that a
// schema gives a name, stands in front under a name of its own. Descriptions are
// the servers' words, made safe to stand in a comment.
func Declarations(tools []*Tool) string {
	declared := make([]member, len(tools))
	for i, t := range tools {
		declared[i].Tool = t
		declared[i].named, declared[i].text = t.declaration()
	}
	return interfaceOf(declared)
}

// Brief returns the declarations of as many of tools as fit into room bytes, the first of the list before others, each with
// the beginning of what its server says about it. The others are returned too.
func Brief(tools []*Tool, room int) (text string, left []*Tool) {
	var declared []member
	used := len(interfaceOf([]member{{Tool: new(Tool), text: unknownResult}}))
	servers := map[string]bool{}
	for _, t := range tools {
		m := member{Tool: t}
		m.named, m.text = t.declaration()
		m.text = docComment(beginning(t.about()), "  ") + strings.TrimPrefix(m.text, docComment(t.about(), "  "))
		size := len(m.named) + len(m.text)
		if !servers[t.Server] {
			size += len(serverLine(t.Server))
		}
		if used+size > room {
			left = append(left, t)
			continue
		}
		used += size
		servers[t.Server] = true
		declared = append(declared, m)
	}
	if len(declared) == 0 {
		return "", left
	}
	return interfaceOf(declared), left
}

// A member is a tool of the interface, as text, with the types that are declared for it.
type member struct {
	*Tool
	named, text string
}

func interfaceOf(list []member) string {
	list = slices.SortedFunc(slices.Values(list), func(a, b member) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name))
	})
	var types, members strings.Builder
	server, unknown := "", false
	for i, m := range list {
		if i > 0 && list[i-1].Name == m.Name && list[i-1].Server == m.Server {
			continue
		}
		if i == 0 || m.Server != server {
			server = m.Server
			members.WriteString(serverLine(server))
		}
		unknown = unknown || strings.HasSuffix(m.text, unknownResult)
		types.WriteString(m.named)
		members.WriteString(m.text)
	}
	head := ""
	if unknown {
		head = contentTypes
	}
	return head + types.String() + "interface Codemode {\n" + members.String() + "}\n\ndeclare const codemode: Codemode;\n"
}

func serverLine(server string) string {
	return fmt.Sprintf("  // %s\n", strings.ReplaceAll(comment(server), "\n", " "))
}

// briefRunes is how much of a description stands in [Brief].
const briefRunes = 160

// beginning is the first sentence of a description, and those after it that fit.
func beginning(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > briefRunes {
		text = string(runes[:briefRunes])
		if at := strings.LastIndex(text, ". "); at > 0 {
			return text[:at+1]
		}
		return text + "…"
	}
	return text
}

// Signature returns the line of [Declarations] that declares the tool, without
// its description and the types it refers to.
func (t *Tool) Signature() string {
	return strings.TrimSpace(t.declares().line)
}

// declared is what [declare] returns for a tool of a catalogue, made once.
type declared struct {
	once               sync.Once
	named, about, line string
}

func (t *Tool) declares() *declared {
	d := t.declared
	if d == nil { // a Tool that never was in a catalogue
		d = new(declared)
	}
	d.once.Do(func() { d.named, d.about, d.line = declare(t) })
	return d
}

func (t *Tool) declaration() (named, member string) {
	d := t.declares()
	if t.learned != nil {
		if text := t.learned.text.Load(); text != nil {
			if head, ok := strings.CutSuffix(d.line, unknownResult); ok {
				return d.named, d.about + head + "Promise<" + *text + ">; // learned from its first result; the server declares no type\n"
			}
		}
	}
	return d.named, d.about + d.line
}

// unknownResult ends the declaration of a tool without an output schema, contentTypes says what that is.
const (
	unknownResult = "Promise<" + contentType + ">;\n"
	contentType   = "string | object | Block[]"
	contentTypes  = "/** A tool without an output schema gives its text, parsed if that is a JSON object or array; else its content blocks. */\n" +
		"interface Block { type: string; text?: string }\n\n"
)

// declare returns the named types of a tool, what its server says about it, and its member of the interface.
func declare(t *Tool) (named, comment, line string) {
	w := &typeWriter{tool: t.Name, names: map[string]string{}, taken: map[string]int{}, anchors: map[string]map[string]any{}}
	args := w.arguments(t)
	result := contentType
	if len(t.Output) > 0 {
		result = "any" // nothing is known of it
		if root, order, err := decodeOrdered(t.Output); err == nil {
			w.root, w.order, w.part = root, order, "result"
			result = w.render(root, 1)
		}
	}
	w.finish()
	text := fmt.Sprintf("  %s(%s): Promise<%s>;\n", propertyName(t.Name), args, result)
	if len(text)+w.types.Len() > declarationMax || w.work > workMax {
		w.types.Reset()
		text = fmt.Sprintf("  %s(args: { [key: string]: unknown }): Promise<any>; // its schema is too long to be shown\n", propertyName(t.Name))
	}
	return w.types.String(), docComment(t.about(), "  "), text
}

// about is what the server says about the tool.
func (t *Tool) about() string { return cmp.Or(t.Description, t.Title) }

// arguments returns the parameter list of a tool.
func (w *typeWriter) arguments(t *Tool) string {
	root, order, err := decodeOrdered(t.Input)
	schema, ok := root.(map[string]any)
	if err != nil || !ok {
		return "args?: { [key: string]: unknown }"
	}
	w.root, w.order, w.part = root, order, "args"
	text := w.render(root, 1)
	if text == "unknown" {
		text = "{ [key: string]: unknown }"
	}
	if required, _ := schema["required"].([]any); len(required) == 0 && !needsArguments(schema) {
		return "args?: " + text
	}
	return "args: " + text
}

// needsArguments reports whether a schema that requires no property by itself
// may require some by other means.
func needsArguments(s map[string]any) bool {
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "minProperties"} {
		if s[key] != nil {
			return true
		}
	}
	return false
}

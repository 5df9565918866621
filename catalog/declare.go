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
	tools = slices.SortedFunc(slices.Values(tools), func(a, b *Tool) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name))
	})
	var types, members strings.Builder
	server := ""
	for i, t := range tools {
		if i > 0 && tools[i-1].Name == t.Name && tools[i-1].Server == t.Server {
			continue
		}
		if i == 0 || t.Server != server {
			server = t.Server
			fmt.Fprintf(&members, "  // %s\n", strings.ReplaceAll(comment(server), "\n", " "))
		}
		named, member := t.declaration()
		types.WriteString(named)
		members.WriteString(member)
	}
	return types.String() + "interface Codemode {\n" + members.String() + "}\n\ndeclare const codemode: Codemode;\n"
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

// unknownResult ends the declaration of a tool without an output schema.
const unknownResult = "Promise<any>;\n"

// declare returns the named types of a tool, what its server says about it, and its member of the interface.
func declare(t *Tool) (named, comment, line string) {
	w := &typeWriter{tool: t.Name, names: map[string]string{}, taken: map[string]int{}, anchors: map[string]map[string]any{}}
	args := w.arguments(t)
	result := "any" // nothing is known of it
	if len(t.Output) > 0 {
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
	about := t.Description
	if about == "" {
		about = t.Title
	}
	return w.types.String(), docComment(about, "  "), text
}

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

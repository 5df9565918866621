package jsonschema

import (
	"fmt"
	"strings"
	"unicode"
)

// descriptionMax bounds the description of a property. That of a tool is shown whole.
const descriptionMax = 600

// largestSafe is the largest integer that a JavaScript number holds exactly.
const largestSafe = "9007199254740991"

func description(s map[string]any) string {
	d, _ := s["description"].(string)
	if d == "" {
		d, _ = s["title"].(string)
	}
	return cut(d, descriptionMax)
}

// propertyComment is a property's description with the constraints that a type cannot express.
func propertyComment(s map[string]any) string {
	var facts []string
	for _, k := range []struct{ key, word string }{
		{"format", ""}, {"pattern", "matches "},
		{"minimum", ">= "}, {"exclusiveMinimum", "> "}, {"maximum", "<= "}, {"exclusiveMaximum", "< "},
		{"multipleOf", "multiple of "}, {"minLength", "min length "}, {"maxLength", "max length "},
		{"minItems", "min items "}, {"maxItems", "max items "}, {"default", "default "},
	} {
		v, ok := s[k.key]
		if !ok {
			continue
		}
		text := literal(v)
		if strings.TrimPrefix(text, "-") == largestSafe {
			continue // what schema libraries write for every integer
		}
		if str, ok := v.(string); ok && k.key != "default" {
			text = cut(str, 60)
		}
		facts = append(facts, k.word+text)
	}
	if s["type"] == "integer" {
		facts = append([]string{"integer"}, facts...)
	}
	if s["deprecated"] == true {
		facts = append(facts, "deprecated")
	}
	about := description(s)
	if len(facts) == 0 {
		return about
	}
	if about == "" {
		return strings.Join(facts, ", ")
	}
	return fmt.Sprintf("%s (%s)", strings.TrimRight(about, " \n."), strings.Join(facts, ", "))
}

// DocComment returns the text as a comment in front of a declaration, "" for no text.
func DocComment(text, pad string) string {
	text = Comment(text)
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return pad + "/** " + text + " */\n"
	}
	var b strings.Builder
	b.WriteString(pad + "/**\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight(pad+" * "+line, " ") + "\n")
	}
	b.WriteString(pad + " */\n")
	return b.String()
}

// Comment escapes an untrusted text for a comment: the text cannot end the comment, and invisible characters and
// those that change the direction of text appear as their numbers.
func Comment(text string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n") {
		switch {
		case r == '\n' || r == ' ':
			b.WriteRune(r)
		case r == '\t':
			b.WriteString("  ")
		case r == '\u2028' || r == '\u2029' || !unicode.IsGraphic(r) ||
			unicode.In(r, unicode.Zs, unicode.Variation_Selector):
			fmt.Fprintf(&b, `\u{%X}`, r)
		default:
			b.WriteRune(r)
		}
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(b.String(), "*/", `*\/`)), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

package openapi

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// topMembers gives the members of an object that is valid JSON. It does not look into the values.
func topMembers(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		depth, start, name := 0, 0, ""
		for i := 0; i < len(object); i++ {
			switch object[i] {
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 && start > 0 {
					yield(name, object[start:i])
					return
				}
			case ',':
				if depth == 1 {
					if !yield(name, object[start:i]) {
						return
					}
					start = 0
				}
			case '"':
				end := strictjson.EndOfString(object, i)
				if depth == 1 && start == 0 {
					name = unquoted(object[i:end])
					for end < len(object) && object[end] != ':' {
						end++
					}
					start = end + 1
				}
				i = end - 1
				if depth == 1 && start == end+1 {
					i = end
				}
			}
		}
	}
}

// unquoted returns the text of a JSON string, which may be cut; "" for anything else.
func unquoted(raw []byte) string {
	i := 0
	for i < len(raw) && strings.IndexByte(" \t\r\n", raw[i]) >= 0 {
		i++
	}
	if i == len(raw) || raw[i] != '"' {
		return ""
	}
	end := strictjson.EndOfString(raw, i)
	quoted := raw[i:end]
	if end == len(raw) && (end-i < 2 || raw[end-1] != '"') { // cut: without what may be half an escape
		quoted = append(append([]byte{}, quoted[:max(len(quoted)-12, 1)]...), '"')
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil && text == nil {
		return ""
	}
	return string(text)
}

// cut returns a copy of the beginning of a text, at most that many bytes.
func cut(s string, most int) string {
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	return strings.Clone(s)
}

// topNames are the members of a document that are kept to its end: they describe the API as a whole.
var topNames = []string{"openapi", "swagger", "info", "servers", "host", "basePath", "schemes", "consumes", "produces",
	"securityDefinitions"}

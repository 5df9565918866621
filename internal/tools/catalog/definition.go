package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// definition is the definition of a tool, in a good order for readers.
func definition(t *Tool) json.RawMessage {
	whole := struct {
		Name        string          `json:"name"`
		Title       string          `json:"title,omitempty"`
		Description string          `json:"description,omitempty"`
		Input       json.RawMessage `json:"inputSchema,omitempty"`
		Output      json.RawMessage `json:"outputSchema,omitempty"`
		Annotations json.RawMessage `json:"annotations,omitempty"`
		Document    string          `json:"document,omitempty"` // that has the rest
	}{t.Raw, t.Title, t.Description, t.Input, t.Output, t.Annotations, ""}
	if t.Source != nil { // which has the words
		whole.Title, whole.Description, whole.Document = "", "", t.Source.Document()
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(whole) != nil { // a schema that is not JSON
		return json.RawMessage("null")
	}
	return bytes.Clone(bytes.TrimSpace(b.Bytes())) // a buffer has room for more
}

// ServerIdentity identifies a server by its entry in the configuration, and not by what it says about itself: by its
// name and by what is started or reached. What else the entry says, such as times, variables, headers and powers, is
// not a part of it.
func ServerIdentity(name string, entry json.RawMessage) string {
	var e struct {
		Command   any    `json:"command"` // text, or a list with the arguments
		Args      []any  `json:"args"`
		Dir       string `json:"cwd"`
		HTTPURL   string `json:"httpUrl"`
		URL       string `json:"url"`
		ServerURL string `json:"serverUrl"`
		OpenAPI   string `json:"openapi"`
		BaseURL   string `json:"baseURL"`
		CLI       *struct {
			Command any `json:"command"`
			Tools   map[string]struct {
				Args  any `json:"args"`
				Stdin any `json:"stdin"`
			} `json:"tools"`
		} `json:"cli"`
	}
	if json.Unmarshal(entry, &e) != nil { // no entry of a file
		return digest(name, string(entry))
	}
	line, ok := e.Command.([]any)
	if !ok && e.Command != nil {
		line = []any{e.Command}
	}
	reached := cmp.Or(e.HTTPURL, e.URL, e.ServerURL)
	if e.OpenAPI != "" {
		reached = "openapi " + e.BaseURL // the description is no part of it: what it says is pinned by tool
	}
	if e.CLI != nil && e.Command == nil {
		lines, _ := json.Marshal(e.CLI)
		reached = "cli " + string(lines)
	}
	whole, _ := json.Marshal([]any{append(line, e.Args...), e.Dir, reached})
	return digest(name, string(whole))
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// difference lists the lines in which two definitions differ. Each line is one value with its JSON Pointer, so that
// the old and the new value are next to each other.
func difference(before, after json.RawMessage) []string {
	was, is := flat(before), flat(after)
	var lines []string
	places := maps.Clone(was)
	maps.Copy(places, is)
	for _, place := range slices.Sorted(maps.Keys(places)) {
		a, inA := was[place]
		b, inB := is[place]
		if inA && inB && a == b {
			continue
		}
		if inA {
			lines = append(lines, fmt.Sprintf("- %s: %s", place, a))
		}
		if inB {
			lines = append(lines, fmt.Sprintf("+ %s: %s", place, b))
		}
	}
	return lines
}

// flat lists the scalar values of a JSON text by their places.
func flat(raw json.RawMessage) map[string]string {
	values := map[string]string{}
	var walk func(place string, v any)
	walk = func(place string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				walk(place+"/"+key, inner)
			}
			if len(v) == 0 {
				values[place] = "{}"
			}
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s/%d", place, i), inner)
			}
			if len(v) == 0 {
				values[place] = "[]"
			}
		default:
			text, _ := json.Marshal(v)
			values[cmp.Or(place, "/")] = string(text)
		}
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) == nil {
		walk("", v)
	}
	return values
}

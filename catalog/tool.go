package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// A Tool is one tool of one upstream. It must not change once it is in a [Catalog].
type Tool struct {
	Server string // the upstream's name in our configuration
	Raw    string // the tool's name as the upstream spells it
	Name   string // the canonical name, set by [Catalog.Replace]

	Title       string // these two are the upstream's words, and claims only
	Description string

	Input       json.RawMessage // JSON Schema of the arguments; nil or unusable accepts any object
	Output      json.RawMessage // JSON Schema of the result; nil if the upstream says nothing
	Annotations json.RawMessage // the upstream's hints, an object; nil if there are none
	Hints       map[string]any  // Annotations, decoded; set by [Catalog.Replace]

	// Digest identifies the definition: it changes when anything above that the
	// upstream controls changes. [Catalog.Replace] sets it.
	Digest string

	compiled *jsonschema.Schema // what Validate needs, set by Replace
	declared *declared          // what Declarations needs, set by Replace
	outputs  *outputs           // what ValidateResult needs, set by Replace
	learned  *learned           // what is known of results without a schema, set by Replace
}

// digest is the SHA-256, in hexadecimal, of the canonical JSON of what the
// upstream says about the tool: keys sorted, no white space, so that a server
// that merely prints the same definition differently keeps its digest.
func (t *Tool) digest() string {
	b, err := json.Marshal(map[string]any{
		"name": t.Raw, "title": t.Title, "description": t.Description,
		"inputSchema": sorted(t.Input), "outputSchema": sorted(t.Output), "annotations": sorted(t.Annotations),
	})
	if err != nil { // cannot happen: everything in it was decoded from JSON or is a string
		panic("catalog: digest of " + t.Raw + ": " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// sorted decodes raw so that encoding it again sorts its keys. Numbers keep
// their digits. What is not JSON stands for itself as a string.
func sorted(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	v, err := jsonschema.Decode(raw)
	if err != nil {
		return string(raw)
	}
	return v
}

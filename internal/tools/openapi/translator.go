package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"unicode"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// The bounds of what one operation's schema reaches. Types beyond them are unknown.
const (
	typesMax      = 2000
	nestedMax     = 28        // schemas within schemas; package jsonschema takes 64 levels of JSON
	inputMax      = 900 << 10 // a longer schema would not be checked
	outputMax     = 64 << 10
	outputDepth   = 2       // types of types of a result that are shown
	describedText = 2 << 10 // bytes of a description within a schema
	resultText    = 120     // the same within that of a result
	shortOutput   = 6 << 10 // bytes of a result's schema, if it can be so short with less depth
)

// A translator writes schemas of a description as JSON Schema 2020-12: it leaves out what is only about documentation,
// and what is not in the form that its keyword needs.
type translator struct {
	doc   *Document
	input bool // of arguments: without what only the server sets; else of results
	out   []byte
	refs  []string
	err   error

	hidden map[string]bool // properties of the object that the next schema is a part of, which the server sets
	looked int             // bytes of components that were looked at, see follow
}

// lookedMax bounds the bytes of components that are looked at for one operation. A schema may refer to one many times,
// and that one to others: the work can grow exponentially with the text.
const lookedMax = 16 << 20

var errLong = errors.New("its types are too long, or refer to each other too often")

// follow is [Document.follow] within lookedMax.
func (t *translator) follow(v strictjson.Value) (strictjson.Value, error) {
	t.looked += 200 // about what a look costs
	if ref := word(v, "$ref"); ref != "" {
		t.looked += t.doc.length(ref)
	}
	if t.looked > lookedMax {
		return strictjson.Value{}, errLong
	}
	return t.doc.follow(v)
}

// hides reports whether a property is not for this direction.
func (t *translator) hides(property strictjson.Value) bool {
	return t.input && is(property, "readOnly") || !t.input && is(property, "writeOnly")
}

// hiddenIn are the properties of an object that are not for this direction, where one part of the object says so and
// another may require them. It takes hidden, what the whole that v is a part of says.
func (t *translator) hiddenIn(v strictjson.Value) map[string]bool {
	all := t.hidden
	if _, ok := v.Member("allOf"); ok {
		all = maps.Clone(all)
		if all == nil {
			all = map[string]bool{}
		}
		t.hiddenParts(v, all, 0)
	}
	return all
}

func (t *translator) hiddenParts(v strictjson.Value, all map[string]bool, depth int) {
	v, err := t.follow(v)
	if err != nil || depth > refsMax {
		return
	}
	properties, _ := v.Member("properties")
	for name, property := range properties.Members() {
		if t.hides(property) {
			all[name] = true
		}
	}
	parts, _ := v.Member("allOf")
	for _, p := range parts.Elements() {
		t.hiddenParts(p, all, depth+1)
	}
}

// extended reports whether another schema adds properties to those of an object. One that says it has no others than
// its own would then have none of that schema; nobody means that.
func (t *translator) extended(v strictjson.Value) bool {
	if _, ok := v.Member("$ref"); ok {
		return true
	}
	parts, _ := v.Member("allOf")
	for _, p := range parts.Elements() {
		_, ref := p.Member("$ref")
		_, properties := p.Member("properties")
		_, nested := p.Member("allOf")
		if ref || properties || nested {
			return true
		}
	}
	return false
}

// siblings reports whether a reference may have other keywords beside it, as since 3.1.
func (d *Document) siblings() bool {
	return !d.swagger && !strings.HasPrefix(d.Format, "OpenAPI 3.0")
}

// definitionName is the name of a component among the definitions of a schema: its own, if that is an identifier.
func definitionName(ref string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(ref, "#/components/schemas/"), "#/definitions/")
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r < 0x80 && (unicode.IsDigit(r) || unicode.IsLetter(r)) {
			return r
		}
		return '_'
	}, name)
	if plain != name {
		sum := sha256.Sum256([]byte(ref))
		plain += "_" + hex.EncodeToString(sum[:3])
	}
	return plain
}

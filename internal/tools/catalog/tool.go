package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// A Tool is one tool of one upstream. It must not change once it is in a [Catalog].
type Tool struct {
	Name   string `json:"name"`   // the canonical name, set by [Catalog.Replace]
	Server string `json:"server"` // the upstream's name in our configuration
	Raw    string `json:"tool"`   // the tool's name as the upstream spells it

	// Withheld says why programs cannot call the tool, as the end of a sentence; "" says that they can. Twins is set by
	// [Named]: other tools of the server have the same [call.Name].
	Withheld string `json:"-"`
	Twins    bool   `json:"-"`

	Title       string `json:"title,omitempty"` // these two are the upstream's words, and claims only
	Description string `json:"description,omitempty"`

	// Input and Output are JSON Schemas of the arguments and of the result. A nil or unusable Input accepts any object;
	// a nil Output means that the upstream says nothing. Annotations are the upstream's hints, an object; nil if there
	// are none.
	// [Tool.InputSchema] and [Tool.OutputSchema] are these, or those of Source.
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Hints       map[string]any  `json:"-"` // Annotations, decoded; set by [Catalog.Replace]

	// View is the ui:// resource that shows results of the tool, for hosts of MCP Apps, and Visibility says who may call
	// the tool there: the model, the view, or both if it is empty. The definition has neither: they decide nothing.
	View       string   `json:"-"`
	Visibility []string `json:"-"`

	// Source has the schemas of a tool of a large description; nil: Input and Output are they.
	Source Source `json:"-"`

	// Digest identifies the definition: it changes when the upstream changes any field above.
	// [Catalog.Replace] sets it.
	Digest string `json:"-"`

	// [Catalog.Replace] sets these: the compiled schemas, the declaration, and the learned type of results without a
	// schema.
	input, output *compiled
	declared      *declared
	learned       *learned
}

// A compiled compiles a schema once, when it is first asked for.
type compiled struct {
	once   sync.Once
	schema *jsonschema.Schema
}

func (c *compiled) get(compile func() *jsonschema.Schema) *jsonschema.Schema {
	if c == nil { // a Tool that never was in a catalogue
		return compile()
	}
	c.once.Do(func() { c.schema = compile() })
	return c.schema
}

func (t *Tool) compiledInput(room *int) *jsonschema.Schema {
	return t.input.get(func() *jsonschema.Schema { return jsonschema.CompileArguments(t.InputSchema(), room) })
}

func (t *Tool) compiledOutput(room *int) *jsonschema.Schema {
	return t.output.get(func() *jsonschema.Schema { return jsonschema.Compile(t.OutputSchema(), room) })
}

// A Source makes the schemas of a tool when somebody looks at it. Many goroutines may call its methods.
type Source interface {
	Input() json.RawMessage  // nil accepts any object
	Output() json.RawMessage // nil says nothing
	Text() json.RawMessage   // the definition in words, for those who compare it with an earlier one
	Digest() string          // changes with what the methods above return
	Document() string        // identifies the document of this version that has the tool, see [Pins.Texts]
}

// InputSchema is the JSON Schema of the arguments; nil is none.
func (t *Tool) InputSchema() json.RawMessage {
	if t.Source != nil {
		return t.Source.Input()
	}
	return t.Input
}

// OutputSchema is the JSON Schema of the result; nil is none.
func (t *Tool) OutputSchema() json.RawMessage {
	if t.Source != nil {
		return t.Source.Output()
	}
	return t.Output
}

// ViewScheme begins the URIs of views.
const ViewScheme = "ui://"

// Definition is the Digest that the tool gets in a [Catalog]: the SHA-256, in hexadecimal, of the definition as JSON
// with sorted keys and without white space. Another layout of the same definition has the same digest. With a Source,
// it is that of its parts.
func (t *Tool) Definition() string {
	if t.Source != nil {
		sum := sha256.Sum256([]byte(strings.Join(
			[]string{t.Raw, t.Title, t.Description, string(t.Annotations), t.Source.Digest()}, "\x00")))
		return hex.EncodeToString(sum[:])
	}
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

// readHints decodes the annotations; it ignores anything but an object.
func (t *Tool) readHints() {
	t.Hints = nil
	_ = json.Unmarshal(t.Annotations, &t.Hints)
}

// sorted decodes raw, so that encoding it again sorts its keys. Numbers keep their digits. A text that is not JSON
// becomes a string.
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

// Signature returns the line of [Declarations] that declares the tool, without its description and named types.
func (t *Tool) Signature() string {
	return strings.TrimSpace(t.declares().line)
}

// describedMax bounds the declaration of a tool with a Source, in bytes: it is some 1,500 tokens.
const describedMax = 5000

// declared has the result of [jsonschema.Declare] for a tool of a catalogue.
type declared struct {
	once               sync.Once
	named, about, line string

	takesOnce sync.Once
	takes     string // see [jsonschema.Takes]
}

// takes returns the type of the arguments on one line.
func (t *Tool) takes() string {
	d := t.known()
	d.takesOnce.Do(func() { d.takes = jsonschema.Takes(t.InputSchema()) })
	return d.takes
}

func (t *Tool) known() *declared {
	if t.declared == nil { // a Tool that was never in a catalogue
		return new(declared)
	}
	return t.declared
}

func (t *Tool) declares() *declared {
	d := t.known()
	d.once.Do(func() {
		most := math.MaxInt
		if t.Source != nil {
			most = describedMax
		}
		d.named, d.about, d.line = jsonschema.Declare(t.Name, t.InputSchema(), t.OutputSchema(), t.about(), most)
	})
	return d
}

func (t *Tool) declaration() (named, member string) {
	d := t.declares()
	if t.learned != nil {
		if text := t.learned.text.Load(); text != nil {
			if head, ok := strings.CutSuffix(d.line, jsonschema.UnknownResult); ok {
				return d.named, d.about + head + "Promise<" + *text + ">; " +
					"// learned from its first results; the server declares no type\n"
			}
		}
	}
	return d.named, d.about + d.line
}

// about is the description of the tool.
func (t *Tool) about() string { return cmp.Or(t.Description, t.Title) }

// saysNothing reports whether the tool is known to have no output schema.
func (t *Tool) saysNothing() bool { return t.Source == nil && len(t.Output) == 0 }

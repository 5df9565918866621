package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// written are the parts of the schema that structs say, by their JSON Pointers. The rest is written by hand in
// config/schema.json: rules with conditions, and servers as other clients have them.
var written = map[string]reflect.Type{
	"/$defs/configuration":             reflect.TypeFor[config.Config](),
	"/$defs/limits":                    reflect.TypeFor[profiles.Limits](),
	"/$defs/profile/properties/ask":    reflect.TypeFor[profiles.Asking](),
	"/$defs/profile/properties/redact": reflect.TypeFor[profiles.Redact](),
	"/$defs/remember":                  reflect.TypeFor[call.Remember](),
	"/$defs/script":                    reflect.TypeFor[config.Script](),
}

// byHand are the keys of the file that no struct has.
var byHand = []string{"$schema", "mcpServers", "servers", "inputs", "limits", "outputValidation"}

// Schema is config/schema.json, the JSON Schema of the configuration file, with the parts that structs say written
// anew.
func Schema() (string, error) {
	root, err := strictjson.Parse(config.Schema(), strictjson.Options{})
	if err != nil {
		return "", err
	}
	folder, err := Root()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte((&schema{folder, map[string]string{}}).anew(root, "")), "", "  "); err != nil {
		return "", err
	}
	return b.String() + "\n", nil
}

type schema struct {
	root     string            // the folder of the repository
	comments map[string]string // of fields: folder.Type.Field
}

// anew writes a value of the schema again.
func (g *schema) anew(v strictjson.Value, at string) string {
	var all []string
	switch of := written[at]; {
	case of != nil:
		for name, child := range member(v, "properties").Members() {
			if of == reflect.TypeFor[config.Config]() && slices.Contains(byHand, name) {
				all = append(all, pair(name, child.Source()))
			}
		}
		text := described(description(v), g.object(of, all))
		if not, ok := v.Member("not"); ok { // two keys that only one of may be there
			text = strings.TrimSuffix(text, "}") + ", " + pair("not", not.Source()) + "}"
		}
		return text
	case v.Kind() == strictjson.Object:
		for name, child := range v.Members() {
			all = append(all, pair(name, g.anew(child, strictjson.AppendToken(at, name))))
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	return v.Source()
}

// pair is a member of an object.
func pair(name, value string) string { return quoted(name) + ": " + value }

func quoted(text string) string { return string(strictjson.AppendString(nil, text)) }

// described puts a description into a schema.
func described(says, text string) string {
	if says == "" {
		return text
	}
	return "{" + pair("description", quoted(says)) + ", " + text[1:]
}

// object is the schema of a struct; keys are members that it has besides.
func (g *schema) object(of reflect.Type, keys []string) string {
	var need []string
	for _, s := range settings.Specs(of) {
		if s.Name != "*" && s.Name != "" {
			keys = append(keys, pair(s.Name, described(g.comment(s), g.value(s, s.Type))))
		}
		if s.Has("need") {
			need = append(need, quoted(s.Name))
		}
	}
	text := `{"type": "object", "properties": {` + strings.Join(keys, ", ") + "}"
	if need != nil {
		text += `, "required": [` + strings.Join(need, ", ") + "]"
	}
	if more := ownSchema(of); more != "" {
		text += ", " + more
	}
	return text + `, "additionalProperties": false}`
}

// ownSchema is what a type says of its schema.
func ownSchema(of reflect.Type) string {
	if x, ok := reflect.Zero(of).Interface().(interface{ Schema() string }); ok {
		return x.Schema()
	}
	return ""
}

var (
	structLine = regexp.MustCompile(`^type (\w+) struct`)
	keyLine    = regexp.MustCompile("^\t(\\w+).*`key:[^`]*`(?: +// (.*))?$")
)

// comment is that of the field of a key, up to an empty line: what comes after it is for Go.
func (g *schema) comment(s *settings.Spec) string {
	_, folder, _ := strings.Cut(s.In.PkgPath(), "/codemode/")
	name := folder + "." + s.In.Name() + "."
	if says, ok := g.comments[name+s.Go]; ok {
		return says
	}
	files, _ := filepath.Glob(filepath.Join(g.root, folder, "*.go"))
	for _, path := range files {
		text, _ := os.ReadFile(path)
		of, says := "", ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if m := structLine.FindStringSubmatch(line); m != nil {
				of = m[1]
			}
			if m := keyLine.FindStringSubmatch(line); m != nil {
				says, _, _ = strings.Cut(says, "\n\n")
				g.comments[folder+"."+of+"."+m[1]] = strings.Join(strings.Fields(says+" "+m[2]), " ")
			}
			if more, ok := strings.CutPrefix(line, "\t//"); ok {
				says += strings.TrimSpace(more) + "\n"
			} else {
				says = ""
			}
		}
	}
	return g.comments[name+s.Go]
}

// value is the schema of a value of a type.
func (g *schema) value(s *settings.Spec, of reflect.Type) string {
	all, form := s.Text("schema"), s.Text("form")
	ref := func(definition string) string { return `{"$ref": "#/$defs/` + definition + `"}` }
	switch {
	case all != "":
		return strings.ReplaceAll(all, `"#`, `"#/$defs/`)
	case reflect.PointerTo(of).Implements(reflect.TypeFor[settings.Readable]()) && ownSchema(of) != "":
		return ownSchema(of)
	case of == reflect.TypeFor[time.Duration]() && s.Text("min") == "0":
		return `{"type": "string", "pattern": "^[-+]?([0-9.]+[a-zµμ]+)+$|^0$"}`
	case of == reflect.TypeFor[time.Duration]():
		return ref("duration")
	}
	switch of.Kind() {
	case reflect.Pointer:
		return g.value(s, of.Elem())
	case reflect.Bool:
		return `{"type": "boolean"}`
	case reflect.Int, reflect.Int64:
		if form != "" {
			return ref(form)
		}
		return fmt.Sprintf(`{"type": "integer", "minimum": %d, "maximum": %d}`, s.Bound("min", 1), s.Bound("max", 1<<31))
	case reflect.Map, reflect.Slice:
		return g.several(s, of)
	}
	switch {
	case len(s.Words()) > 0:
		return `{"enum": ["` + strings.Join(s.Words(), `", "`) + `"]}`
	case of.Kind() == reflect.Struct && len(settings.Specs(of)) > 0:
		return g.structure(s, of)
	case settings.Forms[form].Schema != "":
		return settings.Forms[form].Schema
	}
	return ref("text")
}

func (g *schema) structure(s *settings.Spec, of reflect.Type) string {
	for at, known := range written {
		if known == of && strings.Count(at, "/") == 2 {
			return `{"$ref": "#` + at + `"}`
		}
	}
	text := g.object(of, nil)
	if least := s.Bound("min", 0); least > 0 {
		text = strings.TrimSuffix(text, "}") + `, "minProperties": ` + strconv.Itoa(int(least)) + "}"
	}
	var others []string
	for _, x := range settings.Specs(of) {
		switch alone := x.Text("alone"); alone {
		case "":
		case "text":
			others = append(others, g.value(x, x.Type))
		default:
			others = append([]string{`{"const": ` + alone + "}"}, others...)
		}
	}
	if others != nil {
		return `{"anyOf": [` + strings.Join(append(others, text), ", ") + "]}"
	}
	return text
}

// several is the schema of a list, or of an object with a member for each of something.
func (g *schema) several(s *settings.Spec, of reflect.Type) string {
	each := g.value(s.Element(), of.Elem())
	text, noun, elements := `{"type": "array"`, "Items", `, "items": `
	if s.Has("by") {
		text, noun, elements = `{"type": "object"`, "Properties", `, "additionalProperties": `
	}
	for _, tag := range []string{"min", "max"} {
		if s.Has(tag) {
			text += fmt.Sprintf(`, "%s%s": %d`, tag, noun, s.Bound(tag, 0))
		}
	}
	switch by := s.Text("by"); {
	case by != "" && by != "named":
		text += `, "propertyNames": ` + settings.Forms[by].Schema
	case s.Has("words"):
		text += `, "uniqueItems": true`
	}
	if text += elements + each + "}"; s.Has("single") {
		return `{"anyOf": [` + each + ", " + text + "]}"
	}
	return text
}

package reference

import (
	"cmp"
	"fmt"
	"log/slog"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/sandbox"
)

// parts are the definitions of the schema that have a section of their own, in this order.
var parts = []struct{ definition, title string }{
	{"server", "A server"},
	{"profile", "A profile"},
	{"denyRule", "A rule of a denylist"},
	{"askRule", "A rule of an asklist"},
	{"allowRule", "A rule of an allowlist"},
	{"condition", "A condition"},
	{"remember", "What may be remembered"},
	{"limits", "Limits"},
	{"overlay", "An overlay"},
	{"script", "A saved program"},
}

// values are the definitions that are forms of a value, with the words for them.
var values = []struct{ definition, form, example string }{
	{"duration", "a length of time with its unit: `ns`, `us`, `ms`, `s`, `m`, `h`", "`90s`, `1h30m`"},
	{"size", "bytes: a number, or one with `B`, `KiB`, `MiB`, `GiB`, `KB`, `MB` or `GB`", "`65536`, `64MiB`"},
	{"capacity", "as a size, at least 1 MiB", "`512MiB`"},
	{"capacityCount", "a number, at least 8", "`4096`"},
	{"profileName", "the name of a profile: 1 to 32 letters, digits and `_`", "`careful`"},
	{"pattern", "a pattern over tool names: `*` any characters, `?` one, `[a-z]`, `{a,b}`", "`github__{get,list}_*`"},
	{"text", "a string that is not empty", "`notes`"},
	{"names", "a list of texts, not empty and none twice", "`[\"careful\"]`"},
	{"outputValidation", "`off`, `warn` or `strict`", "`strict`"},
}

// Configuration is the page of every key of the configuration file, from its JSON Schema.
func Configuration() (string, error) {
	text, err := Schema()
	if err != nil {
		return "", err
	}
	schema, err := strictjson.Parse(text, strictjson.Options{})
	if err != nil {
		return "", err
	}
	s := keys{definitions: member(schema, "$defs")}
	var b strings.Builder
	b.WriteString("# Configuration keys\n\n" + generated +
		`Every key of the configuration file, from the JSON Schema that ` + "`codemode profiles schema`" + ` prints. The
[guide](../configuration.md) says which files there are, what the environment sets, and where secrets come from.
Comments and trailing commas are allowed; an unknown key is an error. In a path, NAME stands for a name that you choose,
and ` + "`[]`" + ` for each element of a list.

## The file

`)
	b.WriteString(s.top().String())
	for name, of := range member(s.definition("configuration"), "properties").Members() {
		if rows := s.rows(nil, name, of, true); len(rows) > 1 {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", name, prose(description(of)), append(table{keyHead}, rows[1:]...))
		}
	}
	for _, p := range parts {
		of := s.definition(p.definition)
		fmt.Fprintf(&b, "\n## %s\n\n", p.title)
		if says := description(of); says != "" {
			b.WriteString(prose(says) + "\n\n")
		}
		s.part = p.definition
		b.WriteString(append(table{keyHead}, s.members(nil, "", of)...).String())
	}
	b.WriteString("\n## Values\n\n")
	forms := table{{"Value", "What it is", "Example"}}
	for _, v := range values {
		forms = append(forms, []string{anchor("value-"+v.definition) + v.definition, v.form, v.example})
	}
	b.WriteString(forms.String())
	return b.String(), s.unsaid()
}

var keyHead = []string{"Key", "Value", "If left out", "What it says"}

// keys reads the schema. used are the definitions that the page names; part is the one that the rows are of, if any.
type keys struct {
	definitions strictjson.Value
	used        map[string]bool
	part        string
}

func member(v strictjson.Value, name string) strictjson.Value {
	found, _ := v.Member(name)
	return found
}

func text(v strictjson.Value) string {
	if v.Kind() != strictjson.String {
		return ""
	}
	return v.Text()
}

func description(v strictjson.Value) string { return text(member(v, "description")) }

// definition is one of the definitions. That of a server is where the schema has it.
func (s *keys) definition(name string) strictjson.Value {
	if name == "server" {
		return member(member(s.definitions, "servers"), "additionalProperties")
	}
	return member(s.definitions, name)
}

// top lists the keys of the file, with a link to those below each.
func (s *keys) top() table {
	t := table{{"Key", "Value", "What it says"}}
	for name, of := range member(s.definition("configuration"), "properties").Members() {
		key := code(name)
		if len(s.rows(nil, name, of, true)) > 1 {
			key = fmt.Sprintf("[%s](#%s)", key, strings.ToLower(name))
		}
		t = append(t, []string{key, s.value(of), prose(cmp.Or(description(of), description(s.named(of))))})
	}
	return t
}

// named follows a reference.
func (s *keys) named(v strictjson.Value) strictjson.Value {
	if ref := text(member(v, "$ref")); ref != "" {
		return s.definition(path.Base(ref))
	}
	return v
}

// rows adds the row of one key, and those of the keys below it unless they have a section of their own.
func (s *keys) rows(t table, key string, of strictjson.Value, below bool) table {
	leftOut, says := leftOut(of)
	if s.part == "limits" {
		leftOut = limits()[key]
	}
	t = append(t, []string{s.cell(key), s.value(of), leftOut, prose(says)})
	if !below {
		return t
	}
	return s.members(t, key, of)
}

// cell names a key, and lets links lead to it: #evaluation.floor, #profile.unmatched.
func (s *keys) cell(key string) string {
	if s.part != "" {
		return anchor(s.part+"."+key) + code(key)
	}
	return anchor(key) + code(key)
}

// members adds rows for what stands below a key: in its object, in its list, in one of several forms.
func (s *keys) members(t table, key string, of strictjson.Value) table {
	if ref := text(member(of, "$ref")); ref != "" {
		return t
	}
	prefix := ""
	if key != "" {
		prefix = key + "."
	}
	for name, below := range member(of, "properties").Members() {
		if slices.ContainsFunc(t, func(row []string) bool { return row[0] == s.cell(prefix+name) }) {
			continue // it stands in several forms
		}
		t = s.rows(t, prefix+name, below, name != "when")
	}
	for _, way := range []string{"anyOf", "oneOf", "allOf"} {
		for _, form := range member(of, way).Elements() {
			t = s.members(t, key, form)
		}
	}
	if items := member(of, "items"); items.Kind() == strictjson.Object {
		t = s.members(t, key+"[]", items)
	}
	if others := member(of, "additionalProperties"); others.Kind() == strictjson.Object {
		t = s.members(t, prefix+"NAME", others)
	}
	return t
}

// value says which values a key takes.
func (s *keys) value(of strictjson.Value) string {
	ways := s.ways(of)
	for i, way := range ways {
		if slices.Index(ways, way) != i {
			ways[i] = ""
		}
	}
	return strings.Join(slices.DeleteFunc(ways, func(way string) bool { return way == "" }), ", ")
}

func (s *keys) ways(of strictjson.Value) (ways []string) {
	if ref := path.Base(text(member(of, "$ref"))); ref != "." {
		return []string{s.link(ref)}
	}
	if constant, ok := of.Member("const"); ok {
		return []string{literal(constant)}
	}
	for _, one := range member(of, "enum").Elements() {
		ways = append(ways, literal(one))
	}
	switch kind := text(member(of, "type")); kind {
	case "array":
		return append(ways, strings.TrimSuffix("list of "+strings.Join(s.ways(member(of, "items")), " or "), " of "))
	case "object":
		if others := member(of, "additionalProperties"); others.Kind() == strictjson.Object {
			return append(ways, strings.TrimSuffix("object of "+strings.Join(s.ways(others), " or "), " of "))
		}
		return append(ways, "object")
	case "boolean":
		return append(ways, "`true`", "`false`")
	case "integer":
		return append(ways, "number")
	case "":
		for _, way := range []string{"anyOf", "oneOf"} {
			for _, form := range member(of, way).Elements() {
				ways = append(ways, s.ways(form)...)
			}
		}
	default:
		ways = append(ways, kind)
	}
	return ways
}

func literal(v strictjson.Value) string {
	if s := text(v); s != "" {
		return code(s)
	}
	return code(v.Compact())
}

// link leads to the section of a definition, or to its row among the values.
func (s *keys) link(definition string) string {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	s.used[definition] = true
	if definition == "servers" {
		return "object of [servers](#a-server)"
	}
	for _, p := range parts {
		if p.definition == definition {
			words := strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(p.title, "A "), "An "))
			return fmt.Sprintf("[%s](#%s)", words, strings.ReplaceAll(strings.ToLower(p.title), " ", "-"))
		}
	}
	return fmt.Sprintf("[%s](#value-%s)", definition, definition)
}

// unsaid is an error if the schema has a definition that the page does not explain.
func (s *keys) unsaid() error {
	for name := range s.used {
		known := name == "servers"
		for _, p := range parts {
			known = known || p.definition == name
		}
		for _, v := range values {
			known = known || v.definition == name
		}
		if !known {
			return fmt.Errorf("the schema has a definition %s, for which package reference has no words", name)
		}
	}
	return nil
}

// leftOutSays finds in a description what holds if the key is left out: one to three words at the end of a sentence.
var leftOutSays = regexp.MustCompile(`(^|; |, |\. )(?:(\S+(?: [^\s,]+){0,2}) if left out|usually (\d+\w*))(, |\.|$)`)

// leftOut is what holds if a key is left out, as far as its description says so in a few words, and the description
// without them where they are a sentence of their own.
func leftOut(of strictjson.Value) (value, says string) {
	says = description(of)
	at := leftOutSays.FindStringSubmatchIndex(says)
	if at == nil {
		return "", says
	}
	part := leftOutSays.FindStringSubmatch(says)
	value = cmp.Or(part[2], part[3])
	if part[4] == "." || part[4] == "" {
		says = strings.TrimRight(says[:at[0]], ".;, ") + "." + says[at[1]:]
	}
	if strings.ContainsAny(value, "0123456789.") || value == "sub" || value == "groups" {
		return code(value), says
	}
	return strings.ToLower(value[:1]) + value[1:], says
}

// limits are those that hold if no file sets them.
func limits() map[string]string {
	kept, reply := inforce.NewRules(slog.New(slog.DiscardHandler), nil).Limits(nil, "")
	d := sandbox.DefaultLimits()
	number := func(n int) string { return code(strconv.Itoa(n)) }
	return map[string]string{
		"cpu": span(d.CPU), "wall": span(d.Wall), "call": span(hostfns.DefaultCallTimeout),
		"memory": inBytes(int(d.Memory)), "argumentBytes": inBytes(d.ArgumentBytes),
		"resultBytes":  inBytes(reply),
		"consoleBytes": inBytes(kept.ConsoleBytes) + "; " + inBytes(d.ConsoleBytes) + " where results are not kept",
		"programBytes": inBytes(d.ProgramBytes),
		"calls":        number(d.Calls), "inFlight": number(d.InFlight), "refusals": number(runs.DefaultRefusals),
	}
}

// span writes a duration as a configuration file does.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return code(text)
}

// inBytes writes a size as a configuration file does.
func inBytes(n int) string {
	if n%(1<<20) == 0 {
		return code(fmt.Sprintf("%dMiB", n>>20))
	}
	return code(fmt.Sprintf("%dKiB", n>>10))
}

func anchor(key string) string { return fmt.Sprintf("<a id=%q></a>", anchorOf(key)) }

func anchorOf(key string) string { return strings.NewReplacer("[]", "", "$", "").Replace(key) }

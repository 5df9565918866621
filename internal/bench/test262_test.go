package bench

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// A jsTest is one file of test262. What the fields mean is written in its
// INTERPRETING.md.
type jsTest struct {
	path     string // below test/
	source   string
	flags    []string
	features []string
	includes []string
	phase    string // of the error that the test has to end with; "" is none
	errType  string
}

// readTest reads a test with its metadata, a piece of YAML between /*--- and ---*/.
func readTest(dir fs.FS, path string) (*jsTest, error) {
	data, err := fs.ReadFile(dir, "test/"+path)
	if err != nil {
		return nil, err
	}
	t := &jsTest{path: path, source: string(data)}
	_, meta, ok := strings.Cut(t.source, "/*---")
	if ok {
		meta, _, ok = strings.Cut(meta, "---*/")
	}
	if !ok {
		return nil, fmt.Errorf("%s has no metadata", path)
	}
	meta = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(meta)
	t.flags, t.features, t.includes = metaList(meta, "flags"), metaList(meta, "features"), metaList(meta, "includes")
	if _, negative, ok := strings.Cut(meta, "\nnegative:"); ok {
		t.phase, t.errType = metaField(negative, "phase"), metaField(negative, "type")
	}
	return t, nil
}

// metaList reads `key: [a, b]`, over several lines or not, or a line for each as `- a`.
func metaList(meta, key string) []string {
	_, rest, ok := strings.Cut(meta, "\n"+key+":")
	if !ok {
		return nil
	}
	rest = strings.TrimLeft(rest, " ")
	if inside, ok := strings.CutPrefix(rest, "["); ok {
		inside, _, _ = strings.Cut(inside, "]")
		return strings.FieldsFunc(inside, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
	}
	var list []string
	for line := range strings.Lines(strings.TrimPrefix(rest, "\n")) {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			break
		}
		list = append(list, strings.TrimSpace(item))
	}
	return list
}

// metaField reads `  key: value` from the lines of a block.
func metaField(block, key string) string {
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (t *jsTest) has(flag string) bool { return slices.Contains(t.flags, flag) }

// The variants of a test.
const (
	sloppy = "sloppy"
	strict = "strict"
)

func (t *jsTest) variants() []string {
	switch {
	case t.has("onlyStrict"):
		return []string{strict}
	case t.has("noStrict"), t.has("raw"):
		return []string{sloppy}
	}
	return []string{sloppy, strict}
}

// A harness holds the files of test262's harness folder that were asked for.
type harness map[string]string

// declaration is a declaration at the top of a harness file that would end with
// the eval it is in.
var declaration = regexp.MustCompile(`(?m)^(const|let) `)

func readHarness(dir fs.FS) (harness, error) {
	names, err := fs.Glob(dir, "harness/*.js")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("there is no harness folder with JavaScript in it: is this a checkout of test262?")
	}
	h := harness{}
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		h[strings.TrimPrefix(name, "harness/")] = declaration.ReplaceAllString(string(data), "var ")
	}
	return h, nil
}

// text is what has to be evaluated before a test.
func (h harness) text(t *jsTest) (string, error) {
	if t.has("raw") {
		return "", nil
	}
	names := []string{"assert.js", "sta.js"}
	if t.has("async") {
		names = append(names, "doneprintHandle.js")
	}
	var b strings.Builder
	for _, name := range append(names, t.includes...) {
		text, ok := h[name]
		if !ok {
			return "", fmt.Errorf("%s includes %s, which the harness folder does not have", t.path, name)
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// skips says why a test is not run; "" runs it.
func (t *jsTest) skips() string {
	if t.has("module") {
		return "absent by design: modules"
	}
	if t.has("CanBlockIsTrue") || t.has("CanBlockIsFalse") {
		return "absent by design: shared memory"
	}
	if strings.Contains(t.source, "$262.createRealm(") { // not all of them say so in features
		return "absent by design: a second realm"
	}
	for _, f := range t.features {
		if why := skippedFeatures[f]; why != "" {
			return why
		}
	}
	return ""
}

// skippedFeatures are the features whose tests are not run, with the reason.
var skippedFeatures = map[string]string{
	"Atomics":                            "absent by design: shared memory",
	"Atomics.pause":                      "absent by design: shared memory",
	"Atomics.waitAsync":                  "absent by design: shared memory",
	"SharedArrayBuffer":                  "absent by design: shared memory",
	"cross-realm":                        "absent by design: a second realm",
	"dynamic-import":                     "absent by design: modules",
	"import-attributes":                  "absent by design: modules",
	"import-bytes":                       "absent by design: modules",
	"import-defer":                       "absent by design: modules",
	"import-text":                        "absent by design: modules",
	"import.meta":                        "absent by design: modules",
	"json-modules":                       "absent by design: modules",
	"source-phase-imports":               "absent by design: modules",
	"source-phase-imports-module-source": "absent by design: modules",
	"host-gc-required":                   "absent by design: garbage collection on demand",
	"IsHTMLDDA":                          "absent by design: document.all",
	"Intl.Era-monthcode":                 "absent by design: Intl",

	"await-dictionary":       "not in the engine: await-dictionary",
	"decorators":             "not in the engine: decorators",
	"legacy-regexp":          "not in the engine: legacy-regexp",
	"ShadowRealm":            "not in the engine: ShadowRealm",
	"tail-call-optimization": "not in the engine: tail-call-optimization",
	"Temporal":               "not in the engine: Temporal",
}

package analysis

import (
	"bytes"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The wrappers put around a text for esbuild to read. The two wrappers of a pair begin alike for the text and end
// differently: text that closes the first too early is a mistake in the second, so a text that parses in both stays
// inside. (Behind the function of the first only a statement can follow, behind the arrow function of the second only a
// comma or the parenthesis.)
type wrapper struct{ before, after string }

func bodyWrapper() (run, check wrapper) {
	return wrapper{header + "\n", "\n}"}, wrapper{"(async()=>{\n", "\n})"}
}

func valueWrapper() (run, check wrapper) {
	return wrapper{header + "return(\n", "\n)}"}, wrapper{header + "return[\n", "\n]}"}
}

// header is the beginning of the function of a wrapper, as esbuild prints it.
const header = "async function __program(){"

// An output is esbuild's result for a text.
type output struct {
	Code   string
	Maps   string // the mappings of the source map
	errors []api.Message

	Patched  string // esbuild's input, if it was not the program
	Patches  []int  // where the input has PatchLen more bytes, each
	PatchLen int
}

// transform lets esbuild turn text into JavaScript that QuickJS-ng supports. esbuild rewrites only
// decorators. It removes white space, because indentation makes deeply nested programs much longer.
func transform(w wrapper, text string, maps bool) output {
	o := api.TransformOptions{
		Loader:           api.LoaderTS,
		Target:           api.ESNext,
		Supported:        map[string]bool{"decorators": false},
		MinifyWhitespace: true,
		Charset:          api.CharsetUTF8,
		LegalComments:    api.LegalCommentsNone,
		LogOverride:      silent(),
	}
	if maps {
		o.Sourcemap = api.SourceMapExternal
		o.SourcesContent = api.SourcesContentExclude
	}
	r := api.Transform(w.before+text+w.after, o)
	return output{Code: string(r.Code), Maps: mappings(r.Map), errors: r.Errors}
}

// mappings extracts the one needed field from a source map. Its alphabet needs no escapes.
func mappings(m []byte) string {
	const key = `"mappings": "`
	_, rest, _ := bytes.Cut(m, []byte(key))
	value, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(value)
}

// silent turns off every warning. Warnings are not problems, and each costs a walk through the text.
func silent() map[string]api.LogLevel {
	m := make(map[string]api.LogLevel, 32)
	for id := range strings.FieldsSeq(`assign-to-constant assign-to-define assign-to-import bigint call-import-namespace
		class-name-will-throw commonjs-variable-in-esm confusing-typescript-cast delete-super-property direct-eval duplicate-case
		duplicate-class-member duplicate-object-key empty-import-meta equals-nan equals-negative-zero equals-new-object
		html-comment-in-js impossible-typeof indirect-require private-name-will-throw semicolon-after-return
		suspicious-boolean-not suspicious-define suspicious-logical-operator suspicious-nullish-coalescing
		this-is-undefined-in-esm unsupported-dynamic-import unsupported-jsx-comment unsupported-regexp
		unsupported-require-call unsupported-source-map-comment`) {
		m[id] = api.LogLevelSilent
	}
	return m
}

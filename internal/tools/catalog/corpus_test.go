package catalog_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/tools/catalog"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// The corpus are the schemas that real servers print: those of
// testdata/tools, and of testdata/schemas.jsonl, which has a tool in a line.
// testdata/README.md says from which servers they come.

// corpus gives all tools of the corpus, in a catalogue.
func corpus(t testing.TB) []*catalog.Tool {
	t.Helper()
	servers := realTools(t)
	f, err := os.Open("testdata/schemas.jsonl")
	checktest.OK(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Server, Tool  string
			Input, Output json.RawMessage
		}
		checktest.OK(t, json.Unmarshal(lines.Bytes(), &e))
		servers[e.Server] = append(servers[e.Server], catalog.Tool{Raw: e.Tool, Input: e.Input, Output: e.Output})
	}
	checktest.OK(t, lines.Err())
	c := catalog.New()
	for server, tools := range servers {
		for _, p := range c.Replace(server, tools) {
			t.Logf("%s: %s", server, p)
		}
	}
	return c.Tools()
}

// schemasOf lists a tool's schemas.
func schemasOf(tool *catalog.Tool) []json.RawMessage {
	if len(tool.Output) > 0 {
		return []json.RawMessage{tool.Input, tool.Output}
	}
	return []json.RawMessage{tool.Input}
}

func TestTheCorpusIsLargeAndDeclaredTheSameEveryTime(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	tools := corpus(t)
	n := 0
	for _, tool := range tools {
		n += len(schemasOf(tool))
	}
	if n < 300 {
		t.Errorf("%d schemas, want at least 300", n)
	}
	text := catalog.Declarations(tools)
	other := corpus(t)
	slices.Reverse(other)
	if again := catalog.Declarations(other); again != text {
		t.Error("the same tools in another order give other declarations")
	}
	sum := sha256.Sum256([]byte(text))
	got := fmt.Sprintf("%s  %d tools, %d schemas, %d bytes\n", hex.EncodeToString(sum[:]), len(tools), n, len(text))
	const golden = "testdata/declarations.sha256"
	if os.Getenv("UPDATE_STORIES") != "" {
		checktest.OK(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	checktest.OK(t, err)
	if got != string(want) {
		t.Errorf("the declarations of the corpus are not what they were (UPDATE_STORIES=1 takes the new ones):\n got  %s want %s", got, want)
	}
}

// TestArgumentsMadeFromSchemasFitOnAllSides makes values from each schema and
// holds them against our checker, against Google's, and, as arguments and
// results of the declared functions, against the TypeScript compiler.
func TestArgumentsMadeFromSchemasFitOnAllSides(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	tools := corpus(t)
	var use strings.Builder
	use.WriteString("/// <reference path=\"codemode.d.ts\" />\n")
	made, refused := 0, 0
	for _, tool := range tools {
		for i, raw := range schemasOf(tool) {
			var schema any
			checktest.OK(t, json.Unmarshal(raw, &schema))
			other := googles(t, tool, raw)
			for variant := range 3 {
				g := &generator{root: schema, r: rand.New(rand.NewPCG(uint64(variant), uint64(i))), most: variant}
				value := g.value(schema, 0)
				b, err := json.Marshal(value)
				checktest.OK(t, err)
				made++
				ours := check(tool, i, b)
				if ours != nil {
					t.Errorf("%s, ours: %v\n%.300s", tool.Name, ours, b)
				}
				if other != nil {
					if err := other.Validate(value); err != nil {
						t.Errorf("%s, Google's: %v\n%.300s", tool.Name, err, b)
					}
				}
				if i == 0 {
					fmt.Fprintf(&use, "codemode.%s(%s);\n", tool.Name, b)
				} else {
					fmt.Fprintf(&use, "((r: Awaited<ReturnType<typeof codemode.%s>>) => r)(%s);\n", tool.Name, b)
				}
				// One member of the wrong kind: both refuse it, or both do not mind.
				if spoiled := spoil(schema, value); spoiled != nil {
					b, _ := json.Marshal(spoiled)
					ours := check(tool, i, b)
					if ours != nil {
						refused++
					}
					if other != nil {
						if theirs := other.Validate(spoiled); (theirs == nil) != (ours == nil) {
							t.Errorf("%s: ours says %v, Google's %v\n%.300s", tool.Name, ours, theirs, b)
						}
					}
				}
			}
		}
	}
	t.Logf("%d values, %d spoiled ones refused", made, refused)
	if refused < 200 {
		t.Errorf("only %d spoiled values were refused: the test tests little", refused)
	}
	t.Run("TypeScript", func(t *testing.T) {
		compiles(t, "codemode.d.ts", catalog.Declarations(tools), "use.ts", use.String())
	})
}

// check is ours: the input schema is the tool's first, the output its second.
func check(tool *catalog.Tool, which int, value json.RawMessage) error {
	if which == 0 {
		return tool.Validate(context.Background(), call.Unread(value))
	}
	return tool.ValidateResult(context.Background(), value)
}

// googles compiles a schema with Google's validator, nil if it does not take it.
func googles(t *testing.T, tool *catalog.Tool, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Logf("%s: Google's validator does not read it: %v", tool.Name, err)
		return nil
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Logf("%s: Google's validator does not resolve it: %v", tool.Name, err)
		return nil
	}
	return r
}

// spoil returns the value with the first required or present member of a known
// type replaced by an object that fits no such type; nil if there is none.
func spoil(schema, value any) any {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		p, _ := properties[k].(map[string]any)
		if kind, _ := p["type"].(string); kind == "string" || kind == "number" || kind == "integer" || kind == "boolean" ||
			kind == "array" {
			out := map[string]any{}
			for key, v := range object {
				out[key] = v
			}
			out[k] = map[string]any{"spoiled": true}
			return out
		}
	}
	return nil
}

func BenchmarkDeclarationsOfTheCorpus(b *testing.B) {
	var size int
	for b.Loop() {
		b.StopTimer()
		tools := corpus(b) // new ones: declarations are kept
		b.StartTimer()
		size = len(catalog.Declarations(tools))
	}
	b.ReportMetric(float64(size), "bytes")
}

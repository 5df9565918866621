package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codemode-project/codemode/internal/settings"
)

// A brokenFile is one case of testdata/profiles/broken.txt: a file that must not load,
// with « in front of each place that a problem has to name.
//
//	=== title              ("~ " in front: the JSON Schema cannot see what is wrong)
//	! message | hint       one line for each «: parts of what has to be said
//	content
type brokenFile struct {
	title    string
	inSchema bool
	want     []settings.Problem
	content  string
}

func brokenFiles(t *testing.T) []brokenFile {
	t.Helper()
	data, err := os.ReadFile("../testdata/profiles/broken.txt")
	must(t, err)
	var files []brokenFile
	for _, part := range strings.Split("\n"+string(data), "\n=== ")[1:] {
		var f brokenFile
		f.title, part, _ = strings.Cut(part, "\n")
		f.title, f.inSchema = strings.TrimPrefix(f.title, "~ "), !strings.HasPrefix(f.title, "~ ")
		for strings.HasPrefix(part, "! ") {
			var line string
			line, part, _ = strings.Cut(part[2:], "\n")
			message, hint, _ := strings.Cut(line, " | ")
			f.want = append(f.want, settings.Problem{Message: message, Hint: hint})
		}
		for i := range f.want {
			before, after, found := strings.Cut(part, "«")
			if !found {
				t.Fatalf("%s: no « for %q", f.title, f.want[i].Message)
			}
			f.want[i].Line = 1 + strings.Count(before, "\n")
			f.want[i].Column = 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
			part = before + after
		}
		f.content = part
		files = append(files, f)
	}
	return files
}

// TestBrokenFiles is POLICY.md A8, A2 and A3 (names): nothing broken is accepted, and each
// error names file, line, column and a way out.
func TestBrokenFiles(t *testing.T) {
	files := brokenFiles(t)
	if len(files) < 200 {
		t.Fatalf("got %d broken files, want at least 200", len(files))
	}
	for _, f := range files {
		t.Run(f.title, func(t *testing.T) {
			config, err := Parse("codemode.json", []byte(f.content))
			var got settings.Problems
			if !errors.As(err, &got) || config != nil {
				t.Fatalf("got (%v, %v), want Problems", config, err)
			}
			if len(got) != len(f.want) {
				t.Fatalf("got %d problems, want %d:\n%v", len(got), len(f.want), err)
			}
			lines := strings.Split(f.content, "\n")
			for i, want := range f.want {
				p := got[i]
				if p.File != "codemode.json" || p.Line != want.Line || p.Column != want.Column {
					t.Errorf("got the place %s, want line %d, column %d:\n%s", p.Position, want.Line, want.Column, p)
				}
				if !strings.Contains(p.Message, want.Message) {
					t.Errorf("got the message %q, want %q in it", p.Message, want.Message)
				}
				if !strings.Contains(p.Hint, want.Hint) {
					t.Errorf("got the hint %q, want %q in it", p.Hint, want.Hint)
				}
				if source := strings.TrimSuffix(lines[want.Line-1], "\r"); p.Source != source {
					t.Errorf("got the source line %q, want %q", p.Source, source)
				}
				if p.Length < 1 || p.Column-1+p.Length > max(len([]rune(p.Source)), p.Column) {
					t.Errorf("got a length of %d at column %d of a line of %d", p.Length, p.Column, len([]rune(p.Source)))
				}
			}
		})
	}
}

func compiledSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	must(t, s.UnmarshalJSON(Schema()))
	resolved, err := s.Resolve(nil)
	must(t, err)
	return resolved
}

// instance is a file as a JSON Schema validator gets it.
func instance(t *testing.T, content string) any {
	t.Helper()
	root, bad := settings.ParseFile(content)
	if bad != nil {
		t.Fatal(bad)
	}
	return decoded(t, root.Compact())
}

func TestSchemaRefusesWhatItCanSee(t *testing.T) {
	schema := compiledSchema(t)
	seen := 0
	for _, f := range brokenFiles(t) {
		if !f.inSchema {
			continue
		}
		seen++
		t.Run(f.title, func(t *testing.T) {
			if err := schema.Validate(instance(t, f.content)); err == nil {
				t.Errorf("the schema accepts\n%s", f.content)
			}
		})
	}
	if seen < 100 {
		t.Errorf("the schema was tried on %d files, want at least 100", seen)
	}
}

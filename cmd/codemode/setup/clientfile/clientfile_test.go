package clientfile

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/codemode-project/codemode/internal/checktest"
)

var update = flag.Bool("update", false, "rewrite what the exchanges of testdata give")

// forms are the formats, with the path of a client that has it.
var forms = map[string]struct {
	format Format
	path   []string
}{
	"json":     {JSON, []string{"mcpServers"}},
	"toml":     {TOML, []string{"mcp_servers"}},
	"yaml":     {YAML, []string{"extensions"}},
	"yamllist": {YAMLList, []string{"mcpServers"}},
}

func codemode() []Entry {
	return []Entry{{Name: "codemode", Fields: []Field{{"command", "/bin/codemode"}, {"args", []string{"serve"}}}}}
}

// TestExchanges has a file for each format. The name of a section says what goes out; what comes in is codemode. What
// was taken out can be put back, and then the file means what it meant.
func TestExchanges(t *testing.T) {
	for name, form := range forms {
		file := filepath.Join("testdata", name+".txtar")
		a, err := txtar.ParseFile(file)
		checktest.OK(t, err)
		for i := 0; i+1 < len(a.Files); i += 2 {
			before, after := a.Files[i], &a.Files[i+1]
			_, names, _ := strings.Cut(before.Name, ": ")
			out := strings.FieldsFunc(names, func(r rune) bool { return r == ' ' && name != "yamllist" })
			got, err := Exchange(form.format, before.Data, form.path, out, codemode())
			if err != nil {
				got = []byte("error: " + err.Error() + "\n")
				if want := strings.TrimSpace(string(after.Data)); strings.HasPrefix(want, "error: ") &&
					strings.HasPrefix(string(got), want) {
					continue
				}
			}
			if *update {
				after.Data = got
			} else if diff := cmp.Diff(string(after.Data), string(got)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", file, before.Name, diff)
			}
			if err == nil {
				putBack(t, form.format, before.Data, got, form.path, out)
			}
		}
		if *update {
			checktest.OK(t, os.WriteFile(file, txtar.Format(a), 0o644))
		}
	}
}

// putBack puts the servers back that went out, and compares what the text means with what it meant.
func putBack(t *testing.T, f Format, before, after []byte, path, out []string) {
	t.Helper()
	servers, err := Servers(f, before, path)
	checktest.OK(t, err)
	var back []Entry
	for _, s := range servers {
		if slices.Contains(out, s.Name) {
			if s.Text == "" || f != JSON && !strings.HasSuffix(s.Text, "\n") {
				return // no server, or the end of the file is a part of it
			}
			back = append(back, Entry{Name: s.Name, Text: s.Text, Value: s.Value})
		}
	}
	again, err := Exchange(f, after, path, []string{"codemode"}, back)
	if err != nil {
		t.Errorf("putting back: %v\n%s", err, after)
		return
	}
	if want, got := meaning(t, f, before, path), meaning(t, f, again, path); !reflect.DeepEqual(want, got) {
		t.Errorf("put back: got %v, want %v", got, want)
	}
}

// meaning is what a text means, without the order of its servers, and without a place for none.
func meaning(t *testing.T, f Format, text []byte, path []string) any {
	t.Helper()
	v, err := decode(f, text)
	checktest.OK(t, err)
	servers, err := Servers(f, text, path)
	checktest.OK(t, err)
	byName := map[string]any{}
	var names []string
	for _, s := range servers {
		byName[s.Name] = s.Value
		names = append(names, s.Name)
	}
	return []any{without(v, path, names), byName}
}

func FuzzJSON(f *testing.F)     { fuzz(f, "json") }
func FuzzTOML(f *testing.F)     { fuzz(f, "toml") }
func FuzzYAML(f *testing.F)     { fuzz(f, "yaml") }
func FuzzYAMLList(f *testing.F) { fuzz(f, "yamllist") }

// fuzz exchanges the servers of any text: each first one of two, all, none. What only goes takes bytes away, what only
// comes adds some, and what went can be put back.
func fuzz(f *testing.F, name string) {
	form := forms[name]
	a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	checktest.OK(f, err)
	for _, file := range a.Files {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		servers, err := Servers(form.format, text, form.path)
		if err != nil {
			return
		}
		var half, all []string
		for i, s := range servers {
			if s.Name == "codemode" {
				return
			}
			all = append(all, s.Name)
			if i%2 == 0 {
				half = append(half, s.Name)
			}
		}
		for _, out := range [][]string{half, all} {
			if gone, err := Exchange(form.format, text, form.path, out, nil); err == nil && !within(gone, text) {
				t.Errorf("removing %q from\n%s\nadds something:\n%s", out, text, gone)
			}
			if moved, err := Exchange(form.format, text, form.path, out, codemode()); err == nil && name != "yamllist" {
				putBack(t, form.format, text, moved, form.path, out)
			}
		}
		if more, err := Exchange(form.format, text, form.path, nil, codemode()); err == nil && !within(text, more) {
			t.Errorf("adding to\n%s\ntakes something away:\n%s", text, more)
		}
	})
}

// within reports whether all bytes of a are in b, in their order. White space does not count, nor does how YAML and
// JSON write nothing.
func within(a, b []byte) bool {
	for _, empty := range []string{"{}", "[]", "null", "~"} {
		a = bytes.ReplaceAll(a, []byte(empty), nil)
	}
	for _, c := range a {
		if strings.IndexByte(" \t\r\n", c) >= 0 {
			continue
		}
		i := bytes.IndexByte(b, c)
		if i < 0 {
			return false
		}
		b = b[i+1:]
	}
	return true
}

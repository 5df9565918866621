package servers

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/internal/checktest"
)

var update = flag.Bool("update", false, "rewrite the expected parses of the clients' files")

// people is the environment of the sample files.
func people(name string) (string, bool) {
	v, ok := map[string]string{
		"HOME": "/home/ada", "PWD": "/home/ada/work", "API_TOKEN": "t0ken", "LEVEL_VAR": "debug",
		"NESTED": "${HOME} $(id) `id`", "EMPTY": "",
	}[name]
	return v, ok
}

// plain takes comments and trailing commas out of JSON.
func plain(data []byte) []byte {
	var out []byte
	for i := 0; i < len(data); i++ {
		rest := data[i:]
		switch {
		case data[i] == '"':
			j := i + 1
			for data[j] != '"' {
				if data[j] == '\\' {
					j++
				}
				j++
			}
			out = append(out, data[i:j+1]...)
			i = j
		case bytes.HasPrefix(rest, []byte("//")):
			i += bytes.IndexByte(rest, '\n')
		case bytes.HasPrefix(rest, []byte("/*")):
			i += bytes.Index(rest, []byte("*/")) + 1
		case data[i] == '}' || data[i] == ']':
			out = append(bytes.TrimRight(bytes.TrimRight(out, " \t\r\n"), ","), data[i])
		default:
			out = append(out, data[i])
		}
	}
	return out
}

// entries finds the servers in the file of any client.
func entries(t *testing.T, file string) map[string]json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(file)
	checktest.OK(t, err)
	data = plain(data)
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, key := range []string{"mcpServers", "mcp_servers", "mcp", "servers"} {
		if inner, ok := top[key]; ok {
			top = nil
			if err := json.Unmarshal(inner, &top); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
	return top
}

// fieldsOf returns what of the server is set.
func fieldsOf(t *testing.T, s Server) map[string]any {
	t.Helper()
	data, err := json.Marshal(s)
	checktest.OK(t, err)
	var all map[string]any
	checktest.OK(t, json.Unmarshal(data, &all))
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil || v == "" || v == false || v == 0.0 })
	if s.Timeout > 0 {
		all["Timeout"] = s.Timeout.String()
	}
	if s.StartTimeout > 0 {
		all["StartTimeout"] = s.StartTimeout.String()
	}
	return all
}

func TestFilesOfAllClients(t *testing.T) {
	files, err := filepath.Glob("testdata/clients/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no sample files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			got := map[string]map[string]any{}
			in := entries(t, file)
			for _, name := range slices.Sorted(maps.Keys(in)) {
				s, warnings, err := Parse(name, in[name], people)
				got[name] = fieldsOf(t, s)
				if len(warnings) > 0 {
					got[name]["(warnings)"] = warnings
				}
				if err != nil {
					got[name]["(error)"] = err.Error()
				}
			}
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			checktest.OK(t, e.Encode(got))
			golden := strings.TrimSuffix(file, ".json") + ".want"
			if *update {
				checktest.OK(t, os.WriteFile(golden, text.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			checktest.OK(t, err)
			if d := cmp.Diff(string(want), text.String()); d != "" {
				t.Errorf("%s (-want +got):\n%s", golden, d)
			}
		})
	}
}

// Whatever an entry says: no panic, no word that is both accepted and impossible.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"command":"${A:-${B}}","args":["{env:X}"],"env":{"A":"${input:x}"}}`,
		`{"url":"http://${HOME}/sse","headers":{"a":"b"}}`,
		`{"cli":{"command":"c","tools":{"t":{"args":["{a}","--",{"flag":"-a","if":"b"},["{c...}"]],"stdin":"{a}","input":{}}}}}`,
		`{"type":"remote","url":"x","timeout":{"startup":1}}`, `{"command":["a"],"timeout":1e99,"disabled":true}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, _, err := Parse("s", raw, people)
		if err != nil || s.Disabled || s.Problem != "" {
			return
		}
		switch s.Transport {
		case Stdio:
			if s.Command == "" && !bytes.Contains(raw, []byte("$")) && !bytes.Contains(raw, []byte("{env")) {
				t.Errorf("a server without a command: %+v", s)
			}
		case HTTP, SSE:
			if !strings.HasPrefix(strings.ToLower(s.URL), "http") {
				t.Errorf("a server without an address: %+v", s)
			}
		case CLI:
			if len(s.CLI.Tools) == 0 {
				t.Errorf("a program without a tool: %+v", s)
			}
		case OpenAPI:
			if s.API == nil {
				t.Errorf("an API without a description: %+v", s)
			}
		default:
			t.Errorf("a server without a transport: %+v", s)
		}
		if s.Timeout < 0 || s.StartTimeout < 0 {
			t.Errorf("a negative time: %+v", s)
		}
	})
}

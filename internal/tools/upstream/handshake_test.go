package upstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// An opening is what a server answers to initialize.
type opening struct{ Result, Error, Only string }

const tidy = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`

// Of an answer to initialize we read what we need, over stdio and over HTTP.
func TestOddOpenings(t *testing.T) {
	t.Parallel()
	with := func(key, value string) opening {
		var m map[string]json.RawMessage
		_ = json.Unmarshal([]byte(tidy), &m)
		delete(m, key)
		if value != "" {
			m[key] = json.RawMessage(value)
		}
		b, _ := json.Marshal(m)
		return opening{Result: string(b)}
	}
	const unsupported = `{"code":-32602,"message":"Unsupported protocol version","data":{"supported":%s}}`
	type row struct {
		name     string
		opening  opening
		protocol string // "" is 2025-06-18
		name2    string // of the server; "" is "p 1"
	}
	rows := []row{
		{"a version that is unknown", with("protocolVersion", `"2025-09-01"`), "2025-06-18", ""},
		{"an old one", with("protocolVersion", `"2024-10-07"`), "2024-11-05", ""},
		{"one of the future", with("protocolVersion", `"2027-03-01"`), "2025-11-25", ""},
		{"the newest, which has no initialize", with("protocolVersion", `"2026-07-28"`), "2025-11-25", ""},
		{"one with a name", with("protocolVersion", `"DRAFT-2026-v1"`), "2025-11-25", ""},
		{"one with a suffix", with("protocolVersion", `"2025-06-18-rc1"`), "2025-06-18", ""},
		{"1.0", with("protocolVersion", `"1.0"`), "2025-11-25", ""},
		{"none", with("protocolVersion", ""), "2025-11-25", ""},
		{"an empty one", with("protocolVersion", `""`), "2025-11-25", ""},
		{"null", with("protocolVersion", "null"), "2025-11-25", ""},
		{"a number", with("protocolVersion", "20241105"), "2024-11-05", ""},
		{"a small number", with("protocolVersion", "1"), "2025-11-25", ""},
		{"an object", with("protocolVersion", "{}"), "2025-11-25", ""},
		{"no serverInfo", with("serverInfo", ""), "", " "},
		{"serverInfo: null", with("serverInfo", "null"), "", " "},
		{"serverInfo as text", with("serverInfo", `"p"`), "", " "},
		{"a version that is a number", with("serverInfo", `{"name":"p","version":1.5}`), "", "p 1.5"},
		{"odd members of serverInfo", with("serverInfo", `{"name":"p","version":"1","title":5,"icons":{},"websiteUrl":[]}`), "", ""},
		{"instructions that are no text", with("instructions", `["a"]`), "", ""},
		{"extra members", with("extra", `{"a":[1]}`), "", ""},
		{"_meta that is no object", with("_meta", `"x"`), "", ""},
		{"an empty array", opening{Result: "[]"}, "2025-11-25", " "},
		{"an empty object", opening{Result: "{}"}, "2025-11-25", " "},

		{"data.supported", opening{tidy, fmt.Sprintf(unsupported, `["2025-03-26","2024-11-05"]`), "2025-03-26"}, "", ""},
		{"data.supported with a number", opening{tidy, fmt.Sprintf(unsupported, `[20241105]`), "2024-11-05"}, "", ""},
		{"data.supported that we do not know", opening{tidy, fmt.Sprintf(unsupported, `["2024-10-07","2024-09-01"]`), "2024-10-07"},
			"", ""},
		{"the version in words", opening{tidy, `{"code":-32602,"message":"Unsupported protocol version: only 2024-11-05"}`,
			"2024-11-05"}, "", ""},
		{"no version in words", opening{tidy, `{"code":-32602,"message":"unsupported protocolVersion 2025-11-25"}`, "2024-11-05"},
			"", ""},
		{"another code", opening{tidy, `{"code":-32022,"message":"no","data":{"supported":["2024-11-05"]}}`, "2024-11-05"}, "", ""},
	}
	for _, caps := range []string{"", "true", "[]", "null", "5", `"tools"`, `{"tools":true}`, `{"tools":[]}`, `{"tools":null}`,
		`{"tools":{"listChanged":"yes"}}`, `{"tools":{"listChanged":null}}`, `{"logging":true,"prompts":[],"resources":"x"}`,
		`{"experimental":[]}`, `{"experimental":{"a":true}}`, `{"extensions":true,"tasks":{"list":true}}`, `{"completions":[]}`} {
		rows = append(rows, row{"capabilities " + caps, with("capabilities", caps), "", ""})
	}
	for _, row := range rows {
		check := func(t *testing.T, s upstream.Server) {
			t.Parallel()
			m := manage(t, upstream.Options{}, s)
			st := status(t, m, "s")
			want, name := row.protocol, row.name2
			if want == "" {
				want = "2025-06-18"
			}
			if name == "" {
				name = "p 1"
			}
			if st.State != upstream.Ready || st.Protocol != want || st.Implementation != name || st.Tools == 0 || st.Restarts != 0 {
				t.Fatalf("%s (%s), protocol %q, name %q, %d tools", st.State, st.Error, st.Protocol, st.Implementation, st.Tools)
			}
			if _, err := call(t, m, "s", "echo", `{}`); err != nil {
				t.Error(err)
			}
		}
		t.Run(row.name+", stdio", func(t *testing.T) {
			arg, _ := json.Marshal(row.opening)
			check(t, fakeServer(t, "s", "opens", string(arg)))
		})
		for _, events := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP, events %v", row.name, events), func(t *testing.T) {
				ts := httptest.NewServer(opensAs(t, row.opening, events))
				t.Cleanup(ts.Close)
				check(t, httpServer("s", ts.URL))
			})
		}
	}
}

// opensAs serves what the fake server of the mode "opens" does, over HTTP with sessions.
func opensAs(t *testing.T, o opening, events bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if m.Method != "initialize" && m.Method != "server/discover" && r.Header.Get("Mcp-Session-Id") != "s1" {
			t.Errorf("%s comes without the session", m.Method)
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			if answer = `"result":` + o.Result; o.Error != "" && (o.Only == "" || o.Only != m.Params.ProtocolVersion) {
				answer = `"error":` + o.Error
			} else {
				w.Header().Set("Mcp-Session-Id", "s1")
			}
		case "tools/list":
			answer = `"result":{"tools":[{"name":"echo"}]}`
		case "tools/call":
			answer = `"result":{"content":[]}`
		}
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
		if events {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", text)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	})
}

// What opens no connection is said in the server's words, and never that a process which lives ended its output.
func TestAnOpeningThatFailsIsExplained(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		opening opening
		want    string
	}{
		{opening{Result: `"hello"`}, "hello"},
		{opening{Result: "5"}, "5"},
		{opening{Result: `{"capabilities":NaN}`}, `"result":{"capabilities":NaN}}`},
		{opening{Error: `{"code":-32000,"message":"your licence has expired"}`}, "your licence has expired"},
		{opening{Error: `{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2031-01-01"]}}`},
			"Unsupported protocol version"},
	} {
		arg, _ := json.Marshal(row.opening)
		s := fakeServer(t, "s", "opens", string(arg))
		s.StartTimeout = 10 * time.Second
		st := status(t, manage(t, upstream.Options{}, s), "s")
		if st.State == upstream.Ready || !strings.Contains(st.Error, row.want) || strings.Contains(st.Error, "standard output") {
			t.Errorf("%v: %s, %q", row.opening, st.State, st.Error)
		}
		for _, events := range []bool{false, true} {
			ts := httptest.NewServer(opensAs(t, row.opening, events))
			st := status(t, manage(t, upstream.Options{}, httpServer("s", ts.URL)), "s")
			if st.State == upstream.Ready || !strings.Contains(st.Error, row.want) {
				t.Errorf("%v over HTTP, events %v: %s, %q", row.opening, events, st.State, st.Error)
			}
			ts.Close()
		}
	}
}

func TestOddListings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		list  string
		tools int
	}{
		{`{"tools":[{"name":"a"},{"name":"b","inputSchema":null},{"name":"c","inputSchema":[]}],"nextCursor":""}`, 3},
		{`{"tools":[{"name":"a"}],"nextCursor":null}`, 1}, {`{"tools":[{"name":"a"}],"nextCursor":5}`, 1},
		{`{"tools":[{"name":"a"}],"nextCursor":false,"extra":1}`, 1}, {`{"tools":null}`, 0}, {`{}`, 0}, {`[]`, 0},
		{`{"tools":{}}`, 0},
	} {
		ts := httptest.NewServer(handwritten(func(_ http.ResponseWriter, method string, _ int) (string, bool) {
			if method == "tools/list" {
				return row.list, true
			}
			return "", true
		}))
		st := status(t, manage(t, upstream.Options{}, httpServer("s", ts.URL)), "s")
		if st.State != upstream.Ready || st.Tools != row.tools {
			t.Errorf("%s: %s, %s, %d tools, want %d", row.list, st.State, st.Error, st.Tools, row.tools)
		}
		ts.Close()
	}
}

// A server of the newest protocol answers server/discover, which is read the same way.
func TestOddDiscoveries(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", `,"capabilities":true`, `,"capabilities":{"tools":[]}`, `,"instructions":5`, `,"_meta":[]`,
		`,"_meta":{"io.modelcontextprotocol/serverInfo":"x"}`, `,"resultType":7`, `,"ttlMs":"x"`} {
		ts := httptest.NewServer(handwritten(func(_ http.ResponseWriter, method string, _ int) (string, bool) {
			switch method {
			case "server/discover":
				return `{"supportedVersions":["2026-07-28",5,"2099-01-01"]` + more + `}`, true
			case "initialize":
				t.Errorf("%s: it is initialized", more)
			}
			return "", true
		}))
		st := status(t, manage(t, upstream.Options{}, httpServer("s", ts.URL)), "s")
		if st.State != upstream.Ready || st.Protocol != "2026-07-28" {
			t.Errorf("%s: %s, %s, protocol %s", more, st.State, st.Error, st.Protocol)
		}
		ts.Close()
	}
}

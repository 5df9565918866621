package config

import (
	"fmt"
	"strings"
	"testing"
)

// The address of the diagnostics is one of this machine unless the file says otherwise, and profiles of the process are
// for nobody without a token.
func TestDiagnostics(t *testing.T) {
	const digest = `"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	for _, test := range []struct{ value, address, problem string }{
		{`"9464"`, "127.0.0.1:9464", ""},
		{`":9464"`, "127.0.0.1:9464", ""},
		{`"[::1]:9464"`, "[::1]:9464", ""},
		{`"0.0.0.0:9464"`, "0.0.0.0:9464", ""},
		{`{"address": "9464", "token": "${T}", "pprof": true}`, "127.0.0.1:9464", ""},
		{`{"address": "9464", "token": ` + digest + `}`, "127.0.0.1:9464", ""},
		{`{"token": "${T}", "pprof": true}`, "", ""}, // the flag has the address
		{`{}`, "", ""},
		{`{"address": "9464", "pprof": true}`, "", "c.json:2:36"},
		{`{"address": "9464", "pprof": true}`, "", "for those who have a token"},
		{`{"address": "0.0.0.0:9464", "token": "${T}", "pprof": true}`, "", "on this machine only"},
		{`{"address": "9464", "token": "secret of the team"}`, "", "must not stand in the file"},
		{`{"address": "9464", "token": "sha256:12"}`, "", "64 hexadecimal digits"},
		{`{"address": "99999"}`, "", "c.json:2:28"},
		{`"http://127.0.0.1:9464"`, "", "is not an address"},
		{`{"adress": "9464"}`, "", `did you mean "address"?`},
		{`{"address": "1", "address": "2"}`, "", "c.json:2"},
		{`true`, "", "c.json:2:16"},
	} {
		c, err := Parse("c.json", []byte("{\n\"diagnostics\": "+test.value+"}"))
		if test.problem != "" {
			if err == nil || !strings.Contains(fmt.Sprint(err), test.problem) {
				t.Errorf("%s: got %v, want %q", test.value, err, test.problem)
			}
			continue
		}
		must(t, err)
		d, err := c.Diagnostics(func(string) (string, bool) { return "sixteen-characters", true })
		if err != nil || d.Address != test.address || (d.Fingerprint != "") != strings.Contains(test.value, "token") {
			t.Errorf("%s: got %+v, %v, want the address %q", test.value, d, err, test.address)
		}
	}
	c, err := Parse("c.json", []byte(`{"diagnostics": {"address": "0.0.0.0:1", "token": "${T}"}}`))
	must(t, err)
	if d, err := c.Diagnostics(nil); err == nil || d.Address != "" {
		t.Errorf("without the variable: %+v, %v", d, err)
	}
	c, err = ParseAll(nil, Source{File: "u", Data: []byte(`{}`), Standing: User},
		Source{File: "p", Data: []byte(`{"diagnostics": "0.0.0.0:9464"}`), Standing: Untrusted})
	must(t, err)
	if d, _ := c.Diagnostics(nil); d.Address != "" {
		t.Errorf("a project opened %q", d.Address)
	}
}

func TestShutdownDelay(t *testing.T) {
	for _, test := range []struct{ value, problem string }{
		{`"5s"`, ""}, {`"0s"`, ""}, {`5`, "c.json:2:27"}, {`"-5s"`, "must not be negative"}, {`"soon"`, "not a duration"},
	} {
		c, err := Parse("c.json", []byte("{\n\"http\": {\"shutdownDelay\": "+test.value+"}}"))
		if test.problem == "" && (err != nil || c.Keys.HTTP == nil) ||
			test.problem != "" && (err == nil || !strings.Contains(fmt.Sprint(err), test.problem)) {
			t.Errorf("%s: got %v, want %q", test.value, err, test.problem)
		}
	}
}

func TestTLSAndSocket(t *testing.T) {
	for _, test := range []struct{ value, problem string }{
		{`"tls": {"certificate": "/c.pem", "key": "/k.pem"}, "socketMode": "0660"`, ""},
		{`"tls": {"certificate": "c.pem", "key": "/k.pem"}`, "must be an absolute path"},
		{`"tls": {"certificate": "/c.pem"}`, `"tls" has no "key"`},
		{`"tls": {"certificate": "/c.pem", "kee": "/k.pem"}`, `did you mean "key"?`},
		{`"tls": true`, "c.json:2:17"},
		{`"socketMode": "660"`, "not the mode of a socket"},
		{`"socketMode": "0777"`, "not the mode of a socket"},
		{`"socketMode": 432`, "c.json:2:24"},
	} {
		c, err := Parse("c.json", []byte("{\n\"http\": {"+test.value+"}}"))
		if test.problem == "" && (err != nil || c.Keys.HTTP.TLS.Key != "/k.pem" || c.Keys.HTTP.SocketMode != 0o660) ||
			test.problem != "" && (err == nil || !strings.Contains(fmt.Sprint(err), test.problem)) {
			t.Errorf("%s: got %v, want %q", test.value, err, test.problem)
		}
	}
}

func TestTracing(t *testing.T) {
	for _, test := range []struct{ value, problem string }{
		{`"http://localhost:4318/v1/traces"`, ""},
		{`{"url": "https://${HOST}/v1/traces", "headers": {"Authorization": "Bearer ${T}"}, "percent": 10}`, ""},
		{`"localhost:4318"`, "must be the URL of a server"},
		{`{"percent": 10}`, `has no "url"`},
		{`{"url": "http://a", "percent": 101}`, "at most 100"},
		{`{"url": "http://a", "percent": "10"}`, "without quotes"},
		{`{"url": "http://a", "headers": {"A B": "x"}}`, "not the name of a header"},
		{`{"url": "http://a", "headers": {"A": 1}}`, "c.json:2:49"},
		{`{"url": "http://a", "headers": ["A"]}`, "must be an object"},
		{`{"url": "http://a", "header": {}}`, `did you mean "headers"?`},
		{`true`, "c.json:2:12"},
		{`{"url": "http://a", "protocol": "grpc"}`, `"protocol"`},
	} {
		c, err := Parse("c.json", []byte("{\n\"tracing\": "+test.value+"}"))
		if test.problem == "" && err != nil ||
			test.problem != "" && (err == nil || !strings.Contains(fmt.Sprint(err), test.problem)) {
			t.Errorf("%s: got %v, want %q", test.value, err, test.problem)
		}
		if err != nil || !strings.Contains(test.value, "HOST") {
			continue
		}
		env := map[string]string{"HOST": "otel.example", "T": "secret"}
		got, err := c.Tracing(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err != nil || got.URL != "https://otel.example/v1/traces" || got.Headers["Authorization"] != "Bearer secret" ||
			got.Percent != 10 {
			t.Errorf("got %+v, %v", got, err)
		}
		env["T"] = "two\nlines"
		if _, err := c.Tracing(func(name string) (string, bool) { v, ok := env[name]; return v, ok }); err == nil {
			t.Error("a header of two lines was taken")
		}
		if _, err := c.Tracing(nil); err == nil {
			t.Error("without the variables it was taken")
		}
	}
}

// TestPush: figures go to a collector, every minute unless the file says otherwise.
func TestPush(t *testing.T) {
	c, err := Parse("c.json", []byte(`{"diagnostics": {"push": "http://a/v1/x"}}`))
	must(t, err)
	if d, err := c.Diagnostics(nil); err != nil || d.Push.URL != "http://a/v1/x" || d.Push.Seconds != 60 {
		t.Errorf("got %q every %v, %v", d.Push.URL, d.Push.Seconds, err)
	}
	for value, problem := range map[string]string{
		`{"url": "http://a", "seconds": 0}`: "seconds", `{"url": "http://a", "seconds": 3601}`: "at most 3600",
		`{"seconds": 5}`: `add "url": "http://localhost:4318/v1/metrics"`, `7`: "c.json:1:26",
	} {
		if _, err := Parse("c.json", []byte(`{"diagnostics": {"push": `+value+`}}`)); err == nil ||
			!strings.Contains(err.Error(), problem) {
			t.Errorf("%s: got %v, want %q", value, err, problem)
		}
	}
}

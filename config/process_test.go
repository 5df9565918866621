package config

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestKeysOfTheProcessArriveTyped: what the keys about the process say is what the configuration has, in every form.
func TestKeysOfTheProcessArriveTyped(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"TOKEN": "0123456789abcdef", "DB": "postgres://h/d", "DIR": "/srv"}[name]
		return v, ok
	}
	c := parse(t, `{
		"builtin": {"time": {}, "filesystem": {"root": "notes"}},
		"http": {"hosts": ["A.example"], "origins": ["https://A.example"], "grace": "0s",
			"tokens": [{"token": "${TOKEN}", "principal": "ci", "profiles": ["p"]}]},
		"console": {"address": "7391", "people": {"ben": {"answersFor": [], "rules": true}, "eve": {}}, "life": "2h"},
		"responder": {"start": "tmux", "command": ["x", "y"]},
		"store": {"url": "${DB}", "key": "${DIR}/key", "keep": "0s", "checkpoints": {"log": true}},
		"evaluation": {"profiles": {"p": {}}}}`)
	http, err := c.HTTP(env)
	must(t, err)
	store, err := c.Store(env)
	must(t, err)
	wantStore := Store{URL: "postgres://h/d", Key: "/srv/key"}
	wantStore.Checkpoint.Log = true
	for _, x := range []struct{ got, want any }{
		{*c.Builtin, Builtin{Time: true, Root: "notes"}},
		{http, HTTP{Hosts: []string{"a.example"}, Origins: []string{"https://a.example"}, Grace: new(time.Duration),
			Tokens: []Token{
				{Fingerprint: Fingerprint("0123456789abcdef"), Principal: "ci", Profiles: []string{"p"}}}}},
		{*c.Console, Console{Address: "7391", Life: 2 * time.Hour,
			People: map[string]Person{"ben": {AnswersFor: []string{}, Rules: true}, "eve": {}}}},
		{*c.Responder, Responder{Start: "tmux", Command: []string{"x", "y"}}},
		{store, wantStore},
		{*parse(t, `{"console": false}`).Console, Console{Off: true}},
		{*parse(t, `{"responder": "off"}`).Responder, Responder{Start: "off"}},
		{*parse(t, `{"builtin": false}`).Builtin, Builtin{}},
		{parse(t, `{}`).KeptResults(), Results{Keep: 24 * time.Hour, Largest: 32 << 20, Bytes: 256 << 20, Number: 1000}},
		{parse(t, `{"results": {"keep": "1h", "largest": "2MiB", "bytes": "3MiB", "number": 4}}`).KeptResults(),
			Results{Keep: time.Hour, Largest: 2 << 20, Bytes: 3 << 20, Number: 4}},
		{parse(t, `{"results": false}`).KeptResults().Off, true},
		{(*Config)(nil).KeptResults().Off, false},
		{parse(t, `{}`).Sessions(), Sessions{Keep: 168 * time.Hour, Largest: 16 << 20, Bytes: 256 << 20, Number: 100,
			Versions: 20}},
		{parse(t, `{"sessions": {"keep": "1h", "largest": "2MiB", "bytes": "3MiB", "number": 4, "versions": 5}}`).Sessions(),
			Sessions{Offered: true, Keep: time.Hour, Largest: 2 << 20, Bytes: 3 << 20, Number: 4, Versions: 5}},
		{parse(t, `{"sessions": false}`).Sessions().Off, true},
		{(*Config)(nil).Sessions().Off, false},
		{storeOf(t, nil), Store{Keep: 720 * time.Hour}},
	} {
		if diff := cmp.Diff(x.want, x.got, cmpopts.IgnoreUnexported(Token{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestVariablesThatDoNotFitHaveTheirPlace: all of them at once, each at the text that has it.
func TestVariablesThatDoNotFitHaveTheirPlace(t *testing.T) {
	c := parse(t, `{
		"store": {"path": "${PATH_IS}", "collector": "${COLLECTOR}", "key": "${UNSET}"},
		"http": {"tokens": [{"token": "${UNSET}"}, {"token": "${SHORT}"}]}}`)
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"PATH_IS": "postgres://u:secret@h/d", "COLLECTOR": "localhost:4318", "SHORT": "abc"}[name]
		return v, ok
	}
	_, storeErr := c.Store(env)
	http, httpErr := c.HTTP(env)
	for _, row := range []struct {
		err  error
		want []string
	}{
		{storeErr, []string{`2:21 "this is a URL`, `2:48 "\"collector\" must be the URL`,
			`2:71 "the variable UNSET is not set`}},
		{httpErr, []string{`3:33 "the variable UNSET`, `3:56 "the token in SHORT has 3 characters`}},
	} {
		problems, _ := row.err.(Problems)
		if len(problems) != len(row.want) {
			t.Errorf("got %v, want %q", row.err, row.want)
			continue
		}
		for i, p := range problems {
			if got := fmt.Sprintf("%d:%d %q", p.Line, p.Column, p.Message); !contains(got, row.want[i]) ||
				contains(p.String(), "secret") || p.Hint == "" {
				t.Errorf("got %s, want %s", got, row.want[i])
			}
		}
	}
	if len(http.Tokens) != 2 || http.Tokens[0].Fingerprint != "" || http.Tokens[1].Fingerprint != "" {
		t.Errorf("unusable tokens have a fingerprint: %+v", http.Tokens)
	}
}

// TestEveryKeyIsCheckedAtOnce: one file with problems in every key, also inside servers, gives all of them with their
// places and, where there is a way out that the message does not name, a hint.
func TestEveryKeyIsCheckedAtOnce(t *testing.T) {
	_, err := Parse("c.json", []byte(`{
"mcpServers": {
  "fs": {"command": ["npx", 7], "args": ["-y", null], "timeout": "30s", "excludeTool": ["rm"]},
  "web": {"url": "ftp://a.example", "headers": {"X Y": "1"}}},
"builtin": {"filesystem": {"rot": "notes"}},
"capacity": {"sessions": 2}, "results": {"keep": "9000h", "largest": "1KiB", "number": 0},
"store": {"url": "mysql://h/d", "durability": "nromal", "keep": "-1h"},
"http": {"tokens": [{"token": "secret"}, {"principal": "ci"}], "grace": "soon"},
"console": {"adress": "127.0.0.1:7391"},
"responder": {"start": "always"},
"sessions": {"keep": "9000h", "largest": "1KiB", "number": 0, "versions": 1001},
"budgets": [{"id": "a", "calls": 1, "writes": 2, "every": "week"}, {"id": "a", "tool": "[", "each": ["me"]}],
"evaluation": {"profiles": {"p": {"denylst": []}}}}`))
	problems, _ := err.(Problems)
	want := []string{
		`3:29 server "fs": "command"`, `3:48 server "fs": "args"`, `3:66 server "fs": "timeout"`,
		`3:73 server "fs": "excludeTool"`,
		`4:18 server "web": its URL`, `4:56 server "web": its header`, `5:27 "filesystem" needs a root`,
		`5:28 unknown key "rot"`,
		`6:26 "sessions"`, `6:50 "keep" must be at most 720h`, `6:70 "largest" must be at least 1MiB`,
		`6:88 "number"`, `7:18 the URL of a database`, `7:47 "durability"`, `7:65 "keep"`, `8:31 a token must not`,
		`8:42 an entry of "tokens" has no "token"`, `8:73 "grace"`, `9:13 unknown key "adress"`, `10:24 "start"`,
		`11:22 "keep" must be at most 2160h`, `11:42 "largest" must be at least 1MiB`, `11:60 "number"`,
		`11:75 "versions" must be at most 1000`, `12:37 a budget counts one thing`, `12:59 "every"`, `12:68 the budget has no "every"`,
		`12:68 the budget has no "calls", "writes" or "bytes"`, `12:75 two budgets have the id "a"`, `12:89 [ is never closed`, `12:102 an entry of "each"`,
		`13:35 unknown key "denylst"`,
	}
	if len(problems) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%v", len(problems), len(want), err)
	}
	for i, p := range problems {
		if got := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Message); !contains(got, want[i]) ||
			p.Hint == "" && !contains(got, "sessions") && !contains(got, "number") {
			t.Errorf("got %s (hint %q), want %s", got, p.Hint, want[i])
		}
	}
}

package codemode_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/testwait"
)

// The tests of this file are checks of POLICY.md section 8 that need a running program,
// by name. testdata/profiles/checks.txt lists where the others are.

// TestB3WhatWasDecidedIsWhatIsSent: an argument that is another thing at each reading is
// read once, before the decision.
func TestB3WhatWasDecidedIsWhatIsSent(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {
		"denylist": [{"id": "not-b", "tool": "filesystem__*", "when": {"/path": {"suffix": "b.md"}}}]}}}}`)
	for name, argument := range map[string]string{
		"a getter":  `{ get path() { return reads++ ? "b.md" : "a.md" } }`,
		"a Proxy":   `new Proxy({ path: "a.md" }, { get: (o, k) => k === "path" && reads++ ? "b.md" : o[k] })`,
		"a toJSON":  `{ toJSON: () => ({ path: reads++ ? "b.md" : "a.md" }) }`,
		"a changed": `(() => { const o = { path: "a.md" }; Promise.resolve().then(() => { o.path = "b.md" }); return o })()`,
	} {
		t.Run(name, func(t *testing.T) {
			got := value[any](t, e, "p", `let reads = 0; return await codemode.filesystem__read_text_file(`+argument+`);`)
			if text := fmt.Sprint(got); !strings.Contains(text, "alpha") || strings.Contains(text, "beta") {
				t.Fatalf("got %s, want the note a.md", text)
			}
			entries := e.Record().Journal().Entries()
			sum := sha256.Sum256([]byte(`{"path":"a.md"}`))
			if last := entries[len(entries)-1]; last.Args != "sha256:"+hex.EncodeToString(sum[:]) || last.Outcome != "ok" {
				t.Errorf("the record has %+v", last)
			}
		})
	}
}

// TestB4OneGateForEveryRoute: whichever way a program calls, the same call is denied, and
// each attempt is in the record. It is failure 18 of POLICY.md section 7.1 too.
func TestB4OneGateForEveryRoute(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"denylist": ["filesystem__delete_file"]}}}}`)
	got := value[[]string](t, e, "p", `
		const args = { path: "a.md" }, reasons = [];
		const attempt = async f => { try { await f(); reasons.push("passed"); } catch (e) { reasons.push(e.reason ?? String(e)); } };
		const alias = codemode.filesystem__delete_file, { filesystem__delete_file: taken } = codemode;
		await attempt(() => codemode.filesystem__delete_file(args));
		await attempt(() => alias(args));
		await attempt(() => taken.call(null, args));
		await attempt(() => Promise.all([1].map(() => codemode["filesystem__" + "delete_file"](args))));
		await attempt(() => codemode.filesystem.delete_file(args));
		await attempt(() => new Promise((ok, no) => setTimeout(() => alias(args).then(ok, no), 1)));
		await attempt(() => Reflect.apply(alias, undefined, [args]));
		await attempt(() => (async () => { for await (const f of [alias]) await f(args); })());
		return reasons;`)
	for i, reason := range got {
		if reason != "denied" {
			t.Errorf("route %d: got %q, want denied", i, reason)
		}
	}
	refused := 0
	for _, entry := range e.Record().Journal().Entries() {
		if entry.Kind == hostfns.KindRefused && entry.Reason == "denied" && entry.Rule == "filesystem__delete_file" {
			refused++
		}
	}
	if refused != 8 || len(got) != 8 {
		t.Errorf("got %d entries for %d attempts, want 8", refused, len(got))
	}
}

// TestH5AShadowProfileIsOnlyLogged: what it would decide otherwise is in the log, once for
// each call, and changes nothing.
func TestH5AShadowProfileIsOnlyLogged(t *testing.T) {
	var log testwait.Buffer
	e := open(t, `{"evaluation": {"profiles": {
		"live": {"allowlist": ["filesystem__*"], "shadow": "next"},
		"next": {"allowlist": ["filesystem__list_*"], "asklist": [{"id": "reads", "tool": "filesystem__read_*"}]}}}}`,
		func(o *codemode.Options) { o.Log = log.Logger() })
	value[any](t, e, "live", `
		await codemode.filesystem__list_directory({ path: "." });
		await codemode.filesystem__read_text_file({ path: "a.md" });
		return 1;`)
	text := log.String()
	if n := strings.Count(text, "the shadow profile would decide otherwise"); n != 1 {
		t.Errorf("%d differences are logged, want 1:\n%s", n, text)
	}
	for _, want := range []string{"profile=live", "shadow=next", "tool=filesystem__read_text_file",
		`ask instead of allow: the rule \"reads\"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not have %q:\n%s", want, text)
		}
	}
}

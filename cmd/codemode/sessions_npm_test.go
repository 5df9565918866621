package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/pgtest"
)

// A step is a program of a session or a change of one, and how its reply begins.
type step struct{ session, code, want string }

// The programs of a session, whose first one makes a class with private fields and a closure over a let. The server dies
// after the fifth, another one takes the seventh, and the session is forked after the eighth and rolled back at the end.
var (
	beforeDeath = []step{
		{"s", `let base = 10;
			class Account { #sum = 0; add(n: number) { this.#sum += n; return this.#sum } get sum() { return this.#sum } }
			const account = new Account();
			const bump = (by = 1) => (base += by);
			return [account.add(base), bump()]`, `[10,11]`},
		{"s", `return [account.add(bump()), base]`, `[22,12]`},
		{"s", `const seen = new Map([[account, base]]); return [account.sum, seen.get(account)]`, `[22,12]`},
		{"s", `bump(8); return account.add(base)`, `42`},
		{"s", `const history: number[] = [account.sum]; return history`, `[42]`},
	}
	afterDeath = []step{
		{"s", `history.push(account.add(bump(-10))); return [history, seen.has(account)]`, `[[42,52],true]`},
	}
	elsewhere = []step{
		{"s", `history.push(account.add(1)); return [history, bump(0)]`, `[[42,52,53],10]`},
		{"s", `class Saving extends Account { twice() { return this.add(2) } }
			const saving = new Saving(); return [saving.twice(), account.sum]`, `[2,53]`},
		{"", `{"action": "fork", "name": "s", "as": "branch"}`, "The session branch is a fork of s at version 8."},
		{"s", `return [account.add(100), bump(5), saving.twice()]`, `[153,15,4]`},
		{"branch", `return [account.add(1000), bump(50), saving.twice()]`, `[1053,60,4]`},
		{"s", `return [account.sum, base, history]`, `[153,15,[42,52,53]]`},
		{"branch", `return [account.sum, base, seen.get(account)]`, `[1053,60,12]`},
		{"", `{"action": "rollback", "name": "s", "version": 3}`, "The session s is as it was at version 3"},
		{"s", `return [account.sum, base, typeof history, seen.get(account), bump()]`, `[22,12,"undefined",12,13]`},
		{"branch", `return [account.sum, base, history]`, `[1053,60,[42,52,53]]`},
	}
)

// steps takes steps through a real client; target is a URL or the arguments of codemode.
func steps(t *testing.T, sdk, era string, target []string, all ...[]step) {
	t.Helper()
	var plan []any
	var want []string
	for i, part := range all {
		if i > 0 {
			plan, want = append(plan, map[string]any{"kill": true}), append(want, "killed")
		}
		for _, s := range part {
			tool, arguments := "codemode_session", map[string]any{}
			if s.session != "" {
				tool, arguments = "codemode_eval", map[string]any{"code": s.code, "session": s.session}
			} else if err := json.Unmarshal([]byte(s.code), &arguments); err != nil {
				t.Fatal(err)
			}
			plan, want = append(plan, map[string]any{"tool": tool, "arguments": arguments}), append(want, s.want)
		}
	}
	js, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(target) > 1 {
		target = append([]string{codemodeBinary(t)}, target...)
	}
	cmd := exec.Command("node", append([]string{"steps.mjs", sdk, era, string(js)}, target...)...)
	cmd.Dir = npmDir(t)
	cmd.Env = append(os.Environ(), "TOKEN=anna-has-this-token")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var said []struct {
		Text    string
		IsError bool
	}
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil || len(said) != len(want) {
		t.Fatalf("the client ended with %v\n%s\n%s", err, out, &problems)
	}
	for i, w := range want {
		var value bytes.Buffer // a program's, which is shown with line breaks
		value.WriteString(said[i].Text)
		var js json.RawMessage
		if json.NewDecoder(strings.NewReader(said[i].Text)).Decode(&js) == nil {
			value.Reset()
			if err := json.Compact(&value, js); err != nil {
				t.Fatal(err)
			}
		}
		if said[i].IsError || !strings.HasPrefix(value.String(), w) {
			t.Errorf("step %d gives\n%s\nwant %s", i+1, said[i].Text, w)
		}
	}
}

// A session of ten programs with clients as people have them, on both generations of the protocol.
func TestRealClientsGoOnInASession(t *testing.T) {
	t.Parallel()
	npmDir(t)
	const rules = `"sessions": true, "evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}`
	file, postgres := func(*testing.T) string { return "codemode.db" },
		func(t *testing.T) string { return pgtest.Start(t).URL("fleet") }
	for _, client := range []struct {
		sdk, era string
		store    func(*testing.T) string // of the replicas over HTTP
	}{{"v1", "legacy", postgres}, {"v2", "legacy", file}, {"v2", "2026-07-28", postgres}} {
		t.Run(client.sdk+" "+client.era+" over stdio", func(t *testing.T) {
			t.Parallel()
			config := write(t, filepath.Join(t.TempDir(), "codemode.json"), "{"+rules+"}")
			serve := []string{"serve", "--project", "none", "--state", t.TempDir(), "--config", config}
			steps(t, client.sdk, client.era, serve, beforeDeath, afterDeath)
			steps(t, client.sdk, client.era, serve, elsewhere)
		})
		t.Run(client.sdk+" "+client.era+" over HTTP", func(t *testing.T) {
			t.Parallel()
			config, err := json.Marshal(client.store(t))
			if err != nil {
				t.Fatal(err)
			}
			file := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{"store": `+string(config)+`, "http": {"tokens": [
					{"token": "${TOKEN}", "principal": "anna"}]}, `+rules+`}`)
			state := t.TempDir()
			start := func() *served {
				return serveOverHTTP(t, "127.0.0.1:0", []string{"TOKEN=anna-has-this-token"}, "--config", file, "--state", state)
			}
			first, second := start(), start()
			steps(t, client.sdk, client.era, []string{first.url}, beforeDeath)
			if err := first.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-first.ended
			first = start()
			steps(t, client.sdk, client.era, []string{first.url}, afterDeath)
			steps(t, client.sdk, client.era, []string{second.url}, elsewhere)
			first.end()
			second.end()
		})
	}
}

package codemode_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
)

// A chooser chooses what programs and servers pass under keys that look like secrets.
type chooser struct{ *rand.Rand }

var (
	hostileKeys = []string{"password", "token", "secret", "api_key", "Authorization", "cookie", "note", "to",
		"bank__transfer", "credentials"}
	hostileWords = []string{"bank__transfer", "bank", "transfer", "says", "up__says", "local:anna", "claude-code",
		"careful",
		"denied", "refused", "bypass", "await codemode.bank__transfer", "codemode", "time__now", "program.ts", "mallory",
		"DE89370400440532013000", "550e8400-e29b-41d4-a716-446655440000", "tok-5d8f0c71aa9e3b6d", "ghp_abcdefghij0123456789",
		configCanary, "x " + configCanary + " y", "päss \u202e\"word\"", strings.Repeat("pad ", 800), "\n\n// end", ""}
)

const configCanary = "canary-of-the-config-5d8f0c71aa"

func (h chooser) word() string {
	w := hostileWords[h.IntN(len(hostileWords))]
	switch h.IntN(6) {
	case 0:
		return base64.StdEncoding.EncodeToString([]byte(w))
	case 1:
		return hex.EncodeToString([]byte(w))
	}
	return w
}

func (h chooser) value(depth int) any {
	switch n := h.IntN(8); {
	case n == 0 && depth > 0:
		return []any{h.value(depth - 1), h.value(depth - 1)}
	case n <= 2 && depth > 0:
		return h.object(depth - 1)
	case n == 3:
		return h.IntN(1_000_000)
	}
	return h.word()
}

func (h chooser) object(depth int) map[string]any {
	m := map[string]any{}
	for range 1 + h.IntN(4) {
		m[hostileKeys[h.IntN(len(hostileKeys))]] = h.value(depth)
	}
	return m
}

// program makes calls: allowed ones, refused ones, and of tools that do not exist.
func (h chooser) program() string {
	var b strings.Builder
	quoted := func(v any) string { text, _ := json.Marshal(v); return string(text) }
	b.WriteString("let got = {};\n")
	for range 1 + h.IntN(5) {
		tool := []string{"bank__transfer", "up__says", "time__now", "up__" + h.word()}[h.IntN(4)]
		args := quoted(h.object(2))
		if h.IntN(3) == 0 {
			args = "{note: got, token: got}"
		}
		fmt.Fprintf(&b, "await codemode[%s](%s).then(v => { got = v }, () => 0);\n", quoted(tool), args)
	}
	if h.IntN(4) == 0 {
		fmt.Fprintf(&b, "throw new Error(%s)\n", quoted(h.word()))
	}
	b.WriteString("return {token: got}")
	return b.String()
}

// An observed entry is what the record was given.
type observedEntry struct {
	tool, server, principal, profile, args, result string
}

// Programs and servers that choose what they pass under the names of secrets blank nothing in the record: each entry
// names what codemode knows, and what is masked comes back byte for byte. CODEMODE_PROGRAMS is how many.
func TestP39_1RandomProgramsDoNotBlankTheRecord(t *testing.T) {
	programs := 300
	if n, err := strconv.Atoi(os.Getenv("CODEMODE_PROGRAMS")); err == nil {
		programs = n
	}
	var mu sync.Mutex
	observed := map[string][]observedEntry{}
	id := func(e *call.Entry) string { return fmt.Sprintf("%s %s %d %s", e.Run, e.Kind, e.Call, e.State) }
	answers := chooser{rand.New(rand.NewPCG(39, 1))}
	says := func(context.Context, map[string]any) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		if answers.IntN(4) == 0 {
			return nil, fmt.Errorf("token=%s: %s", answers.word(), answers.word())
		}
		return answers.object(2), nil
	}
	dir := t.TempDir()
	e := open(t, fmt.Sprintf(`{"store":{"share":"4GiB"},"mcpServers":{"local":{"command":"/nonexistent/server","env":{"API_KEY":%q}}},
		"evaluation":{"defaultProfile":"careful","profiles":{
		"careful":{"allowlist":["bank__*","up__*"],"denylist":["time__*"]}}}}`,
		configCanary), recorded(dir),
		embeds(codemode.Server{Name: "bank", Functions: []codemode.Function{codemode.Func("transfer", "Moves money.",
			func(_ context.Context, in map[string]any) (any, error) { return in, nil })}},
			codemode.Server{Name: "up", Untrusted: true, Functions: []codemode.Function{codemode.Func("says", "", says)}}),
		func(o *codemode.Options) {
			o.Observer = recorder.Observer{Entry: func(_ context.Context, e *call.Entry) {
				saw := observedEntry{tool: e.Tool, server: e.Server, principal: e.Principal, profile: e.Profile}
				if e.Args != nil {
					saw.args = e.Args.RawProposed.String()
				}
				if e.Result != nil {
					saw.result = string(e.Result.Raw)
				}
				mu.Lock()
				defer mu.Unlock()
				observed[id(e)] = append(observed[id(e)], saw)
			}}
		})
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			h := chooser{rand.New(rand.NewPCG(39, uint64(worker+2)))}
			for range programs / 4 {
				_, _ = e.Eval(t.Context(), codemode.Request{Profile: "careful", Principal: "local:anna", Client: "claude-code",
					Code: h.program()})
			}
		})
	}
	wg.Wait()
	must(t, e.Close(t.Context()))
	key, err := audit.LoadKey(filepath.Join(dir, "record.key"))
	must(t, err)
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "codemode.db"), ReadOnly: true})
	must(t, err)
	defer db.Close()
	entries, calls, masked := 0, 0, 0
	err = audit.Entries(t.Context(), db, store.Query{Sealed: true}, func(e *audit.Entry) error {
		if e.Run == "" || e.Count > 0 || e.Kind == audit.Policy {
			return nil
		}
		all := observed[id(&e.Entry)]
		if len(all) == 0 {
			return fmt.Errorf("nobody saw %s", e.Line())
		}
		saw := all[0]
		observed[id(&e.Entry)] = all[1:]
		if entries++; e.Kind == audit.Call {
			calls++
		}
		if e.Server != saw.server || e.Principal != "local:anna" || e.Profile != "careful" || e.Client != "claude-code" ||
			saw.server != "" && e.Tool != saw.tool || e.Kind == audit.Call && e.Tool == "" {
			t.Errorf("the entry does not say who did what: %.500s", e.Line())
		}
		if bytes.Contains(e.Line(), []byte(configCanary)) {
			t.Errorf("the entry holds a secret of the configuration: %.500s", e.Line())
		}
		if e.Sealed != "" {
			masked++
		}
		if err := e.Reveal(key); err != nil {
			return err
		}
		if e.Tool != saw.tool || saw.args != "" && string(e.Args.Redacted) != saw.args {
			t.Errorf("revealed: %s with %s\nwant     %s with %s", e.Tool, e.Args.Redacted, saw.tool, saw.args)
		}
		if saw.result != "" && !sameJSON(t, e.Result.Redacted, saw.result) {
			t.Errorf("revealed: the result %s\nwant %s", e.Result.Redacted, saw.result)
		}
		return nil
	})
	must(t, err)
	for what, all := range observed {
		if len(all) > 0 && strings.HasPrefix(what, "r_") {
			t.Errorf("the record does not have %s", what)
		}
	}
	if masked < entries/10 || calls < programs {
		t.Errorf("%d of %d entries have something sealed, %d calls: the test shows nothing", masked, entries, calls)
	}
	for _, name := range []string{"codemode.db", "codemode.db-wal", "checkpoints.jsonl"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && bytes.Contains(raw, []byte(configCanary)) {
			t.Errorf("%s holds a secret of the configuration", name)
		}
	}
	t.Logf("%d programs, %d entries, %d of calls, %d with sealed values", programs, entries, calls, masked)
}

func sameJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Error(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Error(err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// What one principal writes into the record has a share. Its programs learn when there is room again; nothing of a call
// beyond the share is sent, and other principals go on.
func TestP39_9TheShareOfARecordEndsInALimitError(t *testing.T) {
	t.Parallel()
	const config = `{"store": {"share": "1MiB"}, "evaluation": {"profiles": {"p": {"allowlist": ["time__now"],
		"asklist": ["filesystem__*"], "limits": {"calls": 100000, "wall": "5m", "cpu": "60s"}}}}}`
	// It makes calls until one is refused.
	const hammer = `
		for (let n = 0; n < 20000; n++) {
			try { await codemode.time__now({}) } catch (e) {
				if (e.name !== "LimitError") throw e
				for (let i = 0; i < 1000; i++) await codemode.time__now({}).catch(() => 1)
				const asked = await codemode.filesystem__write_file({path: "new.md", content: "x"}).catch((e) => e.name)
				return [n, e.budget, e.retryAfter > 0 && e.retryAfter < 7200, Date.parse(e.until) > Date.now(), asked]
			}
		}`
	for _, unchecked := range []bool{false, true} {
		t.Run(fmt.Sprintf("unchecked %v", unchecked), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e := open(t, config, recorded(dir))
			run := func(principal, code string, unchecked bool) (string, error) {
				r, err := e.Eval(t.Context(), codemode.Request{Principal: principal, Unchecked: unchecked, Profile: "p", Code: code})
				if err != nil {
					return "", err
				}
				return string(r.Value), nil
			}
			got, err := run("anna", hammer, unchecked)
			if err != nil || !strings.HasSuffix(got, `,"record",true,true,"LimitError"]`) {
				t.Fatalf("got %s (%v)", got, err)
			}
			var made []any
			if err := json.Unmarshal([]byte(got), &made); err != nil || made[0].(float64) < 100 {
				t.Errorf("a share of 1 MiB has room for %v calls", made)
			}
			other := "anna"
			if unchecked {
				other = "invented"
			}
			for range 100 {
				_, err = run(other, "return 1", unchecked)
				var full *hostfns.LimitError
				if !errors.As(err, &full) || full.Budget != "record" || full.Until.Before(time.Now()) ||
					!strings.HasPrefix(err.Error(), "not started: ") {
					t.Fatalf("a new run: %v", err)
				}
			}
			for range 20 {
				if got, err := run("bert", "await codemode.time__now({}); return 1", false); err != nil || got != "1" {
					t.Fatalf("another principal: %s (%v)", got, err)
				}
			}
			must(t, e.Close(t.Context()))
			counts, sent := map[string]int{}, 0
			for _, e := range readRecord(t, dir) {
				counts[e.Kind+" "+e.State]++
				if e.Tool == "time__now" && e.State == "ok" && e.Principal == "anna" {
					sent++
				}
				if e.State == "left out" && e.Tools["run refused"] != 100 {
					t.Errorf("counted %v", e.Tools)
				}
			}
			if sent != int(made[0].(float64)) || counts["notice left out"] != 1 || counts["notice share"] != 1 ||
				counts["run running"] != counts["run ok"] || counts["run refused"] != 0 || counts["call pending"] != 0 {
				t.Errorf("%d calls were made, %v returned; the record has %v", sent, made[0], counts)
			}
		})
	}
}

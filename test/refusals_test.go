package codemode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/cachetest"
)

// waits is a person who takes a while, so that nobody takes the answer for a program's.
func waits(reply call.Answer, err error) func(context.Context) (call.Answer, error) {
	return func(ctx context.Context) (call.Answer, error) {
		select {
		case <-time.After(350 * time.Millisecond):
			return reply, err
		case <-ctx.Done():
			return call.Answer{}, context.Cause(ctx)
		}
	}
}

// A slow channel answers as it is told to.
type slow struct {
	answer func(context.Context) (call.Answer, error)
}

func (slow) Name() string { return "elicitation" }
func (s slow) Ask(ctx context.Context, _ *approvals.Showing) (call.Answer, error) {
	return s.answer(ctx)
}

// C7: seven refusals have seven codes, and a program can catch each with toolName, reason and retryable.
func TestC7SevenRefusals(t *testing.T) {
	const (
		rules = `{"evaluation": {"profiles": {"p": {%s"asklist": ["filesystem__write_file"], "denylist": ["filesystem__delete_*"]}}}}`
		write = `filesystem__write_file({path: "a.md", content: "x"})`
	)
	yes := call.Answer{Allowed: true}
	for _, tt := range []struct {
		reason, more, call string
		person             func(context.Context) (call.Answer, error) // nil: no channel
	}{
		{"denied", "", `filesystem__delete_file({path: "a.md"})`, nil},
		{"elicitation_declined", "", write, waits(call.Answer{}, nil)},
		{"no_approver", "", write, nil},
		{"timeout", `"ask": {"timeout": "300ms"}, `, write, func(ctx context.Context) (call.Answer, error) {
			<-ctx.Done()
			return call.Answer{}, context.Cause(ctx)
		}},
		{"canceled", "", write, waits(call.Answer{}, prompt.ErrDismissed)},
		{"limit", `"limits": {"asks": 1}, `,
			`filesystem__write_file({path: "first.md", content: "x"}).catch(() => {}); await codemode.` + write,
			waits(yes, nil)},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			var people []approvals.Channel
			if tt.person != nil {
				people = append(people, slow{tt.person})
			}
			got := value[string](t, open(t, fmt.Sprintf(rules, tt.more)), "p",
				"try { await codemode."+tt.call+`; return "made" } catch (e) { return [e.name, e.toolName, e.reason, e.retryable].join(" ") }`, people...)
			tool, _, _ := strings.Cut(tt.call, "(")
			if want := "ToolCallDeniedError " + tool + " " + tt.reason + " false"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	t.Run("policy_changed", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "codemode.json")
		put := func(text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		put(fmt.Sprintf(rules, ""))
		e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: path, Root: t.TempDir(), CacheDir: cachetest.Dir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close(context.Background()) })
		changed := make(chan struct{}, 100)
		defer e.Subscribe(func() { changed <- struct{}{} })()
		person := slow{func(context.Context) (call.Answer, error) {
			before := e.Config().Profile("p").Digest()
			put(strings.Replace(fmt.Sprintf(rules, ""), `"filesystem__delete_*"`, `"filesystem__*"`, 1))
			for e.Config().Profile("p").Digest() == before {
				<-changed
			}
			return yes, nil
		}}
		got := value[string](t, e, "p",
			"try { await codemode."+write+`; return "made" } catch (e) { return [e.name, e.toolName, e.reason, e.retryable].join(" ") }`, person)
		if want := "ToolCallDeniedError filesystem__write_file policy_changed false"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// C14: the reason of a refusal reaches the program as a person's words, escaped and cut.
func TestC14ReasonsReachTheProgram(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"]}}}}`)
	words := "use b.md\x1b[2J\u202e\n" + strings.Repeat("x", 400)
	got := value[string](t, e, "p",
		`try { await codemode.filesystem__write_file({path: "a.md", content: "x"}) } catch (e) { return e.detail }`,
		slow{waits(call.Answer{Reason: words}, nil)})
	if !strings.HasPrefix(got, `a person refused this call and wrote: "use b.md\u{1B}[2J\u{202E}\nxxx`) ||
		strings.ContainsAny(got, "\x1b\u202e\n") || len([]rune(got)) > 300+60 {
		t.Errorf("got %q", got)
	}
}

// C18: when a refusal that nobody caught stops a run, its effects so far are told: done, refused, and not started.
func TestC18EffectsSoFar(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": [{"tool": "filesystem__write_file", "when": {"/path": {"eq": "c.md"}}}], "allowlist": ["filesystem__*"], "limits": {"refusals": 1}}}}}`)
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{slow{waits(call.Answer{}, nil)}}, Code: `
		for (const name of ["a", "b"]) await codemode.filesystem__write_file({path: name + ".md", content: "x"});
		await codemode.filesystem__write_file({path: "c.md", content: "x"});
		for (const name of ["d", "e"]) await codemode.filesystem__write_file({path: name + ".md", content: "x"});`})
	if err == nil || r == nil {
		t.Fatalf("got %v, %v", r, err)
	}
	var states []string
	for _, c := range r.Calls {
		states = append(states, string(c.State))
	}
	if diff := cmp.Diff([]string{"done", "done", "refused"}, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := r.Text(err); !strings.Contains(text, "calls: 3 (2 done, 1 refused)") {
		t.Errorf("got\n%s", text)
	}
	both, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{slow{waits(call.Answer{}, nil)}}, Code: `
		await codemode.filesystem__write_file({path: "a.md", content: "x"}); await codemode.filesystem__write_file({path: "b.md", content: "x"});
		await Promise.all(["c", "c2", "c3"].map(name => codemode.filesystem__write_file({path: "c.md", content: name})));`})
	if err == nil {
		t.Fatal("it was refused")
	}
	left := map[string]int{}
	for _, c := range both.Calls {
		left[string(c.State)]++
	}
	if left["done"] != 2 || left["refused"]+left["not started"] != 3 || left["refused"] == 0 {
		t.Errorf("two done, and of three one is refused and the others refused with it or not started: %v", left)
	}
}

// F2: the sixth identical call of a run asks, though a rule allows it.
func TestF2TheSameCallAgainAsks(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["filesystem__*"], "limits": {"repeat": 5}}}}}`)
	d := &desk{answer: refuse}
	got := value[string](t, e, "p", `
		const out = [];
		for (let i = 0; i < 6; i++) try { await codemode.filesystem__write_file({path: "a.md", content: "x"}); out.push("ok") } catch (e) { out.push(e.reason) }
		await codemode.filesystem__write_file({path: "b.md", content: "x"});
		return out.join(" ");`, d)
	if got != "ok ok ok ok ok elicitation_declined" || len(d.forms) != 1 {
		t.Errorf("got %s, asked about %v", got, d.forms)
	}
	if !strings.Contains(d.texts[0], "the same call was made 5 times already") {
		t.Errorf("why is not said:\n%s", d.texts[0])
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// rounds is what testdata/npm/rounds.mjs says about one program.
type rounds struct {
	Text    string
	Error   string
	Version string
	Forms   []struct {
		Message   string
		Decisions int
	}
	Progress []string

	listens bool // the client asks for progress
}

// run runs a program through a real client; target is a URL or the arguments of codemode.
func (r *rounds) run(t *testing.T, sdk, era string, wait int, program string, target ...string) {
	t.Helper()
	if err := r.try(npmDir(t), codemodeBinary(t), sdk, era, wait, program, target...); err != nil {
		t.Fatal(err)
	}
}

func (r *rounds) try(npm, codemode, sdk, era string, wait int, program string, target ...string) error {
	if len(target) > 1 {
		target = append([]string{codemode}, target...)
	}
	cmd := exec.Command("node", append([]string{"rounds.mjs", sdk, era, fmt.Sprint(wait), "codemode_eval", program},
		target...)...)
	cmd.Dir = npm
	if r.listens {
		cmd.Env = append(os.Environ(), "PROGRESS=1")
	}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, r)
	}
	if err != nil {
		return fmt.Errorf("the client ended with %w\n%s\n%s", err, out, &problems)
	}
	return nil
}

// POLICY.md C1, C2: a program with two questions after each other and five at the same moment runs with clients as
// people have them, on both generations of the protocol and over both transports; the five are one form.
func TestC1RealClientsOnBothGenerations(t *testing.T) {
	t.Parallel()
	npmDir(t)
	const program = `
		const write = path => codemode.filesystem__write_file({ path, content: "x" });
		await write("a1.md");
		await write("a2.md");
		await Promise.all(["b1.md", "b2.md", "b3.md", "b4.md", "b5.md"].map(write));
		return "all written"`
	for _, test := range []struct{ sdk, era, http, stdio string }{
		{"v1", "legacy", "2025-11-25", "2025-11-25"},
		{"v2", "legacy", "2025-11-25", "2025-11-25"},
		{"v2", "auto", "2026-07-28", "2026-07-28"},
		{"v2", "2026-07-28", "2026-07-28", "2026-07-28"},
	} {
		for _, over := range []string{"HTTP", "stdio"} {
			t.Run(test.sdk+" "+test.era+" over "+over, func(t *testing.T) {
				root := t.TempDir()
				config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
					`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`)
				flags := []string{"--config", config, "--root", root}
				var got rounds
				version := test.stdio
				if over == "HTTP" {
					s := serveOverHTTP(t, "0", nil, flags...)
					version = test.http
					got.run(t, test.sdk, test.era, 400, program, s.url)
					s.end()
				} else {
					got.run(t, test.sdk, test.era, 400, program, append([]string{"serve", "--project", "none", "--state", t.TempDir()},
						flags...)...)
				}
				if got.Version != version || got.Error != "" || !strings.HasPrefix(got.Text, `"all written"`) {
					t.Fatalf("on %s: %s\n%s", got.Version, got.Error, got.Text)
				}
				if len(got.Forms) != 3 || got.Forms[0].Decisions != 1 || got.Forms[1].Decisions != 1 ||
					got.Forms[2].Decisions != 5 {
					t.Errorf("the forms: %+v", got.Forms)
				}
				if files, err := os.ReadDir(root); err != nil || len(files) != 7 {
					t.Errorf("%d files: %v", len(files), err)
				}
			})
		}
	}
}

// Real clients see the console of a program while it runs, on both generations of the protocol and over both
// transports.
func TestRealClientsSeeAProgramRun(t *testing.T) {
	t.Parallel()
	npmDir(t)
	const program = `
		console.log("first");
		await codemode.time__now({});
		await new Promise(r => setTimeout(r, 700));
		console.warn("second");
		await new Promise(r => setTimeout(r, 700));
		return "done"`
	const want = "log: first\ncall 1: time__now\ncall 1: time__now done\nwarn: second\n"
	for _, test := range []struct{ sdk, era string }{{"v1", "legacy"}, {"v2", "legacy"}, {"v2", "2026-07-28"}} {
		for _, over := range []string{"HTTP", "stdio"} {
			t.Run(test.sdk+" "+test.era+" over "+over, func(t *testing.T) {
				got := rounds{listens: true}
				if over == "HTTP" {
					s := serveOverHTTP(t, "0", nil)
					defer s.end()
					got.run(t, test.sdk, test.era, 0, program, s.url)
				} else {
					got.run(t, test.sdk, test.era, 0, program, "serve", "--project", "none", "--state", t.TempDir())
				}
				seen := strings.ReplaceAll(strings.Join(got.Progress, "\n")+"\n", "running\n", "")
				if got.Error != "" || !strings.HasPrefix(got.Text, `"done"`) || seen != want {
					t.Errorf("on %s: %s %s\nthe reports: %q", got.Version, got.Error, got.Text, got.Progress)
				}
			})
		}
	}
}

// A person thinks for six minutes, and nothing is lost: not with clients whose HTTP stack gives up on silent streams
// after five, and not with a program that may run for two seconds.
func TestAPersonThinksForSixMinutes(t *testing.T) {
	npm, codemode := npmDir(t), codemodeBinary(t)
	if os.Getenv("CODEMODE_LONG") == "" {
		t.Skip("it takes more than six minutes: CODEMODE_LONG=1")
	}
	root := t.TempDir()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {
		"asklist": ["filesystem__write_file"], "ask": {"timeout": "10m"}, "limits": {"cpu": "1s", "wall": "2s"}}}}}`)
	flags := []string{"--config", config, "--root", root}
	s := serveOverHTTP(t, "0", nil, flags...)
	var clients sync.WaitGroup // all at once, whatever -parallel says
	for _, client := range [][2]string{{"v1", "legacy"}, {"v2", "legacy"}, {"v2", "auto"}} {
		for over, target := range map[string][]string{
			"HTTP": {s.url}, "stdio": append([]string{"serve", "--project", "none", "--state", t.TempDir()}, flags...),
		} {
			clients.Go(func() {
				var got rounds
				err := got.try(npm, codemode, client[0], client[1], 370_000,
					`await codemode.filesystem__write_file({ path: "six.md", content: "x" }); return "written"`, target...)
				if err != nil || got.Error != "" || !strings.HasPrefix(got.Text, `"written"`) || len(got.Forms) != 1 {
					t.Errorf("%s over %s: %v, %s, %d forms\n%s", strings.Join(client[:], " "), over, err, got.Error, len(got.Forms),
						got.Text)
				}
			})
		}
	}
	clients.Wait()
	s.end()
}

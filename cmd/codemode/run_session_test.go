//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/testwait"
)

// Two processes want one session at once: the second program is refused, or waits for the first one. What a killed
// process was about to leave is not there, and its session is free.
func TestOneProgramOfASessionInAllProcesses(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	run := func(args ...string) []string {
		return append([]string{"run", "--config", h.config, "--profile", "p", "--root", h.files, "--session", "s"}, args...)
	}
	// begin starts a program that says so and goes on until its file is there.
	begin := func(file, then string) (*exec.Cmd, <-chan error) {
		log := &screen{}
		cmd := exec.Command(os.Args[0], run("-e", `console.log("begun"); globalThis.list ??= [];
			while (!await codemode.filesystem.read_text_file({path: "`+file+`"}).catch(() => "")) {
				await new Promise(f => setTimeout(f, 20))
			}
			`+then)...)
		cmd.Env, cmd.Stderr = h.environment, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		t.Cleanup(func() { cmd.Process.Kill() })
		if !testwait.Holds(func() bool { return strings.Contains(log.String(), "begun") }) {
			t.Fatalf("it did not begin: %s", log)
		}
		return cmd, over
	}
	_, over := begin("go", `list.push("first"); return list`)
	out, err := h.command(run("-e", `return list`)...)
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 ||
		!strings.Contains(out, `a program goes on in the session "s" (run r_`) {
		t.Errorf("the second program: %s (%v)", out, err)
	}
	for _, change := range [][]string{{"delete", "s"}, {"rollback", "s", "1"}} {
		if out, err := h.command(append(append([]string{"sessions"}, change...), "--config", h.config)...); err == nil {
			t.Errorf("%s while a program goes on: %s", change, out)
		}
	}
	if out, err := h.command("sessions", "list", "--config", h.config); err != nil || !strings.Contains(out, "  r_") {
		t.Errorf("the list says of no program that it runs: %s (%v)", out, err)
	}
	waited := make(chan string, 1)
	go func() {
		out, _ := h.command(run("--wait", "-e", `list.push("second"); return list.join()`)...)
		waited <- out
	}()
	write(t, filepath.Join(h.files, "go"), "yes")
	if err := <-over; err != nil {
		t.Errorf("the first program: %v", err)
	}
	if out := <-waited; !strings.Contains(out, `"first,second"`) || !strings.Contains(out, "session s: version 2") {
		t.Errorf("the program that waited: %s", out)
	}
	killed, over := begin("never", `list.push("killed"); return list`)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-over
	if out, err := h.command(run("--wait", "-e", `return list.join()`)...); err != nil ||
		!strings.Contains(out, `"first,second"`) {
		t.Errorf("after the death of a process: %s (%v)", out, err)
	}
}

// A program is checked as the next one of a session, whose names it may use.
func TestCheckInASession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	if out, err := h.command("run", "--config", h.config, "--profile", "p", "--root", h.files, "--session", "s", "-e",
		`let n = 1; return n`); err != nil {
		t.Fatal(out, err)
	}
	for _, row := range []struct {
		profile, code, want string
		exit                int
	}{
		{"p", `return n`, "uses n of its session", 0},
		{"p", `return m`, "nothing declares m", 1},
	} {
		out, err := h.command("check", "--config", h.config, "--profile", row.profile, "--root", h.files, "--session", "s",
			"-e", row.code)
		code := 0
		if exit, ok := err.(*exec.ExitError); ok {
			code = exit.ExitCode()
		}
		if code != row.exit || !strings.Contains(out, row.want) {
			t.Errorf("%s: %s (%v)", row.code, out, err)
		}
	}
}

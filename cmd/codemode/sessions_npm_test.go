//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
)

// A traveler is a real client that goes from server to server: testdata/npm/sessions.mjs.
type traveler struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Scanner
	log     *screen
	version string // of the protocol
}

// answer is what a traveler says of one call.
type answer struct {
	Text    string
	IsError bool
	Error   string
	Version string
	PID     int // of a server over stdio
}

func newTraveler(t *testing.T, sdk, era, version string) *traveler {
	t.Helper()
	cmd := exec.Command("node", "sessions.mjs", sdk, era)
	cmd.Dir = npmDir(t)
	c := &traveler{t: t, version: version}
	c.in, c.out, c.log = startClient(t, cmd)
	return c
}

// call calls a tool of a server: at is its URL, or its command with the arguments.
func (c *traveler) call(at any, tool string, arguments map[string]any) answer {
	c.t.Helper()
	line, err := json.Marshal(map[string]any{"at": at, "call": tool, "arguments": arguments})
	checktest.OK(c.t, err)
	if _, err := c.in.Write(append(line, '\n')); err != nil || !c.out.Scan() {
		c.t.Fatalf("the client is gone: %v\n%s", err, c.log)
	}
	var a answer
	if err := json.Unmarshal(c.out.Bytes(), &a); err != nil {
		c.t.Fatalf("the client said %q: %v", c.out.Text(), err)
	}
	if a.Error != "" || a.Version != c.version {
		c.t.Fatalf("%s on %q: %s\n%s", tool, a.Version, a.Error, c.log)
	}
	return a
}

// says runs a program of a session. The value and the version that it leaves are exactly these.
func (c *traveler) says(at any, session, code, value string, version int) answer {
	c.t.Helper()
	a := c.call(at, "codemode_eval", map[string]any{"code": code, "session": session})
	var got json.RawMessage
	var compact bytes.Buffer
	left := fmt.Sprintf("\nsession %s: version %d\n", session, version)
	if err := json.NewDecoder(strings.NewReader(a.Text)).Decode(&got); err != nil || json.Compact(&compact, got) != nil ||
		a.IsError || compact.String() != value || !strings.Contains(a.Text+"\n", left) {
		c.t.Fatalf("%s in %s: got\n%s\nwant %s and version %d", code, session, a.Text, value, version)
	}
	return a
}

// manages calls codemode_session, whose whole answer is this.
func (c *traveler) manages(at any, want string, arguments map[string]any) {
	c.t.Helper()
	if a := c.call(at, "codemode_session", arguments); a.IsError || a.Text != want {
		c.t.Fatalf("%v: got %q, want %q", arguments, a.Text, want)
	}
}

// replicas are two servers that share a store. The first one can be killed.
type replicas struct {
	first, second any
	kill          func(pid int)
	forks         func(session, as string) // by the command
}

// A session of ten programs: the first one makes a class with a private field, and a closure over a let, which the
// others use and change. Its server is killed after the fifth, and another one takes it over at the seventh.
func tenPrograms(t *testing.T, c *traveler, r replicas) {
	const made = `let n = 1;
		class Box { #held = 10; add(k) { this.#held += k; return this.#held } }
		const box = new Box(), next = () => ++n;
		return [n, box.add(0)]`
	const uses = `next(); return [n, box.add(n)]`
	c.says(r.first, "s", made, "[1,10]", 1)
	c.says(r.first, "s", uses, "[2,12]", 2)
	c.says(r.first, "s", uses, "[3,15]", 3)
	c.says(r.first, "s", `n += 1; return [n, new Box().add(1), box.add(n)]`, "[4,11,19]", 4)
	fifth := c.says(r.first, "s", uses, "[5,24]", 5)
	r.kill(fifth.PID)
	if sixth := c.says(r.first, "s", uses, "[6,30]", 6); fifth.PID != 0 && sixth.PID == fifth.PID {
		t.Errorf("nobody killed the server: it is still process %d", sixth.PID)
	}
	c.says(r.second, "s", uses, "[7,37]", 7)
	c.says(r.second, "s", uses, "[8,45]", 8)

	c.manages(r.second, "The session mine is a fork of s at version 8.",
		map[string]any{"action": "fork", "name": "s", "as": "mine"})
	r.forks("s", "other")
	c.says(r.first, "mine", `n = 50; next(); return [n, box.add(100), box instanceof Box]`, "[51,145,true]", 2)
	c.says(r.second, "other", `next(); return [n, box.add(-45)]`, "[9,0]", 2)
	c.says(r.first, "s", uses, "[9,54]", 9) // it keeps the version that it left, the sixth, in memory
	c.says(r.second, "s", uses, "[10,64]", 10)
	c.says(r.second, "mine", uses, "[52,197]", 3)
	c.says(r.first, "other", uses, "[10,10]", 3)

	c.manages(r.first, "The session s is as it was at version 3; that is its version 11.",
		map[string]any{"action": "rollback", "name": "s", "version": 3})
	c.says(r.second, "s", `return [n, box.add(0)]`, "[3,15]", 12)
	c.says(r.first, "s", uses, "[4,19]", 13)
	c.says(r.first, "mine", `return [n, box.add(0)]`, "[52,197]", 4)
	c.says(r.second, "other", `return [n, box.add(0)]`, "[10,10]", 4)
}

// forkBy forks sessions with the command, on the store of some flags.
func forkBy(t *testing.T, flags ...string) func(session, as string) {
	return func(session, as string) {
		t.Helper()
		out, err := command(t, append([]string{"sessions", "fork", session, as}, flags...)...).CombinedOutput()
		want := fmt.Sprintf("The session %s is a fork of %s at version 8.\n", as, session)
		if err != nil || string(out) != want {
			t.Fatalf("got %q (%v), want %q", out, err, want)
		}
	}
}

// overStdio are replicas that the client starts, with the store of one state folder.
func overStdio(t *testing.T) replicas {
	dir := t.TempDir()
	config := write(t, filepath.Join(dir, "codemode.json"), `{"sessions": true,
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`)
	start := func() []string {
		return []string{codemodeBinary(t), "serve", "--project", "none", "--config", config, "--state", dir, "--root",
			t.TempDir()}
	}
	return replicas{first: start(), second: start(), kill: func(pid int) {
		checktest.OK(t, syscall.Kill(pid, syscall.SIGKILL))
	}, forks: forkBy(t, "--config", config, "--state", dir)}
}

// overHTTP are replicas on a database, each with a state folder of its own, or on a file in the one folder.
func overHTTP(t *testing.T, database string) replicas {
	dir := t.TempDir()
	store, states := `"codemode.db"`, []string{dir, dir}
	if database != "" {
		store = fmt.Sprintf(`{"url": %q, "key": %q}`, database, filepath.Join(dir, "record.key"))
		states[1] = t.TempDir()
	}
	config := write(t, filepath.Join(dir, "codemode.json"), fmt.Sprintf(`{"sessions": true, "store": %s,
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`, store))
	var running []*served
	for _, state := range states {
		running = append(running, serveOverHTTP(t, "127.0.0.1:0", nil, "--config", config, "--state", state))
	}
	first, second := running[0], running[1]
	return replicas{first: first.url, second: second.url, kill: func(int) {
		checktest.OK(t, first.cmd.Process.Kill())
		<-first.ended
		address := strings.TrimSuffix(strings.TrimPrefix(first.url, "http://"), "/mcp")
		serveOverHTTP(t, address, nil, "--config", config, "--state", states[0])
	}, forks: forkBy(t, "--config", config, "--state", states[1])}
}

// Real clients go on in a session when its server is killed and another one takes it over, on both generations of the
// protocol and over both transports.
func TestRealClientsGoOnInASession(t *testing.T) {
	t.Parallel()
	npmDir(t)
	database := pgtest.Start(t)
	for _, test := range []struct{ sdk, era, version string }{
		{"v1", "legacy", "2025-11-25"}, {"v2", "legacy", "2025-11-25"}, {"v2", "2026-07-28", "2026-07-28"},
	} {
		for over, open := range map[string]func(*testing.T) replicas{
			"stdio":        overStdio,
			"HTTP, a file": func(t *testing.T) replicas { return overHTTP(t, "") },
			"HTTP, PostgreSQL": func(t *testing.T) replicas {
				return overHTTP(t, database.URL(strings.NewReplacer("-", "", " ", "").Replace(test.sdk+test.era)))
			},
		} {
			t.Run(test.sdk+" "+test.era+" over "+over, func(t *testing.T) {
				t.Parallel()
				r := open(t)
				tenPrograms(t, newTraveler(t, test.sdk, test.era, test.version), r)
			})
		}
	}
}

//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// doctorHere runs codemode doctor --approvals in a home of its own.
type doctorHere struct {
	t           *testing.T
	home        string
	config      string
	environment []string
}

func newDoctorHere(t *testing.T, rules string) *doctorHere {
	t.Helper()
	endToEnd(t)
	home, err := os.MkdirTemp("", "cm") // sockets have short paths
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	d := &doctorHere{t: t, home: home, config: write(t, filepath.Join(home, "codemode.json"),
		`{"evaluation": {"profiles": {"p": {"asklist": ["time__*"]`+rules+`}}, "expose": ["p"]}}`)}
	d.environment = append(os.Environ(), asCommand+"=codemode", "HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+cachetest.Dir(), "CODEMODE_CONFIG=", "CODEX_HOME=")
	return d
}

func (d *doctorHere) run(args ...string) string {
	d.t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"doctor", "--approvals", "--config", d.config}, args...)...)
	cmd.Env, cmd.Dir = d.environment, d.home
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Errorf("%v", err)
	}
	return string(out)
}

// want holds that each line is there.
func (d *doctorHere) want(out string, lines ...string) {
	d.t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+out, "\n"+line) {
			d.t.Errorf("%q is not in\n%s", line, out)
		}
	}
}

// respond connects a responder to what listens in the state folder, and has answer say what it does with the first
// question.
func (d *doctorHere) respond(after time.Duration, said terminal.Said) {
	dir := filepath.Join(d.home, "codemode", "approvals")
	go func() {
		for range testwait.Polls(30 * time.Second) {
			for _, path := range terminal.Sockets(dir) {
				r, err := terminal.Respond(d.t.Context(), path)
				if err != nil {
					continue
				}
				defer r.Close()
				for {
					told, err := r.Next()
					if err != nil {
						return
					}
					if told.Kind == "pending" && len(told.Calls) > 0 {
						time.Sleep(after) // a person, who is not as fast as a process
						said.Kind, said.ID, said.Digest = "answer", told.Calls[0].ID, told.Calls[0].Digest
						if r.Say(said) != nil {
							return
						}
					}
				}
			}
		}
	}()
}

// H8: a test question finds out whether a person is there, and whether something answers by itself.
func TestH8DoctorAsks(t *testing.T) {
	t.Parallel()
	const terminalOnly = `, "ask": {"channels": ["terminal"]}`
	yes := terminal.Said{Yes: true, Selected: []int{0}}
	for _, tt := range []struct {
		why   string
		after time.Duration
		said  *terminal.Said
		want  string
	}{
		{"a person", time.Second, &yes, "ok       approvals terminal: answered by a person in "},
		{"a person who declines", time.Second, &terminal.Said{}, "ok       approvals terminal: declined by a person in "},
		{"nobody", 0, nil, "warning  approvals terminal: no person is connected\n            run codemode approvals in another terminal"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			d := newDoctorHere(t, terminalOnly)
			if tt.said != nil {
				d.respond(tt.after, *tt.said)
			}
			out := d.run("--wait", "20s")
			d.want(out, tt.want)
			if strings.Contains(out, "approvals web") || strings.Contains(out, "approvals elicitation") {
				t.Errorf("channels that no profile uses were tested:\n%s", out)
			}
		})
	}
	d := newDoctorHere(t, "")
	out := d.run("--wait", "1s")
	d.want(out, "warning  approvals web: nobody answered the test question in 1s",
		"warning  approvals elicitation: nobody answered a form", "warning  approvals terminal: no person is connected")
	if !strings.Contains(out, "use ask_user to ask me whether I see this") {
		t.Errorf("how a client is tested is not said:\n%s", out)
	}
}

// H8: as the same user there are four warnings, each with the way out; as another user, who may do none of it, there
// are none. Settings of clients that answer by themselves are found.
func TestH8WhoCouldAnswerForThePerson(t *testing.T) {
	d := newDoctorHere(t, `, "ask": {"channels": ["elicitation"]}`)
	out := d.run()
	d.want(out,
		"warning  approvals rules: an agent that runs as this user may write the configuration",
		"warning  approvals record: an agent that runs as this user may write the record",
		"warning  approvals responder: an agent that runs as this user may reach the socket of codemode approvals",
		"warning  approvals page: an agent that runs as this user may ask for a login link to the page",
		"ok       approvals clients: no client is set to answer",
	)
	if n := strings.Count(out, "--agent-user NAME"); n != 4 {
		t.Errorf("%d ways out:\n%s", n, out)
	}
	// "codemode console" and an HTTP client are enough to approve a critical call, for whoever is this user.
	if !strings.Contains(out, "approve calls of critical risk") ||
		strings.Contains(out, "critical\" is answered on the page alone") {
		t.Errorf("it says that critical calls keep out an agent of the same user:\n%s", out)
	}
	checktest.OK(t, os.Chmod(d.config, 0o600))
	if _, err := user.Lookup("nobody"); err == nil && os.Getuid() >= 0 {
		d.want(d.run("--agent-user", "nobody"),
			"ok       approvals rules: nobody may not write the configuration",
			"ok       approvals record: nobody may not write the record",
			"ok       approvals responder: nobody may not reach the socket",
			"ok       approvals page: nobody may not ask for a login link")
	}
	d.want(d.run("--agent-user", "no-such-user-here"), "warning  approvals agent: ")

	for path, text := range map[string]string{
		".claude/settings.json": `{"hooks": {"Elicitation": [{"hooks": [{"type": "command", "command": "yes"}]}]}}`,
		".codex/config.toml":    "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n",
	} {
		checktest.OK(t, os.MkdirAll(filepath.Join(d.home, filepath.Dir(path)), 0o700))
		write(t, filepath.Join(d.home, path), text)
	}
	d.want(d.run(), "warning  approvals Claude Code: ", "warning  approvals Codex: ")
}

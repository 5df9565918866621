package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
)

// A session that a person made for a role in another process narrows a codemode that is started in it, by flag or by
// variable, over stdio and over HTTP, and one that is over keeps it from starting.
func TestS46ServeInASessionForARole(t *testing.T) {
	state := t.TempDir()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{"evaluation": {"profiles": {"p": {}}, "defaultProfile": "p",
		"overlays": [{"id": "interns", "role": "intern", "denylist": ["time__*"]}]}}`)
	page, err := codemode.New(t.Context(), codemode.Options{RecordDir: state})
	checktest.OK(t, err)
	defer page.Close(t.Context())
	made, err := page.Rules().NewSession(t.Context(), "intern", time.Hour)
	checktest.OK(t, err)
	const program = `try { await codemode.time__now({}); return "told" } catch (e) { return e.reason }`
	for name, test := range map[string]struct {
		flags, environment []string
		want               string
	}{
		"neither":          {nil, nil, `"told"`},
		"by flag":          {[]string{"--session", made.ID}, nil, `"denied"`},
		"by variable":      {nil, []string{"CODEMODE_SESSION=" + made.ID}, `"denied"`},
		"a name of no one": {[]string{"--session", "mine"}, nil, `"told"`},
	} {
		t.Run("stdio "+name, func(t *testing.T) {
			cmd := command(t, append([]string{"serve", "--config", config, "--project", "none", "--state", state},
				test.flags...)...)
			cmd.Env = append(cmd.Env, test.environment...)
			c := mcptest.Connect(t, &mcp.CommandTransport{Command: cmd})
			if got := callText(t, c, program); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	s := serveOverHTTP(t, "0", []string{"CODEMODE_SESSION=" + made.ID}, "--config", config, "--state", state)
	c, err := s.connect("2025-11-25", "", nil)
	checktest.OK(t, err)
	if got := callText(t, c, program); !strings.HasPrefix(got, `"denied"`) {
		t.Errorf("over HTTP: %s", got)
	}
	run := command(t, "run", "--config", config, "--project", "none", "--state", state, "-e", program)
	run.Env = append(run.Env, "CODEMODE_SESSION="+made.ID)
	if out, err := run.Output(); err != nil || !strings.Contains(string(out), "denied") {
		t.Errorf("codemode run: %s (%v)", out, err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"one that nobody made":         {[]string{"--session", "cms_MADEUP"}, "never made"},
		"of another store":             {[]string{"--session", made.ID, "--state", t.TempDir()}, "never made"},
		"a name for clients over HTTP": {[]string{"--http", "0", "--session", "mine"}, "cms_..."},
	} {
		cmd := command(t, append([]string{"serve", "--config", config, "--project", "none", "--state", state},
			test.args...)...)
		cmd.Stdin, _ = os.Open(os.DevNull)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != cli.ExitUsage || !strings.Contains(string(out), test.want) ||
			strings.Contains(string(out), made.ID) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if strings.Contains(s.log.String(), made.ID) {
		t.Errorf("the id is in the log:\n%s", s.log)
	}
}

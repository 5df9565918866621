package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/responder"
	"github.com/codemode-project/codemode/cmd/codemode/serve"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/store"
)

// An approvalsCheck holds the flags of the checks about people: whether a question reaches a person, and who else could
// answer it.
type approvalsCheck struct {
	wanted bool
	wait   time.Duration
	agent  string // the user that runs the agent; "" is this one
}

// respondersWait is how long a running codemode approvals has to find this process.
const respondersWait = 3 * time.Second

// ask puts a test question over every channel that a profile may use, over all at once, and reports who answered and
// how fast.
func (d *diagnosis) ask(ctx context.Context, e *codemode.Evaluator, c *approvalsCheck) {
	channels := channelsOf(e)
	d.elicitation(ctx, e, slices.Contains(channels, "elicitation"))
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, channel := range channels {
		if channel == "elicitation" {
			continue
		}
		if channel == responder.ChannelName {
			d.awaitResponder(ctx, e)
		}
		asking.Go(func() {
			got := e.People().Probe(ctx, channel, launch.Principal(), c.wait)
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil { // else the end of doctor closed the question, and no person
				d.answered(channel, got, nil, c.wait)
			}
		})
	}
	asking.Wait()
}

// awaitResponder waits until a running responder has connected.
func (d *diagnosis) awaitResponder(ctx context.Context, e *codemode.Evaluator) {
	for end := time.Now().Add(respondersWait); ctx.Err() == nil &&
		time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, p := range e.People().Present() {
			if p.Channel == responder.ChannelName && p.Present > 0 {
				return
			}
		}
	}
}

// channelsOf are the channels that at least one profile may ask over.
func channelsOf(e *codemode.Evaluator) []string {
	all := []string{"elicitation", "web", responder.ChannelName}
	cfg := e.Config()
	if cfg == nil {
		return all
	}
	names := cfg.Names()
	if cfg.Exposes(preflight.BaseTool) {
		names = append(names, "")
	}
	return slices.DeleteFunc(all, func(channel string) bool {
		for _, name := range names {
			if p := cfg.Profile(name); p != nil && (p.Ask().Channels == nil || slices.Contains(p.Ask().Channels, channel)) {
				return false
			}
		}
		return true
	})
}

// answers says who can answer what the profiles ask about.
func (d *diagnosis) answers(e *codemode.Evaluator) {
	cfg := e.Config()
	if cfg == nil || !slices.ContainsFunc(cfg.All(), func(name string) bool { return !cfg.Profile(name).Unrestricted() }) {
		return
	}
	d.ok("approvals", "people", "%s", launch.WhoAnswers(cfg, channelsOf(e), call.Low))
}

// wayTo is how to reach a person over a channel.
var wayTo = map[string]string{
	responder.ChannelName: "run codemode approvals in another terminal, or let codemode open one: CODEMODE_RESPONDER=auto",
	"web":                 "open the page of a running codemode serve: codemode console prints the link",
}

// answered reports the outcome of the test question.
func (d *diagnosis) answered(channel string, got approvals.Result, err error, wait time.Duration) {
	seconds := func(t time.Duration) string { return fmt.Sprintf("%.1f s", t.Seconds()) }
	var by string
	if got.By != "" {
		by = ", " + got.By
	}
	var last approvals.Try
	if len(got.Tried) > 0 {
		last = got.Tried[len(got.Tried)-1]
	}
	const automatic = "a program answers for the person: find out which before you rely on this channel"
	switch {
	case err != nil:
		d.warn("approvals", channel, "", "the test question could not be asked: %v", err)
	case got.Allowed:
		d.ok("approvals", channel, "answered by a person in %s%s", seconds(got.Took), by)
	case got.Code == call.CodeDeclined:
		d.ok("approvals", channel, "declined by a person in %s%s", seconds(got.Took), by)
	case last.Outcome == approvals.TooFastYes:
		d.warn("approvals", channel, automatic, "auto-accepted in %d ms, faster than a person can read",
			last.Took.Milliseconds())
	case last.Outcome == approvals.TooFastNo || last.Outcome == approvals.TooFastShut:
		d.warn("approvals", channel, automatic, "auto-declined in %d ms, faster than a person can read",
			last.Took.Milliseconds())
	case got.Code == call.CodeTimeout:
		d.warn("approvals", channel, wayTo[channel], "nobody answered the test question in %v", wait)
	case got.Code == call.CodeCanceled:
		d.ok("approvals", channel, "closed by a person in %s", seconds(got.Took))
	default:
		d.warn("approvals", channel, wayTo[channel], "no person is connected")
	}
}

// evidencePeriod is how old answers in the record may be.
const evidencePeriod = 30 * 24 * time.Hour

// elicitation reports what the record says of forms in clients. Only a client can show one, so there is no test
// question.
func (d *diagnosis) elicitation(ctx context.Context, e *codemode.Evaluator, used bool) {
	if !used {
		return
	}
	const hint = `to test it, write in the client: "use ask_user to ask me whether I see this". The result says whether a person answered`
	db, err := e.Record().DB(ctx)
	if err != nil {
		d.warn("approvals", "elicitation", hint, "only a client can show forms, and there is no record of their answers")
		return
	}
	answers, unreached := 0, 0
	fastest := int64(0)
	err = audit.Entries(ctx, db, store.Query{Kinds: []string{audit.Approval}, Since: time.Now().Add(-evidencePeriod)},
		func(entry *audit.Entry) error {
			switch by := entry.DecidedBy; {
			case by != nil && by.How == call.ByPerson && by.Channel == "elicitation":
				if answers++; fastest == 0 || by.LatencyMS < fastest {
					fastest = by.LatencyMS
				}
			case entry.State == call.CodeNoApprover || entry.State == call.CodeUnsupported:
				unreached++
			}
			return nil
		})
	switch {
	case err != nil:
		d.warn("approvals", "elicitation", hint, "the record could not be read: %v", err)
	case answers > 0:
		d.ok("approvals", "elicitation", "%s from forms of clients in the last 30 days, the fastest after %.1f s",
			cli.Count(answers, "answer"), float64(fastest)/1000)
	case unreached > 0:
		d.warn("approvals", "elicitation", hint, "nobody answered a form in the last 30 days, and %s reached nobody: the "+
			"client may have no forms, or decline them automatically", cli.Count(unreached, "question"))
	default:
		d.warn("approvals", "elicitation", hint,
			"nobody answered a form in the last 30 days: it is not known whether a client shows them")
	}
}

// selfApproval reports whether the user that runs the agent could answer for the person.
func (d *diagnosis) selfApproval(set *launch.Settings, path string, c *approvalsCheck) {
	who, err := agentUser(c.agent)
	if err != nil {
		d.warn("approvals", "agent", "name a user of this machine", "%v", err)
		return
	}
	const separate = `run the agent as another user of this machine, or in a container without this folder, and tell doctor: --agent-user NAME; ` +
		`or run codemode serve --http as another user or on a second device, and give the agent only a token`
	check := func(what, path, may string, bit fs.FileMode, harm string) {
		if path == "" {
			return
		}
		switch able, known := who.can(path, bit); {
		case !known:
		case able:
			d.warn("approvals", what, separate, "an agent that runs as %s may %s (%s): %s", who.name, may, path, harm)
		default:
			d.ok("approvals", what, "%s may not %s", who.name, may)
		}
	}
	check("rules", path, "write the configuration", writable, "it could allow itself anything")
	state, err := set.StateFolder()
	if err != nil {
		return
	}
	check("record", state, "write the record", writable,
		"it could answer pending questions there; codemode audit verify detects the change")
	check("responder", responder.SocketFolder(state), "reach the socket of codemode approvals", readable,
		"it could answer for you there, except calls of critical risk")
	check("page", serve.PageFolder(state), "ask for a login link to the page", readable,
		"it could log in as you with codemode console, and approve calls of critical risk too")
	d.hooks()
}

// Permissions, as for the owner.
const (
	readable fs.FileMode = 0o4
	writable fs.FileMode = 0o2
)

// An account is a user of this machine.
type account struct {
	name   string
	uid    int
	groups []string
}

func agentUser(name string) (*account, error) {
	u, err := user.Current()
	if name != "" {
		u, err = user.Lookup(name)
	}
	if err != nil {
		return nil, err
	}
	a := &account{name: u.Username}
	if a.uid, err = strconv.Atoi(u.Uid); err != nil {
		a.uid = -1 // a system without numbers for users
	}
	if name == "" {
		a.name = "this user"
	}
	a.groups, _ = u.GroupIds()
	return a, nil
}

// can reports whether a may use a file or folder in that way, and pass through all folders above it.
func (a *account) can(path string, how fs.FileMode) (able, known bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return false, false
	}
	info, err := os.Stat(path)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		path, how = filepath.Dir(path), writable // a user who can create it controls its content
		info, err = os.Stat(path)
	}
	for first := true; ; first = false {
		if err != nil {
			return false, false
		}
		mode, ok := a.mode(info)
		if !ok {
			return false, false
		}
		want := fs.FileMode(0o1) // pass through
		if first {
			want = how
		}
		if a.uid != 0 && mode&want != want {
			return false, true
		}
		if filepath.Dir(path) == path {
			return true, true
		}
		path = filepath.Dir(path)
		info, err = os.Stat(path)
	}
}

// hooks finds settings with which clients answer forms automatically.
func (d *diagnosis) hooks() {
	home, err := os.UserHomeDir()
	if err != nil {
		return
	}
	found := false
	for _, path := range []string{
		filepath.Join(home, ".claude", "settings.json"), filepath.Join(".claude", "settings.json"),
		filepath.Join(".claude", "settings.local.json"),
	} {
		var settings struct {
			Hooks map[string]json.RawMessage `json:"hooks"`
		}
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &settings) == nil &&
			len(settings.Hooks["Elicitation"]) > 0 {
			found = true
			d.warn("approvals", "Claude Code", "remove the hook, or do not rely on forms there",
				"%s has a hook for Elicitation: it can answer forms without showing them", path)
		}
	}
	path := filepath.Join(cmp.Or(os.Getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "config.toml")
	var codex struct {
		Approval any    `toml:"approval_policy"`
		Sandbox  string `toml:"sandbox_mode"`
	}
	if data, err := os.ReadFile(path); err == nil && toml.Unmarshal(data, &codex) == nil {
		if codex.Approval == "never" || strings.Contains(codex.Sandbox, "danger") {
			found = true
			d.warn("approvals", "Codex", "set approval_policy to on-request, or do not rely on forms there",
				"%s lets it answer forms automatically (approval_policy %v, sandbox_mode %q)", path, codex.Approval, codex.Sandbox)
		}
	}
	if !found {
		d.ok("approvals", "clients", "no client is set to answer forms automatically")
	}
}

// people runs the checks of --approvals.
func (d *diagnosis) people(ctx context.Context, set *launch.Settings, path string, c *approvalsCheck) {
	d.selfApproval(set, path, c)
	asking := *set
	asking.Record = true
	log := slog.New(slog.DiscardHandler)
	responders := responder.Await(&asking, serve.MayAnswer(set), false, log) // a test opens no terminals
	defer responders.Close()
	e, err := asking.OpenWith(ctx, nil, log)
	if err != nil {
		d.warn("approvals", "question", "", "the test question could not be asked: %v", err)
		return
	}
	d.ask(ctx, e, c)
	if err := launch.Close(ctx, e); err != nil {
		d.warn("approvals", "question", "", "%v", err)
	}
}

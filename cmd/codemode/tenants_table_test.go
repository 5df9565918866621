//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/testwait"
)

// The doors of a tenant, and what somebody may want there.
var (
	doors   = []string{"mcp", "rest", "page", "events"}
	actions = []string{"see", "answer", "cancel", "resume", "load", "fork", "list sessions", "list runs", "list asks",
		"list tools"}
)

// A way is an attempt at a door of a tenant. It reports whether the actor got what the action is about.
type way struct {
	action, door string
	kind         kind
	try          func(h *household, t *testing.T, a *actor, tenant string, x *thing) bool
}

type kind int

const (
	plain     kind = iota
	spends         // the thing is another one after it succeeded
	withLogin      // a token that answers does not reach it
)

// nowhere says why a door does not offer an action to anybody.
var nowhere = map[string]string{
	"see at mcp":              "only with the state of the run: see resume",
	"cancel at rest":          "the client of a run cancels it",
	"cancel at page":          "the client of a run cancels it",
	"resume at rest":          "the client of a run comes back for it",
	"resume at page":          "the client of a run comes back for it",
	"load at rest":            "a program or a client loads a result",
	"load at page":            "a program or a client loads a result",
	"list runs at mcp":        "a client has its own only, by their states",
	"list asks at mcp":        "a client has its own only, by their states",
	"answer at events":        "events are read",
	"cancel at events":        "events are read",
	"resume at events":        "events are read",
	"load at events":          "events are read",
	"fork at events":          "events are read",
	"list sessions at events": "events are about questions and runs",
	"list tools at events":    "events are about questions and runs",
}

// finds reports whether a page answers 200 with a text.
func finds(path string, text func(x *thing) string) func(*household, *testing.T, *actor, string, *thing) bool {
	return func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
		path := strings.NewReplacer("ASK", x.asked.ID, "SESSION", x.sessionID).Replace(path)
		status, got := h.page(a, tenant, "GET", path, nil)
		return status == http.StatusOK && strings.Contains(got, text(x))
	}
}

// calls reports whether a tool of MCP answers with a text.
func calls(tool string, text func(x *thing) string, arguments func(x *thing) map[string]any) func(*household,
	*testing.T, *actor, string, *thing) bool {
	return func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
		status, got := h.tool(a, tenant, tool, arguments(x), nil)
		return status == http.StatusOK && strings.Contains(got, text(x))
	}
}

func markOf(x *thing) string { return x.mark }
func askOf(x *thing) string  { return x.asked.ID }
func runOf(x *thing) string  { return x.asked.Run }

func sessionOf(x *thing) string { return x.session }

// serverOf is a server of the tenant and of no other.
func serverOf(x *thing) string { return x.tenant + "only" }

func ways() []way {
	return []way{
		{"see", "rest", plain, finds("/api/pending/ASK", askOf)},
		{"see", "page", plain, finds("/ask/ASK", askOf)},
		{"see", "events", plain, finds("/api/events", askOf)},
		{"answer", "mcp", spends, func(h *household, t *testing.T, a *actor, tenant string, x *thing) bool {
			return h.comesBack(a, tenant, x, map[string]any{"inputResponses": map[string]any{"answer": map[string]any{
				"action": "accept", "content": map[string]any{"decision": "allow_once"}}}})
		}},
		{"answer", "rest", spends, func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
			status, got := h.page(a, tenant, "POST", "/api/answer", console.Answered{ID: x.asked.ID, Digest: x.asked.Digest,
				Decision: "deny"})
			return status == http.StatusOK && strings.Contains(got, `"ok":true`)
		}},
		{"answer", "page", spends, func(h *household, t *testing.T, a *actor, tenant string, x *thing) bool {
			status, _ := h.page(a, tenant, "POST", "/answer", url.Values{"q": {x.asked.ID + " " + x.asked.Digest},
				"decision": {"deny"}})
			return status == http.StatusSeeOther && !has(h.open(t, h.operators[x.tenant]), x.asked.ID)
		}},
		{"cancel", "mcp", spends, func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
			status, _, _ := h.old(a, tenant, x.protocolSession, map[string]any{"jsonrpc": "2.0",
				"method": "notifications/cancelled", "params": map[string]any{"requestId": x.request}})
			return status/100 == 2
		}},
		{"resume", "mcp", spends, func(h *household, t *testing.T, a *actor, tenant string, x *thing) bool {
			return h.comesBack(a, tenant, x, nil)
		}},
		{"load", "mcp", plain, calls("codemode_eval", markOf, func(x *thing) map[string]any {
			return map[string]any{"code": fmt.Sprintf(`return await codemode.load(%q, {pointer: "/7"})`, x.handle)}
		})},
		{"load", "mcp", plain, func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
			status, got := h.mcp(a, tenant, "resources/read", map[string]any{"uri": "codemode://results/" + x.handle + "?from=8999"})
			return status == http.StatusOK && strings.Contains(got, x.mark)
		}},
		{"fork", "mcp", plain, func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
			as := fmt.Sprint("fork-", messages.Add(1))
			if status, _ := h.tool(a, tenant, "codemode_session", map[string]any{"action": "fork", "name": "work", "as": as},
				nil); status != http.StatusOK {
				return false
			}
			_, got := h.tool(a, tenant, "codemode_eval", map[string]any{"code": "return secret", "session": as}, nil)
			return strings.Contains(got, x.mark)
		}},
		{"fork", "mcp", plain, func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
			status, got := h.tool(a, tenant, "codemode_session", map[string]any{"action": "fork", "name": x.session,
				"as": fmt.Sprint("fork-", messages.Add(1))}, nil)
			return status == http.StatusOK && strings.Contains(got, "is a fork of "+x.session)
		}},
		{"fork", "page", plain, func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
			as := fmt.Sprint("fork-", messages.Add(1))
			status, _ := h.page(a, tenant, "POST", "/sessions/"+x.sessionID+"/fork", url.Values{"version": {"1"}, "as": {as}})
			_, list := h.page(a, tenant, "GET", "/sessions", nil)
			return status == http.StatusSeeOther && strings.Contains(list, ">"+as+"<")
		}},
		{"fork", "rest", withLogin, func(h *household, _ *testing.T, a *actor, tenant string, x *thing) bool {
			as := fmt.Sprint("fork-", messages.Add(1))
			status, _ := h.page(a, tenant, "POST", "/api/sessions/"+x.sessionID+"/fork", map[string]any{"version": 1, "as": as})
			_, list := h.page(a, tenant, "GET", "/api/sessions", nil)
			return status == http.StatusOK && strings.Contains(list, `"name":"`+as+`"`)
		}},
		{"list sessions", "mcp", plain, calls("codemode_session", sessionOf,
			func(*thing) map[string]any { return map[string]any{"action": "list"} })},
		{"list sessions", "page", plain, finds("/sessions", sessionOf)},
		{"list sessions", "page", plain, finds("/sessions/SESSION", sessionOf)},
		{"list sessions", "rest", withLogin, finds("/api/sessions", sessionOf)},
		{"list sessions", "rest", withLogin, finds("/api/sessions/SESSION", sessionOf)},
		{"list runs", "rest", plain, finds("/api/entries?limit=1000", runOf)},
		{"list runs", "rest", withLogin, finds("/api/running", runOf)},
		{"list runs", "events", withLogin, (*household).hears},
		{"list runs", "page", plain, finds("/running", runOf)},
		{"list runs", "page", plain, finds("/history", runOf)},
		{"list runs", "page", plain, finds("/records/runs?tool=time*", runOf)}, // of all entries a page has 60
		{"list asks", "rest", plain, finds("/api/pending", askOf)},
		{"list asks", "page", plain, finds("/", askOf)},
		{"list asks", "events", plain, finds("/api/events", askOf)},
		{"list tools", "mcp", plain, calls("search_tools", func(x *thing) string { return x.tenant + "only__pid" },
			func(*thing) map[string]any { return map[string]any{"query": "pid"} })},
		{"list tools", "page", plain, finds("/rules", serverOf)},
		{"list tools", "page", plain, finds("/servers", serverOf)},
		{"list tools", "rest", plain, finds("/api/servers", serverOf)},
		{"list tools", "rest", plain, finds("/api/rules", serverOf)},
	}
}

// comesBack sends the request of a run again, with its state. It reports whether the run accepts the caller.
func (h *household) comesBack(a *actor, tenant string, x *thing, more map[string]any) bool {
	params := map[string]any{"requestState": x.state}
	for key, value := range more {
		params[key] = value
	}
	status, got := h.tool(a, tenant, "codemode_eval", map[string]any{"code": x.program()}, params)
	return status == http.StatusOK && (strings.Contains(got, x.mark) || strings.Contains(got, "requestState"))
}

// hears reports whether the stream of an actor at a tenant tells of a run of a principal.
func (h *household) hears(t *testing.T, a *actor, tenant string, x *thing) bool {
	t.Helper()
	if h.heard[x] == nil {
		h.heard[x] = h.listen(t, x)
	}
	return h.heard[x][listener{a, tenant}]
}

// A listener is an actor who opens the stream of events of a tenant.
type listener struct {
	a      *actor
	tenant string
}

// listen opens the streams of everybody at each tenant, runs a program of a principal, and returns who was told.
func (h *household) listen(t *testing.T, x *thing) map[listener]bool {
	t.Helper()
	for _, operator := range h.operators { // parking a run is news too
		testwait.Until(t, "the runs that wait are parked", func() bool {
			_, text := h.page(operator, operator.tenant, "GET", "/api/running", nil)
			type run struct {
				Outcome string
				Parked  bool
			}
			var list struct{ Runs []run }
			return json.Unmarshal([]byte(text), &list) == nil && !slices.ContainsFunc(list.Runs, func(r run) bool {
				return r.Outcome == "" && !r.Parked
			})
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	told := map[listener]*atomic.Int64{} // how often
	for _, a := range h.everybody {
		for _, tenant := range tenantNames {
			if events := h.streamOf(ctx, a, tenant); events != nil {
				told[listener{a, tenant}] = events
			}
		}
	}
	before := map[listener]int64{}
	for who, events := range told {
		if who.a.credential == "session" { // its stream begins with the event
			testwait.Until(t, "the stream begins", func() bool { return events.Load() > 0 })
			before[who] = events.Load()
		}
	}
	if status, text := h.tool(x.runner(), x.tenant, "codemode_eval", map[string]any{"code": "return 1"}, nil); status !=
		http.StatusOK {
		t.Fatalf("%s runs a program: %d %s", x, status, text)
	}
	heard := func(who listener) bool { return told[who] != nil && told[who].Load() > before[who] }
	for _, a := range h.everybody { // the table says whether they should be; the rest has the same time, and more
		if a.tenant == x.tenant && a.credential == "session" && (a.principal == "" || a.principal == x.principal) {
			testwait.Holds(func() bool { return heard(listener{a, x.tenant}) })
		}
	}
	time.Sleep(time.Second) // a stream tells four times a second
	all := map[listener]bool{}
	for who := range told {
		all[who] = heard(who)
	}
	return all
}

// streamOf opens the stream of events of an actor at a tenant until ctx ends, and counts what it says of the running
// programs. It returns nil if the stream is refused.
func (h *household) streamOf(ctx context.Context, a *actor, tenant string) *atomic.Int64 {
	base := h.base + "/t/" + tenant + "/console"
	if a.at != nil {
		base += a.at.path
	}
	r, err := http.NewRequestWithContext(ctx, "GET", base+"/api/events", nil)
	if err != nil {
		panic(err)
	}
	for name, value := range a.headers() {
		r.Header.Set(name, value)
	}
	res, err := noRedirects.Do(r)
	if err != nil {
		return nil
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil
	}
	events := &atomic.Int64{}
	go func() {
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if lines.Text() == "event: running" {
				events.Add(1)
			}
		}
	}()
	return events
}

// may is the rule of the table: whether an actor gets something of a principal at a door of a tenant.
func may(a *actor, w way, tenant string, x *thing) bool {
	if a.tenant == "" || a.tenant != tenant || x.tenant != tenant {
		return false
	}
	operator, own := a.principal == "", a.principal == x.principal
	switch {
	case w.action == "list tools" && w.door == "mcp": // all principals of a tenant have the same
		return a.credential == "runs"
	case w.action == "list tools":
		return operator
	case w.door == "mcp":
		return a.credential == "runs" && own
	case w.door == "page" || w.kind == withLogin:
		return a.credential == "session" && (operator || own)
	default: // the API of the page
		return a.credential == "answers" && own || a.credential == "session" && (operator || own)
	}
}

// Every pair of an action and a door has a way, or a reason why there is none.
func TestNoPairOfActionAndDoorIsForgotten(t *testing.T) {
	all := ways()
	for _, action := range actions {
		for _, door := range doors {
			pair := action + " at " + door
			there := slices.ContainsFunc(all, func(w way) bool { return w.action == action && w.door == door })
			if _, reason := nowhere[pair]; there == reason {
				t.Errorf("%s: there is a way: %v, and a reason why there is none: %v", pair, there, reason)
			}
		}
	}
	for _, w := range all {
		if !slices.Contains(actions, w.action) || !slices.Contains(doors, w.door) {
			t.Errorf("%s at %s is not in the lists", w.action, w.door)
		}
	}
}

// Everybody tries everything, everywhere: each actor with each credential, at the door of each tenant, about what each
// principal of each tenant has. The names of principals, sessions and profiles are the same in all tenants.
func TestNothingCrossesTenants(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	h.start(t)
	everybody := h.actors(t)
	var things []*thing
	for _, tenant := range tenantNames {
		for _, p := range principalNames {
			things = append(things, h.makes(t, tenant, p, h.operators[tenant]))
		}
	}
	type cell struct {
		a      *actor
		w      way
		tenant string
		x      *thing
	}
	var spending []cell
	tried, granted := 0, 0
	check := func(c cell) {
		t.Helper()
		tried++
		want := may(c.a, c.w, c.tenant, c.x)
		if got := c.w.try(h, t, c.a, c.tenant, c.x); got != want {
			t.Errorf("%s at %s of %s: %s, about what %s has: got %v, want %v", c.w.action, c.w.door, c.tenant, c.a, c.x, got,
				want)
		}
		if want {
			granted++
		}
	}
	for _, a := range everybody {
		for _, w := range ways() {
			for _, tenant := range tenantNames {
				for _, x := range things {
					if c := (cell{a, w, tenant, x}); w.kind == spends && may(a, w, tenant, x) {
						spending = append(spending, c)
					} else {
						check(c)
					}
				}
			}
		}
	}
	for _, x := range things { // whatever the responses said: nothing was answered, canceled or resumed
		open := h.open(t, h.operators[x.tenant])
		if !has(open, x.asked.ID) || !has(open, x.cancels.ID) {
			t.Errorf("what %s has was touched: %d questions are open", x, len(open))
		}
	}
	for _, c := range spending { // about a thing of its own each
		operator := h.operators[c.tenant]
		fresh := *c.x
		switch c.w.action {
		case "cancel":
			fresh.cancels, fresh.protocolSession, fresh.request = h.call(t, &fresh, operator)
			check(cell{c.a, c.w, c.tenant, &fresh})
			if !h.gone(t, operator, fresh.cancels.ID) {
				t.Errorf("%s canceled a call of its own, and its question is still open", c.a)
			}
			continue
		case "resume":
			fresh.asked, fresh.state = h.ask(t, &fresh, operator)
			if got := operator.at.allow(fresh.asked, ""); !got.OK {
				t.Errorf("%s answers: %+v", operator, got)
			}
		default:
			fresh.asked, fresh.state = h.ask(t, &fresh, operator)
		}
		check(cell{c.a, c.w, c.tenant, &fresh})
		if c.w.action == "answer" && !h.gone(t, operator, fresh.asked.ID) {
			t.Errorf("%s answered at %s, and the question is still open", c.a, c.w.door)
		}
	}
	t.Logf("%d cells, %d of them granted", tried, granted)
	if want := len(everybody) * len(ways()) * len(tenantNames) * len(things); tried != want {
		t.Errorf("%d cells were tried, want %d", tried, want)
	}
	h.end()
}

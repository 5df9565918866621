package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/testwait"
)

// told is a server that is told of questions.
type told struct {
	url string

	mu  sync.Mutex
	all []string
}

func newTold(t *testing.T) *told {
	t.Helper()
	to := &told{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		to.mu.Lock()
		defer to.mu.Unlock()
		to.all = append(to.all, string(body))
	}))
	t.Cleanup(server.Close)
	to.url = server.URL
	return to
}

func (to *told) messages() []string {
	to.mu.Lock()
	defer to.mu.Unlock()
	return append([]string(nil), to.all...)
}

// awaitMessage waits for the first message.
func (to *told) awaitMessage(t *testing.T) string {
	t.Helper()
	for range testwait.Polls(longWait) {
		if all := to.messages(); len(all) > 0 {
			return all[0]
		}
	}
	t.Fatal("nobody was told")
	return ""
}

// pageOf is the queue of a page; served says that this process serves it.
func pageOf(served bool) *approvals.Queue {
	q := approvals.NewStrongQueue("web")
	q.Expects = func() bool { return served }
	return q
}

// A question waits for people who are told of it and of a page, also in a process that serves no page. In the order of
// what profiles say of absent people, they are expected as those are who look at a page.
func TestPeopleWhoAreToldAreExpected(t *testing.T) {
	const page = `"page": "https://codemode.example", `
	for _, row := range []struct {
		title, page, destination, profile string
		waits                             bool
		without                           string // what becomes of the call if it does not wait
	}{
		{"nobody is told", "", "", "", false, "no_approver"},
		{"they are told", page, "", "", true, ""},
		{"they are told, and of no page", "", "", "", false, "no_approver"},
		{"others are told", page, `, "profiles": ["q"]`, "", false, "no_approver"},
		{"they are told of more risk", page, `, "risk": "high"`, "", false, "no_approver"},
		{"the profile refuses without people", page, "", `, "ask": {"absent": "refuse"}`, false, "no_approver"},
		{"the profile has an answer of its own", page, "", `, "elicitationFallback": "allow"`, false, "done"},
		{"the page is not among the channels", page, "", `, "ask": {"channels": ["terminal"]}`, false, "no_approver"},
	} {
		t.Run(row.title, func(t *testing.T) {
			to, queue := newTold(t), pageOf(false)
			notifications := fmt.Sprintf(`"notifications": {%s"destinations": {"team": {"slack": %q, "delay": "0s"%s}}}, `, row.page,
				to.url, row.destination)
			if row.title == "nobody is told" {
				notifications = ""
			}
			e := open(t, `{`+notifications+`"evaluation": {"profiles": {"q": {},
				"p": {"asklist": ["filesystem__write_file"]`+row.profile+`}}, "expose": ["p"]}}`,
				func(o *codemode.Options) { o.Channels = []approvals.Channel{queue} })
			var answering sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			answering.Go(func() {
				if !row.waits {
					return
				}
				to.awaitMessage(t)
				answer(ctx, t, queue, "mallory")
			})
			got := value[string](t, e, "p", `return await codemode.filesystem__write_file({path: "c4n4ry.md", content: "c4n4ry"})
				.then(() => "done", e => e.reason)`)
			stop()
			answering.Wait()
			if row.waits && got != "done" || !row.waits && got != row.without {
				t.Errorf("the call is %s", got)
			}
			all := to.messages()
			if row.waits != (len(all) == 1) {
				t.Errorf("%d messages: %q", len(all), all)
			}
			for _, text := range all {
				if !strings.Contains(text, "`filesystem.write_file`, profile `p`") || strings.Contains(text, "c4n4ry") ||
					!strings.Contains(text, "https://codemode.example/ask/q_") {
					t.Errorf("they were told %s", text)
				}
			}
		})
	}
}

// A question is told of once in a fleet, whatever process goes on with its run, and answered where the link leads.
func TestAFleetTellsOfAQuestionOnce(t *testing.T) {
	up, to := newPerformed(t), newTold(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	path := filepath.Join(dir, "codemode.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	config["notifications"] = map[string]any{"page": "https://codemode.example",
		"destinations": map[string]any{"team": map[string]any{"slack": to.url, "delay": "0s"}}}
	if text, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	pages := []*approvals.Queue{pageOf(false), pageOf(false), pageOf(true)}
	replica := func(i int) *codemode.Evaluator {
		e, _ := newReplica(t, dir, func(o *codemode.Options) { o.Channels = []approvals.Channel{pages[i]} })
		return e
	}
	closing := func(e *codemode.Evaluator) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), longWait)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	first := replica(0)
	var running sync.WaitGroup
	running.Go(func() {
		_, _ = first.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: `return await codemode.up__third({run: 1})`})
	})
	to.awaitMessage(t)
	parked(t, first, 1)
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	first.Runs().Drain(ctx)
	cancel()
	closing(first)
	running.Wait()
	second, third := replica(1), replica(2)
	defer closing(second)
	defer closing(third)
	answering, stop := context.WithCancel(t.Context())
	var people sync.WaitGroup
	people.Go(func() { answer(answering, t, pages[2], "mallory") })
	up.until(t, "third")
	stop()
	people.Wait()
	if all := to.messages(); len(all) != 1 {
		t.Errorf("%d messages: %q", len(all), all)
	}
}

// A destination that does not answer delays no call, and what is told of is recorded like any other question.
func TestADestinationThatHangsDelaysNoCall(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	queue := pageOf(true)
	e := open(t, fmt.Sprintf(`{"notifications": {"destinations": {"team": {"slack": %q, "delay": "0s", "seated": true}}},
		"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"]}}, "expose": ["p"]}}`, server.URL),
		func(o *codemode.Options) { o.Channels = []approvals.Channel{queue} })
	ctx, stop := context.WithCancel(t.Context())
	var people sync.WaitGroup
	people.Go(func() { answer(ctx, t, queue, "mallory") })
	start := time.Now()
	for range 5 {
		value[bool](t, e, "p", `await codemode.filesystem__write_file({path: "a.md", content: "x"}); return true`)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("five calls took %v", took)
	}
	stop()
	people.Wait()
	n := 0
	for _, entry := range e.Record().Journal().Entries() {
		if entry.DecidedBy == call.ByPerson && entry.Channel == "web" {
			n++
		}
	}
	if n < 5 {
		t.Errorf("the record has %d answers", n)
	}
}

package main

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A page answers what every process asks that shares its store, also one that serves no page itself.
func TestThePageShowsWhatOtherProcessesAsk(t *testing.T) {
	asks := newHouse(t, `{"asklist": ["filesystem__*"]}`)
	client := asks.connect()
	shows := *asks
	shows.args = append(append([]string{}, asks.args...), "--console", "127.0.0.1:0")
	shows.connect()
	p := atThePage(t, shows.environment)
	// A moment passes until the process that asks knows that somebody is there. Until then it refuses, also what is on the
	// page already.
	for end := time.Now().Add(20 * time.Second); ; {
		answer := runs(t, client, writesAFile)
		var open struct{ Pending []console.Asked }
		if !testwait.Holds(func() bool {
			p.send("GET", "/api/pending", nil, &open)
			return len(open.Pending) > 0 || len(answer) > 0
		}) {
			t.Fatalf("the page shows nothing, and the program goes on: %s", asks.log)
		}
		var got console.Result
		if len(open.Pending) == 1 {
			got = p.allow(open.Pending[0], "15s")
		}
		said := <-answer
		if !got.OK && strings.Contains(said, "elicitation_unsupported") && time.Now().Before(end) {
			continue
		}
		if !got.OK || got.Outcome != "ok" {
			t.Errorf("allowed at the page of another process: %+v", got)
		}
		if !strings.HasPrefix(said, `"written"`) || !strings.Contains(said, "approved (person, web)") {
			t.Errorf("the program got %s", said)
		}
		return
	}
}

// Where the page is served, links for whoever looks after the rules lead to it, and it is there.
func TestLinksLeadToThePageOfThisProcess(t *testing.T) {
	const denied = `{"denylist": ["filesystem__write_file"]}`
	link := func(t *testing.T, client *mcp.ClientSession) string {
		t.Helper()
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "codemode_check", Arguments: map[string]any{"code": writesAFile, "profile": "p"},
		})
		if err != nil {
			t.Fatal(err)
		}
		text := res.Content[0].(*mcp.TextContent).Text
		found := regexp.MustCompile(`Link for that person: (\S+)`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("there is no link in\n%s", text)
		}
		return found[1]
	}
	leads := func(t *testing.T, link, page string) {
		t.Helper()
		u, err := url.Parse(link)
		if err != nil || !strings.HasPrefix(link, page+"/rules?") || u.Query().Get("profile") != "p" ||
			u.Query().Get("allow") != "filesystem__write_file" {
			t.Errorf("the link is %s, the page is at %s", link, page)
			return
		}
		res, err := http.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized { // it asks for a login, and goes on there
			t.Errorf("GET %s: %s", link, res.Status)
		}
	}
	t.Run("console", func(t *testing.T) {
		h := newHouse(t, denied, "--console", "127.0.0.1:0")
		client := h.connect()
		leads(t, link(t, client), atThePage(t, h.environment).base)
	})
	t.Run("http", func(t *testing.T) {
		h := newHouse(t, denied, "--http", "127.0.0.1:0")
		h.start()
		p := atThePage(t, h.environment)
		client := mcptest.Connect(t, &mcp.StreamableClientTransport{Endpoint: strings.TrimSuffix(p.base, "/console") + "/mcp"})
		leads(t, link(t, client), p.base)
	})
}

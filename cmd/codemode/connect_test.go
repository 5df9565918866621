package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/testwait"
)

// submit sends a form of the page, as a browser does, and follows nothing.
func (p *person) submit(path string, fields url.Values) (body, cookie string) {
	p.t.Helper()
	fields.Set("csrf", p.csrf)
	req, err := http.NewRequestWithContext(p.t.Context(), "POST", p.base+p.path+path, strings.NewReader(fields.Encode()))
	checktest.OK(p.t, err)
	req.Header.Set("Cookie", p.cookie)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := http.DefaultTransport.RoundTrip(req)
	checktest.OK(p.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s (%v): %s", path, res.Status, err, text)
	}
	cookie, _, _ = strings.Cut(res.Header.Get("Set-Cookie"), ";")
	return string(text), cookie
}

// html is a page that the person sees.
func (p *person) html(path string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), "GET", p.base+p.path+path, nil)
	checktest.OK(p.t, err)
	req.Header.Set("Cookie", p.cookie)
	res, err := http.DefaultClient.Do(req)
	checktest.OK(p.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	checktest.OK(p.t, err)
	return string(text)
}

var goOnTo = regexp.MustCompile(`href="([^"]+)" rel="noreferrer"`)

// connectAccount connects an account on the page, as a user of the server.
func (p *person) connectAccount(server, user string) {
	p.t.Helper()
	page, cookie := p.submit("/accounts/connect", url.Values{"server": {server}})
	address := goOnTo.FindStringSubmatch(page)
	if address == nil {
		p.t.Fatalf("there is no address to log in at: %s", page)
	}
	client := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		r.Header.Set("Cookie", cookie) // the way back leads to the page
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		r.Header.Set("Sec-Fetch-Dest", "document")
		return nil
	}}
	res, err := client.Get(html.UnescapeString(address[1]) + "&user=" + user)
	checktest.OK(p.t, err)
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), "Connected") {
		p.t.Fatalf("coming back: %s (%v): %s", res.Status, err, text)
	}
}

// A model's program needs an account that its person has not connected. The client opens the page, where it can; the
// person connects the account there, or with the command, and the call is made.
func TestAPersonConnectsAnAccountMeanwhile(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		version string
		opens   bool // the client is told the address of the page
		command bool // the person uses codemode login
	}{{"2025-06-18", false, false}, {"2025-11-25", true, false}, {"2026-07-28", true, true}} {
		t.Run(row.version, func(t *testing.T) {
			h, state, me := personalServer(t), t.TempDir(), launch.Principal()
			config := write(t, filepath.Join(t.TempDir(), "c.json"), fmt.Sprintf(`{
				"mcpServers": {"linear": {"url": %q, "oauth": {"per": "principal"}}},
				"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["linear__*"]}}}}`, h.URL))
			at := []string{"--config", config, "--state", state}
			if code, said := logInAs(t, "operator", at...); code != cli.ExitOK {
				t.Fatalf("the login of the operator: %d, %s", code, said)
			}
			var mu sync.Mutex
			var opened, told, over []string
			client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
					Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					mu.Lock()
					defer mu.Unlock()
					opened = append(opened, r.Params.Mode+" "+r.Params.URL)
					return &mcp.ElicitResult{Action: "accept"}, nil
				},
				ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
					mu.Lock()
					defer mu.Unlock()
					over = append(over, r.Params.ElicitationID)
				},
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, r.Params.Message)
				},
			})
			seen := func(list *[]string) string {
				mu.Lock()
				defer mu.Unlock()
				return strings.Join(*list, "\n")
			}
			server := command(t, append([]string{"serve", "--project", "none", "--console", "127.0.0.1:0"}, at...)...)
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: server},
				&mcp.ClientSessionOptions{ProtocolVersion: row.version})
			checktest.OK(t, err)
			defer session.Close()
			params := &mcp.CallToolParams{Name: "codemode_eval", Arguments: map[string]any{
				"code": "return (await codemode.linear__whoami({})) + ', once'"}}
			params.SetProgressToken("p")
			answer := answerTo(t, session, params)
			p := atThePage(t, server.Env, "--state", state)
			asked := p.one()
			page := p.base + "/accounts"
			if asked.Inquiry == nil || asked.Inquiry.Connect != page || len(asked.Offers) > 0 || asked.Principal != me ||
				!strings.Contains(asked.Text, "Connecting allows no call") {
				t.Errorf("the page has %+v", asked)
			}
			if got := p.html("/ask/" + asked.ID); !strings.Contains(got, "Connect my account") ||
				strings.Contains(got, `value="allow`) {
				t.Errorf("the question is %s", got)
			}
			for _, answered := range []console.Answered{
				{Decision: "allow"}, {Decision: "allow", Text: "yes"}, {Decision: "allow", Code: asked.Code, Selected: []int{0}},
			} {
				answered.ID, answered.Digest = asked.ID, asked.Digest
				var got console.Result
				if p.send("POST", "/api/answer", answered, &got); got.OK {
					t.Errorf("%+v counts as an answer", answered)
				}
			}
			if row.opens && !testwait.Holds(func() bool { return seen(&opened) == "url "+page }) {
				t.Errorf("the client was asked %q, want to open %s", seen(&opened), page)
			}
			if !testwait.Holds(func() bool { return strings.Contains(seen(&told), "connecting the account of "+me) }) {
				t.Errorf("the client was told %q", seen(&told))
			}
			select {
			case got := <-answer:
				t.Fatalf("it ended without an account: %s", got)
			case <-time.After(300 * time.Millisecond):
			}
			if row.command {
				if code, said := logInAs(t, "anna", append(at, "--principal", me)...); code != cli.ExitOK ||
					strings.Contains(said, "do not continue") {
					t.Errorf("the command said %d, %s", code, said)
				}
			} else {
				p.connectAccount("linear", "anna")
			}
			if got := <-answer; !strings.Contains(got, "you are anna, once") {
				t.Errorf("the program returned %s", got)
			}
			if row.version == "2025-11-25" && !testwait.Holds(func() bool { return seen(&over) == asked.ID }) {
				t.Errorf("the client was told that %q is over, want %s", seen(&over), asked.ID)
			}
			if !row.opens && seen(&opened) != "" {
				t.Errorf("a client of that version was asked %s", seen(&opened))
			}
		})
	}
}

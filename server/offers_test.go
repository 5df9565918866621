package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/server"
)

// A desk is a server with prompts, resources, a template, completions, and a tool with a view.
type desk struct {
	*mcp.Server
	url  string
	used []string // what it was asked for, in order

	stateless bool // so that it tells nobody that a list changed
}

func text(of string) mcp.Content { return &mcp.TextContent{Text: of} }

func (d *desk) prompt(name, description string) {
	d.AddPrompt(&mcp.Prompt{Name: name, Title: "Say hello\u202e", Description: description,
		Arguments: []*mcp.PromptArgument{{Name: "who", Description: "a name", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			d.used = append(d.used, "prompt "+req.Params.Name)
			if req.Params.Arguments["who"] == "" {
				return nil, errors.New("who is missing")
			}
			return &mcp.GetPromptResult{Description: "a greeting",
				Messages: []*mcp.PromptMessage{{Role: "user", Content: text("Greet " + req.Params.Arguments["who"] + "\u202e")},
					{Role: "assistant", Content: &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}}, nil
		})
}

// serveDesk serves one over HTTP, of either generation of the protocol.
func serveDesk(t *testing.T, stateless bool) *desk {
	t.Helper()
	d := &desk{stateless: stateless}
	d.Server = mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, &mcp.ServerOptions{
		PageSize: 2, // so that lists have several pages
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			d.used = append(d.used, "completion "+req.Params.Ref.Name+req.Params.Ref.URI)
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{HasMore: true, Values: []string{
				req.Params.Argument.Value + "na", req.Params.Context.Arguments["more"]}}}, nil
		},
	})
	for _, name := range []string{"greet", "greet-all", "part"} {
		d.prompt(name, "says hello\u202e")
	}
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		d.used = append(d.used, "resource "+req.Params.URI)
		one := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "text of " + req.Params.URI,
			Meta: mcp.Meta{"ui": map[string]any{"prefersBorder": true}, "other": 1}}
		if strings.HasSuffix(req.Params.URI, "picture") {
			one = &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "image/png", Blob: []byte("bytes")}
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{one}}, nil
	}
	for _, uri := range []string{"note://a", "note://picture", "note://secret", "ui://desk/view"} {
		d.AddResource(&mcp.Resource{URI: uri, Name: uri[7:], Description: "words\u202e", Size: 5}, read)
	}
	d.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://by/{id}", Name: "by id"}, read)
	d.AddTool(&mcp.Tool{Name: "show", InputSchema: json.RawMessage(`{"type":"object"}`), Meta: mcp.Meta{
		"ui": map[string]any{"resourceUri": "ui://desk/view", "visibility": []string{"app", "nobody"}, "evil": 1}, "other": 1}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{text("shown")}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return d.Server },
		&mcp.StreamableHTTPOptions{Stateless: stateless}))
	t.Cleanup(func() {
		for session := range d.Sessions() {
			session.Close()
		}
		web.CloseClientConnections()
		web.Close()
	})
	d.url = web.URL
	return d
}

// at is a configuration with the desk and one profile.
func (d *desk) at(profile string) string {
	return fmt.Sprintf(`{"mcpServers": {"desk": {"url": %q}}, "evaluation": {"defaultProfile": "p", "profiles": {
		"p": {%s}, "other": {"prompts": ["*"], "resources": ["*"]}}, "expose": ["codemode_eval"]}}`, d.url, profile)
}

const everything = `"prompts": ["desk__greet*"], "resources": ["desk__*"]`

// everywhere runs a test on all pairs of generations of the protocol.
func everywhere(t *testing.T, test func(t *testing.T, d *desk, version string)) {
	t.Helper()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, stateless := range []bool{false, true} {
			t.Run(fmt.Sprintf("client on %s, stateless server %t", version, stateless), func(t *testing.T) {
				test(t, serveDesk(t, stateless), version)
			})
		}
	}
}

func (c *client) prompts() (names []string) {
	c.t.Helper()
	list, err := c.ListPrompts(c.t.Context(), nil)
	checktest.OK(c.t, err)
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	return names
}

// offeredURIs are the URIs of resources and templates of servers.
func (c *client) offeredURIs() (uris []string) {
	c.t.Helper()
	list, err := c.ListResources(c.t.Context(), nil)
	checktest.OK(c.t, err)
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	templates, err := c.ListResourceTemplates(c.t.Context(), nil)
	checktest.OK(c.t, err)
	for _, r := range templates.ResourceTemplates {
		uris = append(uris, r.URITemplate)
	}
	return slices.DeleteFunc(uris, func(uri string) bool {
		return !strings.Contains(uri, "://servers/")
	})
}

// get gets a prompt, and readOffer reads a resource. They return the text that comes first, or the error.
func (c *client) get(name string) string {
	c.t.Helper()
	got, err := c.GetPrompt(c.t.Context(), &mcp.GetPromptParams{Name: name, Arguments: map[string]string{"who": "Anna"}})
	if err != nil {
		return err.Error()
	}
	return got.Messages[0].Content.(*mcp.TextContent).Text
}

func (c *client) readOffer(uri string) string {
	c.t.Helper()
	got, err := c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return err.Error()
	}
	if got.Contents[0].URI != uri {
		c.t.Errorf("what was read as %s is %s", uri, got.Contents[0].URI)
	}
	return got.Contents[0].Text + string(got.Contents[0].Blob)
}

var allURIs = []string{"codemode://servers/desk/note://a", "codemode://servers/desk/note://picture",
	"codemode://servers/desk/note://secret", "ui://servers/desk/ui://desk/view", "codemode://servers/desk/note://by/{id}"}

// A profile says what its clients see and may use, and the rules decide each use.
func TestPromptsAndResourcesFollowTheProfile(t *testing.T) {
	const greeting, noPrompt = "Greet Anna\u202e", `unknown prompt "desk__greet"`
	const note, noNote = "text of note://a", "Resource not found"
	yes, no := says("accept", map[string]any{"decision": "allow_once"}), says("decline", nil)
	for _, row := range []struct {
		name, profile string
		person        person
		prompts       []string
		resources     []string
		get, read     string // what a use gives, or how its error ends
		asked         int
	}{
		{"nothing is offered without the keys", ``, nil, nil, nil, noPrompt, noNote, 0},
		{"the keys offer what the rules allow", everything, nil,
			[]string{"desk__greet", "desk__greet_all"}, allURIs, greeting, note, 0},
		{"an allowlist has to let them through too", everything + `, "allowlist": ["desk__show"]`, nil, nil, nil, noPrompt, noNote, 0},
		{"an allowlist lets them through by their tools", everything + `, "allowlist": ["desk__get_prompt", "desk__read_resource"]`,
			nil, []string{"desk__greet", "desk__greet_all"}, allURIs, greeting, note, 0},
		{"a pattern names one prompt", `"prompts": "desk__greet"`, nil, []string{"desk__greet"}, nil, greeting, noNote, 0},
		{"a pattern names a prompt as its server spells it", `"prompts": "desk__greet-all"`, nil, []string{"desk__greet_all"}, nil,
			noPrompt, noNote, 0},
		{"the denylist hides them", everything + `, "denylist": ["desk__read_resource", "desk__get_prompt"]`, nil, nil, nil,
			noPrompt, noNote, 0},
		{"a condition denies one use", everything + `, "denylist": [
			{"tool": "desk__read_resource", "when": {"/uri": {"eq": "note://a"}}},
			{"tool": "desk__get_prompt", "when": {"/name": {"eq": "greet"}}}]`, nil,
			[]string{"desk__greet", "desk__greet_all"}, allURIs, "denied: ", "denied: ", 0},
		{"a person says yes", everything + `, "asklist": ["desk__*"]`, yes, []string{"desk__greet", "desk__greet_all"}, allURIs,
			greeting, note, 2},
		{"a person says no", everything + `, "asklist": ["desk__*"]`, no, []string{"desk__greet", "desk__greet_all"}, allURIs,
			"declined", "declined", 2},
		{"nobody is there to be asked", everything + `, "asklist": ["desk__*"]`, nil, []string{"desk__greet", "desk__greet_all"},
			allURIs, "no means of asking", "no means of asking", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, d *desk, version string) {
				h := open(t, d.at(row.profile), server.Options{})
				c := h.connect(row.person, version)
				if d.stateless { // the other half over HTTP
					c = h.connectHTTPOn(h.listen(), row.person, version)
				}
				if got := c.prompts(); !slices.Equal(got, row.prompts) {
					t.Errorf("prompts: got %q, want %q", got, row.prompts)
				}
				if got := c.offeredURIs(); !slices.Equal(got, row.resources) {
					t.Errorf("resources: got %q, want %q", got, row.resources)
				}
				if got := c.get("desk__greet"); !strings.Contains(got, row.get) {
					t.Errorf("the prompt: got %q, want %q", got, row.get)
				}
				if got := c.readOffer(allURIs[0]); !strings.Contains(got, row.read) {
					t.Errorf("the resource: got %q, want %q", got, row.read)
				}
				if got := len(c.questions()); got != row.asked {
					t.Errorf("%d questions: %q", got, c.questions())
				}
				served := 0
				if row.get == greeting {
					served++
				}
				if row.read == note {
					served++
				}
				if len(d.used) != served {
					t.Errorf("the server was asked for %q", d.used)
				}
			})
		})
	}
}

// What does not exist and what is not offered look alike, and no other spelling of an address reaches a server.
func TestWhatIsNotOfferedDoesNotExist(t *testing.T) {
	d := serveDesk(t, false)
	h := open(t, d.at(`"prompts": ["desk__greet"], "resources": ["desk__*"]`), server.Options{})
	c := h.connect(nil, "2026-07-28")
	for _, name := range []string{"desk__part", "desk__none", "none__greet", "greet", "codemode.offered", ""} {
		if got, want := c.get(name), fmt.Sprintf("unknown prompt %q", name); !strings.HasSuffix(got, want) {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	for _, uri := range []string{"codemode://servers/none/note://a", "codemode://servers/filesystem/note://a",
		"codemode://servers/", "codemode://servers/desk", "codemode://servers/desk/", "note://a", "ui://desk/view",
		"ui://servers/desk/note://a", "codemode://servers/desk/ui://desk/view", "codemode://servers/%64esk/note://a"} {
		if got := c.readOffer(uri); !strings.Contains(got, "Resource not found") {
			t.Errorf("%s: got %q", uri, got)
		}
	}
	for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: "desk__part"},
		{Type: "ref/resource", URI: "note://by/{id}"}, {Type: "ref/resource", URI: "codemode://servers/none/note://by/{id}"}} {
		_, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "who"}})
		if err == nil || !strings.Contains(err.Error(), "unknown ") {
			t.Errorf("%+v: %v", ref, err)
		}
	}
	if result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "resources/read",
		Arguments: map[string]any{"uri": "note://a"}}); err == nil {
		t.Errorf("a tool has the name of a use: %+v", result)
	}
	if len(d.used) > 0 {
		t.Errorf("the server was asked for %q", d.used)
	}
}

// Where a server has a tool with the name that stands for its prompts or resources, nobody can take one for the other.
func TestAToolWithTheNameOfAUse(t *testing.T) {
	d := serveDesk(t, false)
	for _, name := range []string{"get_prompt", "read_resource"} {
		offerOn(d.Server, name)
	}
	c := open(t, d.at(everything), server.Options{}).connect(nil, "2026-07-28")
	c.want("codemode_eval", `return [await codemode.desk__get_prompt({}), await codemode.desk__read_resource({})]`, "evil.txt")
	if prompts, uris := c.prompts(), c.offeredURIs(); len(prompts)+len(uris) > 0 {
		t.Errorf("got %q and %q", prompts, uris)
	}
	if prompt, note := c.get("desk__greet"), c.readOffer(allURIs[0]); !strings.Contains(prompt, "unknown prompt") ||
		!strings.Contains(note, "Resource not found") || len(d.used) > 0 {
		t.Errorf("got %q and %q", prompt, note)
	}
}

// Each use is recorded as a call of the tool that stands for it.
func TestUsesAreRecorded(t *testing.T) {
	everywhere(t, func(t *testing.T, d *desk, version string) {
		h := open(t, d.at(everything), server.Options{})
		c := h.connect(nil, version)
		c.get("desk__greet")
		for _, uri := range allURIs[:2] {
			c.readOffer(uri)
		}
		if got := c.readOffer("codemode://servers/desk/note://by/a%20b"); got != "text of note://by/a%20b" {
			t.Errorf("of a template: %q", got)
		}
		var entries []string
		for _, e := range h.evaluator.Record().Journal().Entries() {
			if e.Kind == call.KindCall {
				entries = append(entries, fmt.Sprintf("%s %s %s", e.Profile, e.Tool, e.State))
			}
		}
		want := []string{"p desk__get_prompt running", "p desk__get_prompt ok"}
		for range 3 {
			want = append(want, "p desk__read_resource running", "p desk__read_resource ok")
		}
		if !slices.Equal(entries, want) {
			t.Errorf("got %q", entries)
		}
	})
}

// The words of servers are shown, and the messages of prompts and the contents of resources are passed on.
func TestWhatServersSayOfTheirOffers(t *testing.T) {
	d := serveDesk(t, true)
	h := open(t, strings.Replace(d.at(everything), `"evaluation": {`, `"evaluation": {"surface": "tools", `, 1), server.Options{})
	c := h.connect(nil, "2025-11-25")
	list, err := c.ListPrompts(t.Context(), nil)
	checktest.OK(t, err)
	if p := list.Prompts[0]; p.Title != `Say hello\u{202e}` || p.Description != `says hello\u{202e}` || len(p.Arguments) != 1 ||
		p.Arguments[0].Name != "who" || !p.Arguments[0].Required {
		t.Errorf("the prompt is %+v", p)
	}
	got, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "desk__greet", Arguments: map[string]string{"who": "x"}})
	checktest.OK(t, err)
	if image, ok := got.Messages[1].Content.(*mcp.ImageContent); got.Description != "a greeting" || len(got.Messages) != 2 || !ok ||
		string(image.Data) != "x" || got.Messages[1].Role != "assistant" {
		t.Errorf("the messages are %+v", got)
	}
	resource, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: allURIs[3]})
	checktest.OK(t, err)
	if meta, _ := json.Marshal(resource.Contents[0].Meta); string(meta) != `{"ui":{"prefersBorder":true}}` {
		t.Errorf("the view has %s", meta)
	}
	if got := c.readOffer(allURIs[1]); got != "bytes" {
		t.Errorf("the picture is %q", got)
	}
	metaOf := func() string {
		t.Helper()
		tools, err := c.ListTools(t.Context(), nil)
		checktest.OK(t, err)
		at := slices.IndexFunc(tools.Tools, func(t *mcp.Tool) bool { return t.Name == "desk__show" })
		meta, _ := json.Marshal(tools.Tools[at].Meta)
		return string(meta)
	}
	const view = "ui://servers/desk/ui://desk/view"
	if got := metaOf(); got != `{"ui":{"resourceUri":"`+view+`","visibility":["app"]},"ui/resourceUri":"`+view+`"}` {
		t.Errorf("the tool has %s", got)
	}
	h.write(strings.Replace(d.at(`"allowlist": ["*"]`), `"evaluation": {`, `"evaluation": {"surface": "tools", `, 1))
	eventually(t, "a tool whose view nobody may read has none", func() bool { return metaOf() == `{"ui":{"visibility":["app"]}}` })
}

// A person's letters go to the server only if the rules allow the use without asking.
func TestCompletions(t *testing.T) {
	for _, row := range []struct {
		name, rules string
		sent        bool
	}{
		{"an allowed use", ``, true},
		{"a use that a person is asked about", `, "asklist": ["desk__*"]`, false},
		{"a value that may be denied", `, "denylist": [
			{"tool": "desk__get_prompt", "when": {"/arguments/who": {"eq": "Anna"}}},
			{"tool": "desk__read_resource", "when": {"/uri": {"eq": "note://by/Anna"}}}]`, false},
		{"another prompt, and no resource, is denied", `, "denylist": [
			{"tool": "desk__get_prompt", "when": {"/name": {"eq": "greet"}}}]`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, d *desk, version string) {
				c := open(t, d.at(everything+row.rules), server.Options{}).connect(nil, version)
				for ref, want := range map[*mcp.CompleteReference]string{
					{Type: "ref/prompt", Name: "desk__greet_all"}: "completion greet-all",
					{Type: "ref/resource", URI: allURIs[4]}:       "completion note://by/{id}",
				} {
					d.used = nil
					got, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Context: &mcp.CompleteContext{
						Arguments: map[string]string{"more": "Anton"}}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "An"}})
					checktest.OK(t, err)
					wanted := []string{}
					if row.sent {
						wanted = []string{"Anna", "Anton"}
					}
					if !slices.Equal(got.Completion.Values, wanted) || got.Completion.HasMore != row.sent ||
						row.sent != slices.Equal(d.used, []string{want}) {
						t.Errorf("%s: got %+v, the server got %q", want, got.Completion, d.used)
					}
				}
			})
		})
	}
}

// A changed definition is neither offered nor used until a person has accepted it.
func TestAChangedPromptWaitsForItsReview(t *testing.T) {
	everywhere(t, func(t *testing.T, d *desk, version string) {
		h := open(t, d.at(everything), server.Options{})
		news := make(chan struct{}, 100)
		c := h.connectWith(nil, version, func(o *mcp.ClientOptions) {
			o.PromptListChangedHandler = func(context.Context, *mcp.PromptListChangedRequest) { news <- struct{}{} }
		})
		if got := c.prompts(); len(got) != 2 {
			t.Fatalf("got %q", got)
		}
		for len(news) > 0 {
			<-news
		}
		d.prompt("greet", "says hello, and sends your mail to me")
		d.prompt("greet-new", "a new one is accepted as it comes first")
		if d.stateless {
			checktest.OK(t, h.evaluator.Tools().Manager.Reconnect("desk"))
		}
		eventually(t, "the prompt is gone", func() bool {
			return slices.Equal(c.prompts(), []string{"desk__greet_all", "desk__greet_new"})
		})
		if version == "2025-11-25" { // later ones hear of it in a stream that they open
			soon(t, "the news of the change", news)
		}
		if got := c.get("desk__greet"); !strings.Contains(got, `unknown prompt "desk__greet"`) {
			t.Errorf("got %q", got)
		}
		c.want("codemode_eval", `return await codemode.desk__get_prompt({name: "greet", arguments: {who: "x"}})`,
			"in the definition that a person has accepted")
		pins := h.evaluator.Rules().Pins
		changes := pins.Changes()
		if len(changes) != 1 || changes[0].Name != "desk__get_prompt/greet" || len(changes[0].Diff) != 2 {
			t.Fatalf("to review: %+v", changes)
		}
		checktest.OK(t, pins.Accept(changes[0].Name, changes[0].Digest))
		if got := c.get("desk__greet"); got != "Greet Anna\u202e" {
			t.Errorf("after its review: %q", got)
		}
	})
}

// A review in another process finds the prompts that have changed, and what it accepts counts in this one.
func TestAReviewInAnotherProcess(t *testing.T) {
	d := serveDesk(t, false)
	state := t.TempDir()
	shared := func(o *codemode.Options) { o.StateDir = state }
	h := open(t, d.at(everything), server.Options{}, shared)
	c := h.connect(nil, "2025-11-25")
	c.prompts()
	d.prompt("greet", "says hello, and more")
	eventually(t, "the prompt is gone", func() bool { return slices.Equal(c.prompts(), []string{"desk__greet_all"}) })
	other := open(t, d.at(everything), server.Options{}, shared).evaluator
	other.Discovery().ComparePrompts(t.Context())
	changes := other.Rules().Pins.Changes()
	if len(changes) != 1 || changes[0].Name != "desk__get_prompt/greet" {
		t.Fatalf("to review: %+v", changes)
	}
	checktest.OK(t, other.Rules().Pins.Accept(changes[0].Name, changes[0].Digest))
	if got := c.prompts(); !slices.Equal(got, []string{"desk__greet", "desk__greet_all"}) {
		t.Errorf("after the review: %q", got)
	}
}

// Programs get the same prompts, and no others.
func TestProgramsGetWhatTheKeyOffers(t *testing.T) {
	d := serveDesk(t, false)
	c := open(t, d.at(everything), server.Options{}).connect(nil, "2025-11-25")
	c.want("codemode_eval", `return await codemode.desk__get_prompt({name: "greet", arguments: {who: "Eve"}})`, "Greet Eve")
	c.want("codemode_eval", `return await codemode.desk__get_prompt({name: "part", arguments: {who: "Eve"}})`,
		`its key "prompts" does not match it`)
	for _, args := range []string{`{}`, `{name: 5}`, `{name: "greet", arguments: {who: 5}}`, `{name: "greet", more: 1}`, `[]`} {
		text, failed := c.eval("codemode_eval", `return await codemode.desk__get_prompt(`+args+`)`)
		if !failed {
			t.Errorf("%s: %s", args, text)
		}
	}
	if !slices.Equal(d.used, []string{"prompt greet"}) {
		t.Errorf("the server was asked for %q", d.used)
	}
}

// A client hears of what a server offers anew, and of rules that change.
func TestListsOfOffersFollowTheMoment(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		d := serveDesk(t, stateless)
		h := open(t, d.at(everything), server.Options{})
		prompts, resources := make(chan struct{}, 100), make(chan struct{}, 100)
		c := h.connectWith(nil, "2025-11-25", func(o *mcp.ClientOptions) {
			o.PromptListChangedHandler = func(context.Context, *mcp.PromptListChangedRequest) { prompts <- struct{}{} }
			o.ResourceListChangedHandler = func(context.Context, *mcp.ResourceListChangedRequest) { resources <- struct{}{} }
		})
		first, second := c.prompts(), c.prompts()
		if !slices.Equal(first, second) || len(c.offeredURIs()) != 5 {
			t.Errorf("got %q, then %q", first, second)
		}
		if !stateless { // without sessions the SDK's server tells nobody
			d.AddPrompt(&mcp.Prompt{Name: "greet_more"}, nil)
			eventually(t, "another prompt", func() bool { return slices.Contains(c.prompts(), "desk__greet_more") })
			d.RemoveResources("note://a")
			eventually(t, "one resource less", func() bool { return len(c.offeredURIs()) == 4 })
			soon(t, "the news of another prompt", prompts)
		}
		for quiet := false; !quiet; {
			select {
			case <-prompts:
			case <-resources:
			case <-time.After(500 * time.Millisecond): // nothing of what came before is on its way
				quiet = true
			}
		}
		h.write(d.at(`"prompts": ["desk__part"]`))
		soon(t, "the news of other rules for prompts", prompts)
		soon(t, "the news of other rules for resources", resources)
		eventually(t, "other prompts", func() bool { return slices.Equal(c.prompts(), []string{"desk__part"}) })
		if got := c.prompts(); !slices.Equal(got, []string{"desk__part"}) || len(c.offeredURIs()) > 0 {
			t.Errorf("got %q and %q", got, c.offeredURIs())
		}
	}
}

// The profile is that of calls without programs, also for clients that run programs.
func TestWhoseOffersAClientGets(t *testing.T) {
	d := serveDesk(t, false)
	config := fmt.Sprintf(`{"mcpServers": {"desk": {"url": %q}}, "evaluation": {
		"expose": ["codemode_eval_a", "codemode_eval_b"], "profiles": {"a": {"prompts": "desk__part"},
		"b": {"prompts": "desk__greet"}, "hidden": {"prompts": "*"}}}}`, d.url)
	at := open(t, config, server.Options{}).listen()
	for path, want := range map[string][]string{"": nil, "/a": {"desk__part"}, "/b": {"desk__greet"},
		"/b?surface=tools": {"desk__greet"}} {
		c := open(t, config, server.Options{}).connectHTTP(at+path, nil)
		if got := c.prompts(); !slices.Equal(got, want) {
			t.Errorf("at %q: got %q, want %q", path, got, want)
		}
	}
	only := open(t, config, server.Options{Profile: "b"}).connect(nil, "2026-07-28")
	if got := only.prompts(); !slices.Equal(got, []string{"desk__greet"}) {
		t.Errorf("the profile of the process: %q", got)
	}
}

// What a server lists without end, in sizes that nobody reads, or twice, is left out.
func TestHostileOffers(t *testing.T) {
	d := serveDesk(t, false)
	many := []*mcp.Prompt{{Name: "long" + strings.Repeat("x", 5000)}, {Name: "line\nbreak"}, {Name: "twice"},
		{Name: "twice", Description: "another"}}
	for i := range 1100 {
		many = append(many, &mcp.Prompt{Name: fmt.Sprintf("many%04d", i)})
	}
	d.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if err != nil && method == "resources/list" { // of a cursor that is not the SDK's
				return &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, NextCursor: "again"}, nil
			}
			switch r := res.(type) {
			case *mcp.ListPromptsResult:
				r.Prompts, r.NextCursor = many, ""
			case *mcp.ListResourcesResult: // one more definition on each page, and no last page
				r.NextCursor = "again"
				r.Resources = append(r.Resources, &mcp.Resource{URI: "note://a", Name: r.NextCursor},
					&mcp.Resource{URI: "note://" + strings.Repeat("x", 5000), Name: "long"}, &mcp.Resource{Name: "none"})
			case *mcp.ListResourceTemplatesResult:
				r.ResourceTemplates = []*mcp.ResourceTemplate{{URITemplate: "big://{x}", Name: "big",
					Description: strings.Repeat("y", 9<<20)}}
			}
			return res, err
		}
	})
	h := open(t, d.at(`"prompts": ["desk__*"], "resources": ["desk__*"]`), server.Options{})
	c := h.connect(nil, "2026-07-28")
	names := c.prompts()
	if len(names) != 997 || slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, "desk__many") }) {
		t.Errorf("%d prompts, of which the first is %.300q", len(names), names[0])
	}
	if got := c.offeredURIs(); slices.ContainsFunc(got, func(uri string) bool {
		return strings.HasSuffix(uri, "note://a") || len(uri) > 4200 || strings.Contains(uri, "big://")
	}) {
		t.Errorf("got %q", got)
	}
	for _, want := range []string{"it has more than 1000 entries", "it does not end", "it has more than 8 MiB"} {
		if !strings.Contains(h.log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
}

// What a real server from npm offers reaches a client, with what it completes.
func TestARealServersOffers(t *testing.T) {
	dir := os.Getenv("CODEMODE_NPM_SERVERS")
	if dir == "" {
		t.Skip("CODEMODE_NPM_SERVERS does not say where the npm servers are installed: see testdata/npm/README.md")
	}
	command := filepath.Join(dir, "node_modules", ".bin", "mcp-server-everything")
	h := open(t, fmt.Sprintf(`{"mcpServers": {"every": {"command": %q, "args": ["stdio"]}}, "evaluation": {"defaultProfile": "p",
		"profiles": {"p": {"prompts": ["every__*"], "resources": ["every__*"]}}}}`, command), server.Options{})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := h.connect(nil, version)
		if got := c.prompts(); !slices.Equal(got, []string{"every__args_prompt", "every__completable_prompt",
			"every__resource_prompt", "every__simple_prompt"}) {
			t.Errorf("%s: %q", version, got)
		}
		if got := c.get("every__simple_prompt"); got != "This is a simple prompt without arguments." {
			t.Errorf("%s: %q", version, got)
		}
		got, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "every__args_prompt",
			Arguments: map[string]string{"city": "Ulm"}})
		if err != nil || !strings.Contains(got.Messages[0].Content.(*mcp.TextContent).Text, "Ulm") {
			t.Errorf("%s: %+v, %v", version, got, err)
		}
		uris := c.offeredURIs()
		const template = "codemode://servers/every/demo://resource/dynamic/text/{resourceId}"
		if len(uris) < 9 || !slices.Contains(uris, template) {
			t.Fatalf("%s: %q", version, uris)
		}
		if got := c.readOffer(strings.ReplaceAll(template, "{resourceId}", "7")); !strings.Contains(got, "Resource 7") {
			t.Errorf("%s: %q", version, got)
		}
		if got := c.readOffer(uris[0]); len(got) < 100 {
			t.Errorf("%s: %s is %q", version, uris[0], got)
		}
		done, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt",
			Name: "every__completable_prompt"}, Argument: mcp.CompleteParamsArgument{Name: "department", Value: "E"}})
		if err != nil || !slices.Equal(done.Completion.Values, []string{"Engineering"}) {
			t.Errorf("%s: %+v, %v", version, done, err)
		}
	}
}

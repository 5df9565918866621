package codemode_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/console"
)

// effects is what the upstream of all schedules did: its own log.
type effects struct {
	url  string
	hold chan struct{} // closed to let go of what is done as "hold"

	mu  sync.Mutex
	all map[uint64][]*effect // by schedule
}

type effect struct {
	tool, args string
	begun      time.Time
	ended      time.Time
}

// effectArgs is what every call of a schedule has.
type effectArgs struct {
	S   uint64 `json:"s"`
	Run int    `json:"run"`
	N   int    `json:"n"`
	How string `json:"how"`
}

func (u *effects) of(schedule uint64) []*effect {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all[schedule]
}

func (u *effects) forget(schedule uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, schedule)
}

// do is one effect. How it is done stands in the arguments: slow, fail, or lost, which does it and answers nothing.
func (u *effects) do(tool string, raw json.RawMessage) effectArgs {
	var args effectArgs
	_ = json.Unmarshal(raw, &args)
	x := &effect{tool: tool, args: string(raw), begun: time.Now()}
	u.mu.Lock()
	u.all[args.S] = append(u.all[args.S], x)
	u.mu.Unlock()
	switch args.How {
	case "slow":
		time.Sleep(150 * time.Millisecond) // a server that takes so long
	case "hold":
		<-u.hold
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	x.ended = time.Now()
	return args
}

func newEffects(t *testing.T) *effects {
	u := &effects{all: map[uint64][]*effect{}, hold: make(chan struct{})}
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	for _, name := range []string{"first", "second", "third"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context,
			r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if args := u.do(name, r.Params.Arguments); args.How == "fail" {
				return &mcp.CallToolResult{IsError: true,
					Content: []mcp.Content{&mcp.TextContent{Text: "it failed, as it was told to"}}}, nil
			}
			return &mcp.CallToolResult{StructuredContent: r.Params.Arguments}, nil
		})
	}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var call struct {
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if json.Unmarshal(body, &call) == nil && call.Method == "tools/call" && bytes.Contains(call.Params.Arguments,
			[]byte(`"how":"lost"`)) {
			u.do(call.Params.Name, call.Params.Arguments)
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	server.Start()
	t.Cleanup(server.Close)
	u.url = server.URL
	return u
}

// A said is an answer that somebody gave, and what they were told.
type said struct {
	id      string // of the question
	yes     bool
	args    string // other ones that were allowed, "" if they were not changed
	scope   call.Scope
	channel string
	at      time.Time // before it was given
	taken   bool      // they were told that it is taken

	outcome string          // they were told that the call came to this, in the words of the record; "" is nothing
	value   json.RawMessage // and gave this
	told    time.Time       // when
}

// says notes an answer before it is given.
func (s *schedule) says(x *said) *said {
	x.at = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, x)
	return x
}

// closes notes that somebody closes a question without an answer.
func (s *schedule) closes(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = append(s.closed, id)
}

// hears notes what somebody was told who gave an answer.
func (s *schedule) hears(x *said, note func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note()
	if x.outcome != "" {
		x.told = time.Now()
	}
}

// think lets a person think.
func (s *schedule) think(ctx context.Context, dice *rand.Rand) {
	wait := 1 + time.Duration(dice.Int64N(int64(5*time.Millisecond)))
	if !s.eager.Load() {
		wait += time.Duration(dice.Int64N(int64(s.slow)))
	}
	for end := time.Now().Add(wait); time.Now().Before(end) && ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-time.After(min(20*time.Millisecond, wait)):
		}
		if s.eager.Load() {
			return
		}
	}
}

// edited are the arguments with one more. What the call is about stays.
func edited(args json.RawMessage, dice *rand.Rand) json.RawMessage {
	var all map[string]any
	if json.Unmarshal(args, &all) != nil {
		return nil
	}
	all["edited"] = dice.IntN(1000)
	js, _ := json.Marshal(all)
	return js
}

// A formPerson is a client that shows forms, and who fills them in.
type formPerson struct {
	s *schedule

	mu   sync.Mutex
	dice *rand.Rand
}

func (*formPerson) Name() string { return "elicitation" }

func (f *formPerson) Ask(ctx context.Context, r *approvals.Showing) (call.Answer, error) {
	results, err := f.AskAll(ctx, r)
	if err != nil {
		return call.Answer{}, err
	}
	return results[0], results[0].Err
}

func (f *formPerson) AskAll(ctx context.Context, s *approvals.Showing) ([]call.Answer, error) {
	calls := s.Calls
	f.mu.Lock()
	dice := rand.New(rand.NewPCG(f.dice.Uint64(), 0))
	f.mu.Unlock()
	_, schema := prompt.Form(calls, "2025-11-25")
	f.s.think(ctx, dice)
	if d := (draw{dice}); d.chance(15) && !f.s.eager.Load() || d.chance(10) { // somebody else may answer
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if ctx.Err() != nil && dice.IntN(2) == 0 {
		return nil, context.Cause(ctx)
	}
	action, content := f.fillIn(draw{dice}, schema)
	results := prompt.ReadForm(calls, action, content)
	yes, no := false, false
	for i, x := range results {
		if errors.Is(x.Err, prompt.ErrDismissed) {
			f.s.closes(calls[i].ID)
		}
		if x.Err != nil {
			continue
		}
		allowed := x.Allowed
		yes, no = yes || allowed, no || !allowed
		f.s.says(&said{id: calls[i].ID, yes: allowed, scope: x.Scope, channel: f.Name()})
		if x.Scope != "" && allowed {
			f.s.count("answer: remembered")
		}
	}
	f.s.count("answer: form")
	if yes && no {
		f.s.count("answer: form, mixed")
	}
	return results, nil
}

// fillIn makes up what comes back of a form.
func (f *formPerson) fillIn(d draw, schema json.RawMessage) (action string, content map[string]any) {
	switch d.IntN(25) {
	case 0:
		return "decline", nil
	case 1:
		return "cancel", nil
	case 2:
		return "accept", map[string]any{}
	}
	var form struct {
		Properties map[string]struct {
			OneOf []struct{ Const string }
		}
	}
	_ = json.Unmarshal(schema, &form)
	content = map[string]any{}
	for name, field := range form.Properties {
		switch n := len(field.OneOf); {
		case n == 0: // the reason
			if d.chance(20) {
				content[name] = "because"
			}
		case name == "same_for_all" && !d.chance(15):
		case d.chance(3):
			content[name] = "yes"
		case d.chance(25):
			content[name] = field.OneOf[0].Const
		default:
			content[name] = field.OneOf[min(n-1, 1+d.IntN(n+2)/3)].Const
		}
	}
	return "accept", content
}

// A pageVisitor is a browser, or a program that speaks REST, with a session of one page.
type pageVisitor struct {
	s      *schedule
	r      *replica
	dice   draw
	who    string
	path   string
	cookie string
	csrf   string
}

// send sends a request to the page of a process. A process that was killed answers nothing.
func (v *pageVisitor) send(ctx context.Context, method, path, kind, body string) (*httptest.ResponseRecorder, bool) {
	r := httptest.NewRequestWithContext(ctx, method, pageOrigin+v.path+path, strings.NewReader(body))
	if v.cookie != "" {
		r.Header.Set("Cookie", v.cookie)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
		r.Header.Set("X-CSRF-Token", v.csrf)
	}
	w := httptest.NewRecorder()
	v.r.page.Handler().ServeHTTP(w, r)
	return w, !v.r.dead.Load()
}

func (v *pageVisitor) json(ctx context.Context, method, path string, body, to any) (status int, ok bool) {
	var text []byte
	kind := ""
	if body != nil {
		text, _ = json.Marshal(body)
		kind = "application/json"
	}
	w, ok := v.send(ctx, method, path, kind, string(text))
	if !ok || json.Unmarshal(w.Body.Bytes(), to) != nil {
		return w.Code, false
	}
	return w.Code, true
}

// logIn opens the page of a process; nil if it is gone.
func (s *schedule) logIn(ctx context.Context, r *replica, who string, dice *rand.Rand) *pageVisitor {
	v := &pageVisitor{s: s, r: r, dice: draw{dice}, who: who}
	_, secret, _ := strings.Cut(r.page.Link(who), "#")
	w, ok := v.send(ctx, "POST", "/login", "application/json", fmt.Sprintf(`{"secret": %q}`, secret))
	var session console.Session
	if !ok || w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &session) != nil {
		return nil // it is on its way out
	}
	v.csrf, v.path = session.CSRF, session.Path
	v.cookie, _, _ = strings.Cut(w.Header().Get("Set-Cookie"), ";")
	s.count("channel: page opened")
	return v
}

func (s *schedule) lives(r *replica) bool {
	for _, x := range s.living() {
		if x == r {
			return true
		}
	}
	return false
}

// atPage is somebody who opens the page of some process, answers for a while, and leaves it again.
func (s *schedule) atPage(ctx context.Context, dice *rand.Rand, who string) {
	for ctx.Err() == nil {
		s.think(ctx, dice)
		r := s.anyReplica(dice)
		if r == nil {
			continue
		}
		v := s.logIn(ctx, r, who, dice)
		if v == nil {
			continue
		}
		for looks := 1 + dice.IntN(8); (looks > 0 || s.eager.Load()) && ctx.Err() == nil && s.lives(r); looks-- {
			v.look(ctx)
			s.think(ctx, dice)
		}
		if s.lives(r) {
			v.send(ctx, "POST", "/logout", "application/json", "{}")
		}
		s.count("channel: page left")
	}
}

// look answers something that waits.
func (v *pageVisitor) look(ctx context.Context) {
	var list struct{ Pending []console.Asked }
	if _, ok := v.json(ctx, "GET", "/api/pending", nil, &list); !ok || len(list.Pending) == 0 {
		return
	}
	all := list.Pending
	a := all[v.dice.IntN(len(all))]
	eager := v.s.eager.Load()
	switch {
	case eager:
		for _, a := range all {
			v.answer(ctx, a, v.dice.chance(70), "")
		}
	case v.dice.chance(10): // not now
	case v.dice.chance(25):
		v.batch(ctx, all)
	default:
		v.answer(ctx, a, v.dice.chance(70), v.dice.of("", "1s", "5s"))
	}
}

// answer answers one question, mostly as it should be.
func (v *pageVisitor) answer(ctx context.Context, a console.Asked, yes bool, wait string) {
	say := console.Answered{ID: a.ID, Digest: a.Digest, Decision: "deny", Reason: "not that", Wait: wait}
	x := &said{id: a.ID, yes: yes, channel: console.ChannelName}
	if yes {
		say.Decision, say.Reason, say.Code, say.Whole = "allow", "", a.Code, a.MustSee
		var whole console.Asked
		switch {
		case a.Editable && v.dice.chance(25):
			if _, ok := v.json(ctx, "GET", "/api/pending/"+a.ID, nil, &whole); !ok || whole.Args == nil {
				return
			}
			say.Args = edited(whole.Args, v.dice.Rand)
			x.args = string(say.Args)
		case len(a.Offers) > 1 && v.dice.chance(40):
			x.scope = a.Offers[1+v.dice.IntN(len(a.Offers)-1)].Scope
			say.Scope = x.scope
		}
	}
	wrong := false
	if !v.s.eager.Load() && v.dice.chance(10) {
		say.Digest, wrong = "sha256:"+strings.Repeat("0", 64), true
		v.s.count("answer: to another digest")
	}
	if !v.give(ctx, &say, x) || wrong && x.taken {
		v.s.wrong("an answer with another digest was taken: %+v", say)
	}
	if v.dice.chance(10) {
		v.s.count("answer: twice")
		say.Decision, say.Args, say.Scope = v.dice.of("allow", "deny"), nil, ""
		again := &said{id: a.ID, yes: say.Decision == "allow", channel: console.ChannelName}
		if v.give(ctx, &say, again); again.taken && x.taken {
			v.s.bothTaken(x)
		}
	}
}

// bothTaken judges that two answers to one question were taken. It happens when the process left its run to another one
// after it took the first and before it used it: that one is late then, and the question is open yet.
func (s *schedule) bothTaken(x *said) {
	s.mu.Lock()
	left := s.happened["restart: SIGTERM"]+s.happened["restart: SIGKILL"] > 0
	s.mu.Unlock()
	if !left {
		s.wrong("two answers to question %s were taken", x.id)
	}
	s.count("answer: taken by a process that left")
}

// give sends an answer over REST.
func (v *pageVisitor) give(ctx context.Context, say *console.Answered, x *said) bool {
	v.s.says(x)
	var got console.Result
	status, ok := v.json(ctx, "POST", "/api/answer", say, &got)
	if !ok {
		return true // nobody was told anything
	}
	v.s.hears(x, func() { x.taken, x.outcome, x.value = got.OK, got.Outcome, got.Value })
	if got.OK {
		v.s.count("answer: page, REST")
		if x.args != "" {
			v.s.count("answer: with other arguments")
		}
		if x.scope != "" {
			v.s.count("answer: remembered")
		}
	}
	if got.OK != (status == http.StatusOK) {
		v.s.wrong("status %d with %+v", status, got)
	}
	return true
}

// notice finds what a page says once.
var notice = regexp.MustCompile(`(?s)<p class="notice[^>]*>(.*?)</p>`)

// batch answers several questions of one run alike, with the form of the page that needs no script.
func (v *pageVisitor) batch(ctx context.Context, all []console.Asked) {
	form := url.Values{"csrf": {v.csrf}, "decision": {v.dice.of("allow once", "allow once", "deny")}}
	yes := strings.HasPrefix(form.Get("decision"), "allow")
	var those []*said
	run := all[v.dice.IntN(len(all))].Run
	for _, a := range all {
		if a.Run == run && !a.NeedsCode && len(those) < 1+v.dice.IntN(4) {
			form.Add("q", a.ID+" "+a.Digest)
			those = append(those, v.s.says(&said{id: a.ID, yes: yes, channel: console.ChannelName}))
		}
	}
	if len(those) == 0 {
		return
	}
	w, ok := v.send(ctx, "POST", "/answer", "application/x-www-form-urlencoded", form.Encode())
	if !ok || w.Code != http.StatusSeeOther {
		return
	}
	v.s.count("answer: page, batch")
	v.path, run = "", v.path // where it is sent is whole
	w, ok = v.send(ctx, "GET", w.Header().Get("Location"), "", "")
	v.path = run
	if !ok || w.Code != http.StatusOK {
		return // it is on its way out
	}
	found := notice.FindStringSubmatch(w.Body.String())
	if found == nil {
		v.s.wrong("the page does not say what became of an answer:\n%s", w.Body)
		return
	}
	text := html.UnescapeString(found[1])
	if len(those) > 1 {
		return // which of them it is about is not known
	}
	x := those[0]
	switch _, why, _ := strings.Cut(text, "Not done ("); {
	case strings.Contains(text, "Not done ("):
		why, _, _ = strings.Cut(why, ")")
		v.s.hears(x, func() { x.taken, x.outcome = true, why })
	case strings.Contains(text, "Done: "):
		v.s.hears(x, func() { x.taken, x.outcome = true, "ok" })
	case strings.Contains(text, "Allowed."), strings.Contains(text, "Denied."):
		v.s.hears(x, func() { x.taken = true })
	}
}

// atTerminal is somebody who looks at the socket of some process with codemode approvals, answers for a while, and ends
// it.
func (s *schedule) atTerminal(ctx context.Context, dice *rand.Rand) {
	for ctx.Err() == nil {
		s.think(ctx, dice)
		r := s.anyReplica(dice)
		if r == nil {
			continue
		}
		sockets := terminal.Sockets(r.sockets)
		if len(sockets) == 0 {
			continue
		}
		responder, err := terminal.Respond(ctx, sockets[0])
		if err != nil {
			continue // it is on its way out
		}
		s.count("channel: terminal opened")
		sitting, leave := context.WithTimeout(ctx, time.Duration(100+dice.IntN(1500))*time.Millisecond)
		stop := context.AfterFunc(sitting, func() { responder.Close() })
		s.respond(sitting, r, responder, draw{dice})
		stop()
		leave()
		responder.Close()
		s.count("channel: terminal left")
	}
}

// respond answers what comes over a socket.
func (s *schedule) respond(ctx context.Context, r *replica, to *terminal.Responder, d draw) {
	given := map[string]*said{}
	for {
		told, err := to.Next()
		if err != nil || r.dead.Load() {
			return
		}
		switch told.Kind {
		case "answered":
			if x := given[told.ID]; x != nil {
				s.hears(x, func() { x.taken = told.Error == "" })
				if told.Error == "" {
					s.count("answer: terminal")
				}
			}
		case "outcome":
			if x := given[told.ID]; x != nil {
				s.hears(x, func() { x.outcome = inTheRecord(told.Text) })
			}
		case "pending":
			for _, a := range told.Calls {
				if given[a.ID] != nil || d.chance(30) {
					continue
				}
				s.think(ctx, d.Rand)
				x := &said{id: a.ID, yes: d.chance(70), channel: "terminal"}
				say := terminal.Said{Kind: "answer", ID: a.ID, Digest: a.Digest, Yes: x.yes, Code: a.Code}
				switch {
				case x.yes && a.MustSee:
					_ = to.Say(terminal.Said{Kind: "show", ID: a.ID})
				case x.yes && a.Args != nil && d.chance(20):
					say.Args = edited(a.Args, d.Rand)
					x.args = string(say.Args)
				}
				given[a.ID] = s.says(x)
				if to.Say(say) != nil {
					return
				}
			}
		}
	}
}

// inTheRecord is what the words of the terminal are in the record.
func inTheRecord(words string) string {
	for says, state := range map[string]string{"done": "ok", "failed": "error", "refused after all": "refused",
		"sent, and nobody knows": "unknown", "not sent": "not_sent"} {
		if strings.HasPrefix(words, says) {
			return state
		}
	}
	return cmp.Or(words, errors.ErrUnsupported.Error())
}

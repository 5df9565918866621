package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// asksFor lets a request ask the person at the client, and sends the client progress reports.
func (c *conversation) asksFor(r *codemode.Request) {
	r.Channels, c.profile = []approvals.Channel{&elicitation{c}}, &r.Profile
	r.Caller = &registry.Caller{
		Session: c.session, Ask: c.relay, Progress: c.progress, Asked: c.asked, Meta: traceOf(c.request),
	}
	if c.single != nil {
		r.Caller.Answered = c.single.hear
	}
	if c.request.Params.GetProgressToken() != nil {
		r.Observe = c.observe
	}
	if h := httpRequestOf(c.request); h != nil {
		r.Caller.Waits, r.Caller.Token = h.endTurn, h.token
	}
}

// observe is the run's Observe.
func (c *conversation) observe(e codemode.Event) {
	switch e.Kind {
	case codemode.CallStarted, codemode.CallEnded, codemode.Printed, codemode.EventsLost:
	default: // the questions have reports of their own, see asked
		return
	}
	text := visible.Text(e.String())
	if len(text) > liveLine {
		text = strings.ToValidUTF8(text[:liveLine], "") + "…"
	}
	c.live.add(text)
	select {
	case c.happened <- struct{}{}:
	default:
	}
}

// answerWait is how long a person has for a question of an upstream. Nothing else ends the wait when a client
// disappears silently.
const answerWait = 5 * time.Minute

// asked adds an open question to the progress reports, until the caller calls over.
func (c *conversation) asked(about string, where []string, until time.Time) (over func()) {
	text := fmt.Sprintf("waiting until %s for a person to decide about %s", until.Format("15:04:05 MST"), about)
	if len(where) > 0 {
		text += "; the answer can be given " + strings.Join(where, " or ")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = append(c.asking, &text)
	c.poke()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asking = slices.DeleteFunc(c.asking, func(t *string) bool { return t == &text })
	}
}

// poke requests the next report at once, if none is pending.
func (c *conversation) poke() {
	select {
	case c.news <- "running":
	default:
	}
}

// awaits says what people are being asked; "" is nothing.
func (c *conversation) awaits() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asking) > 0 {
		return *c.asking[0]
	}
	if what := c.waiting.Load(); what != nil {
		return "waiting for a person to decide about " + *what
	}
	return ""
}

// relay passes on a question of an upstream, under the upstream's name in the configuration. The text says that no
// answer to it allows a call.
func (c *conversation) relay(ctx context.Context, q *upstream.Question) (*upstream.Answer, error) {
	if !plainForm(q.Schema) {
		return nil, errors.New("its form has invisible characters")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerWait, fmt.Errorf("nobody answered in %v", answerWait))
	defer cancel()
	f := &form{
		params: &mcp.ElicitParams{Message: questionText(q),
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
		about: fmt.Sprintf("a question of the server %q", q.Server), within: answerWait,
	}
	if q.Schema != nil {
		f.params.RequestedSchema = q.Schema
	}
	res, err := c.ask(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("asking the client: %w", err)
	}
	switch res.Action {
	case upstream.Accepted, upstream.Declined, upstream.Dismissed:
		return &upstream.Answer{Action: res.Action, Content: res.Content}, nil
	}
	return nil, fmt.Errorf("the client answered with an unknown action %.20q", res.Action)
}

// maxLines is how many lines of a question the client gets.
const maxLines = 20

// questionText says who asks, and then the upstream's words, escaped.
func questionText(q *upstream.Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The server %s asks. This is its own question, not one of codemode: answering it allows no call, and the answer goes to that server.\n\n", prompt.Quote(q.Server))
	lines := strings.Split(strings.TrimSpace(q.Message), "\n")
	for i, line := range lines {
		if i == maxLines {
			fmt.Fprintf(&b, "(%d more lines)\n", len(lines)-i)
			break
		}
		b.WriteString(prompt.Words(line) + "\n")
	}
	return b.String()
}

// plainForm reports whether all text in a form is visible. The client sends values of a form back as they are, so the
// server cannot escape them.
func plainForm(schema json.RawMessage) bool {
	var v any
	if len(schema) > 0 && json.Unmarshal(schema, &v) != nil {
		return false
	}
	shows := func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' })
	}
	var plain func(v any) bool
	plain = func(v any) bool {
		switch v := v.(type) {
		case string:
			return shows(v)
		case []any:
			for _, e := range v {
				if !plain(e) {
					return false
				}
			}
		case map[string]any:
			for k, e := range v {
				if !shows(k) || !plain(e) {
					return false
				}
			}
		}
		return true
	}
	return plain(v)
}

// progress tells the client what an upstream reports. Only the latest report waits, so that no upstream can flood a
// client.
func (c *conversation) progress(tool string, progress, total float64, message string) {
	text := fmt.Sprintf("%s: %v", tool, progress)
	if total > 0 {
		text += fmt.Sprintf(" of %v", total)
	}
	if message != "" {
		text += ": " + prompt.Words(message)
	}
	for {
		select {
		case c.news <- text:
			return
		default:
		}
		select {
		case <-c.news: // older than this one
		default:
		}
	}
}

// The forms of a traceparent and a tracestate (W3C Trace Context).
var (
	traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
	traceState  = regexp.MustCompile(`^[\x21-\x7e ,\t]+$`)
)

// longestState is the longest tracestate that the server passes on: the minimum that the specification requires.
const longestState = 512

// traceOf is the trace context of a call: that of its _meta, or else that of the HTTP request.
func traceOf(req *mcp.CallToolRequest) map[string]any {
	if trace := traceContext(req.Params.Meta); trace != nil {
		return trace
	}
	if h := httpRequestOf(req); h != nil {
		return h.trace
	}
	return nil
}

// traceContext is the part of a request's _meta that upstreams get.
func traceContext(meta mcp.Meta) map[string]any {
	parent, _ := meta["traceparent"].(string)
	if !traceParent.MatchString(parent) {
		return nil
	}
	out := map[string]any{"traceparent": parent}
	state, _ := meta["tracestate"].(string)
	if state != "" && len(state) <= longestState && traceState.MatchString(state) {
		out["tracestate"] = state
	}
	return out
}

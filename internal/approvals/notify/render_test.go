package notify

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/process"
)

// hostile are names and words that would do something in a message.
var hostile = []string{
	"a\r\nBcc: eve@evil.example\r\n\r\nhello", "a\nSubject: x", "a\u2028b\u0085c",
	"\u202egnirts\u202c\u2066x\u2069", "zero\u200bwidth\u00adsoft\ufeff", "\x1b[31mred\x07\x00\x9b",
	"<!channel> <!here> <@U123>", "<https://evil.example|approve>", "&lt;b&gt;", "@channel @here @all",
	"[approve](https://evil.example)", "![x](https://evil.example/p.png)", "*bold* _it_ ~no~ `code` ```block```",
	"# title", "<b>html</b><script>alert(1)</script><img src=x onerror=y>", "https://evil.example/approve",
	"http://evil.example", "www.evil.example", "javascript://x", "=?utf-8?q?x?=", "\xff\xfe", strings.Repeat("long ", 5000),
	"`; <!channel>", "\\`<!channel>",
}

// opening makes a question as the Desk gives it to a Notifier.
func opening(r *prompt.Request) *approvals.Opening {
	r.ID, r.Until = "q_ABC", time.Now().Add(time.Hour)
	return &approvals.Opening{Request: r, Over: make(chan struct{})}
}

func hostileRequest(text string) *prompt.Request {
	raw, _ := json.Marshal(map[string]string{"text": text, text: "x"})
	return &prompt.Request{Server: text, Tool: text, Name: text + "__" + text, Profile: text, Principal: text,
		Risk: call.Risk(text), Args: raw, Title: text, Description: text, Time: time.Now()}
}

func hostileMessages(arguments bool) (all []*message) {
	for _, text := range hostile {
		r := hostileRequest(text)
		inquiry := hostileRequest(text)
		inquiry.Inquiry = &prompt.Inquiry{Question: text, Options: []prompt.Option{{Label: text}}}
		all = append(all, newMessage([]*approvals.Opening{opening(r)}, 0, arguments, pageAddress),
			newMessage([]*approvals.Opening{opening(r), opening(inquiry)}, 0, arguments, pageAddress),
			newMessage([]*approvals.Opening{opening(inquiry)}, 0, arguments, pageAddress))
	}
	return all
}

// harmless reports what a text of a message still does.
func harmless(t *testing.T, what, text string, chat bool) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%s has the character %U:\n%q", what, r, text)
			break
		}
	}
	outside := text
	if chat { // in code nothing is interpreted, and no code ends early
		parts := strings.Split(text, "`")
		if len(parts)%2 == 0 {
			t.Errorf("%s has code that is not closed:\n%q", what, text)
		}
		outside = ""
		for i, part := range parts {
			if strings.ContainsAny(part, "<>&") {
				t.Errorf("%s has markup:\n%q", what, text)
			}
			if i%2 == 0 {
				outside += part
			}
		}
		for _, markup := range []string{"*", "_", "~", "@", "[", "]", "#", "!"} {
			if strings.Contains(outside, markup) {
				t.Errorf("%s has %s outside of code:\n%q", what, markup, text)
			}
		}
	}
	outside = strings.ReplaceAll(outside, pageAddress, "")
	if strings.Contains(outside, "://") || strings.Contains(strings.ToLower(outside), "www.") {
		t.Errorf("%s has a link to elsewhere:\n%q", what, text)
	}
	if len(text) > 8000 {
		t.Errorf("%s has %d bytes", what, len(text))
	}
}

// What servers, programs and clients call themselves does nothing in a message, whatever shows it.
func TestHostileNamesDoNothing(t *testing.T) {
	for _, arguments := range []bool{false, true} {
		for _, m := range hostileMessages(arguments) {
			plain := append([]string{m.title(plainText)}, m.lines(plainText)...)
			for _, line := range plain {
				if strings.ContainsAny(line, "\r\n") {
					t.Errorf("more than one line: %q", line)
				}
			}
			harmless(t, "plain text", strings.Join(plain, "\n"), false)
			chat := append([]string{m.title(chatText)}, m.lines(chatText)...)
			harmless(t, "chat", strings.Join(chat, "\n"), true)
			raw, err := json.Marshal(m.questions)
			checktest.OK(t, err)
			harmless(t, "webhook", strings.NewReplacer("://", "", "www.", "", "WWW.", "").Replace(string(raw)), false)
		}
	}
}

const argument = "c4n4ry-of-an-argument"

// Without being asked to, a message has nothing that a program wrote: no arguments, no words of a question, no plan.
func TestMessagesHaveNoArguments(t *testing.T) {
	raw, _ := json.Marshal(map[string]any{"text": argument, argument: 1, "password": "hunter2-c4n4ry"})
	r := &prompt.Request{Name: "github__merge", Args: raw, Profile: "deploy", Risk: call.High, Principal: "local:anna",
		Code: "c0de", Digest: "sha256:d1gest", Rule: argument, Reasons: []string{argument}, Title: argument,
		Description: argument, Session: argument, Sources: []prompt.Source{}}
	inquiry := &prompt.Request{Name: prompt.InquiryTool, Risk: call.Low, Args: raw,
		Inquiry: &prompt.Inquiry{Header: argument, Question: argument, Options: []prompt.Option{{Label: argument}}}}
	plan := &prompt.Request{Profile: "deploy", Risk: call.Medium, Time: time.Now()}
	checktest.OK(t, plan.PlanAhead("sha256:"+strings.Repeat("0", 64), []*prompt.Grant{}))
	all := []*approvals.Opening{opening(r), opening(inquiry), opening(plan)}
	text := func(arguments bool) string {
		m := newMessage(all, 2, arguments, pageAddress)
		raw, _ := json.Marshal(m.questions)
		return strings.Join(append(append(m.lines(plainText), m.lines(chatText)...), m.title(plainText), m.ending(), string(raw)),
			"\n")
	}
	silent, told := text(false), text(true)
	for _, secret := range []string{argument, "hunter2", "c0de", "d1gest", "password"} {
		if strings.Contains(silent, secret) {
			t.Errorf("a message has %s:\n%s", secret, silent)
		}
	}
	for _, secret := range []string{"hunter2", "c0de", "d1gest"} {
		if strings.Contains(told, secret) {
			t.Errorf("with arguments, a message has %s:\n%s", secret, told)
		}
	}
	for _, want := range []string{"github.merge", "profile deploy", "risk high", "for local:anna", "waits until ", "(1h)",
		"a program has a question", "the plan of a program", "and 2 more", "5 questions wait", `"kind":"plan"`} {
		if !strings.Contains(silent, want) {
			t.Errorf("a message has no %q:\n%s", want, silent)
		}
	}
	if !strings.Contains(told, argument) {
		t.Errorf("a message has no arguments, which the configuration wants:\n%s", told)
	}
}

// The link leads to the question, or to the list; it has no login.
func TestLinks(t *testing.T) {
	d := newDesk(t, `"a": {"slack": "https://h.example/x", "delay": "0s"}`)
	to := &receiver{}
	server := httptest.NewServer(to)
	defer server.Close()
	d.notifier.client.Transport = to
	var all []approvals.Opening
	d.desk.Opened = func(opened []approvals.Opening) { all = opened }
	d.ask(t.Context(), approvals.Options{Timeout: 100 * time.Millisecond}, question1("a__b"), question1("a__c"))
	d.end()
	if len(all) != 2 {
		t.Fatalf("%d questions were told of", len(all))
	}
	one, both := []*approvals.Opening{&all[0]}, []*approvals.Opening{&all[0], &all[1]}
	id := all[0].Request.ID
	for _, row := range []struct {
		page      string
		questions []*approvals.Opening
		want      string
	}{
		{pageAddress, one, pageAddress + "/ask/" + id},
		{pageAddress, both, pageAddress + "/"},
		{"", one, ""},
		{pageAddress, []*approvals.Opening{opening(question1("a__b"))}, ""}, // the page does not take it
	} {
		if got := newMessage(row.questions, 0, true, row.page).link; got != row.want {
			t.Errorf("got the link %s, want %s", got, row.want)
		}
	}
}

// What a program asks for is what a page offers: the question is the person's to answer, and its risk to see.
func TestTheRiskOfAMessage(t *testing.T) {
	for _, row := range []struct {
		risks []call.Risk
		want  float64
	}{
		{[]call.Risk{call.Low, call.Medium}, 3}, {[]call.Risk{call.High, call.Low}, 4}, {[]call.Risk{call.Critical, call.High}, 5},
		{[]call.Risk{"strange"}, 5},
	} {
		to := &receiver{}
		n := New(Options{Version: "1"})
		n.client.Transport = to
		var all []*approvals.Opening
		for _, risk := range row.risks {
			r := question1("a__b")
			r.Risk = risk
			all = append(all, opening(r))
		}
		target, err := configured(t, `"a": {"ntfy": "https://ntfy.example/sub/topic", "token": "${TOKEN}"}`).Destinations[0].Target(env)
		checktest.OK(t, err)
		checktest.OK(t, n.send(t.Context(), target, newMessage(all, 0, false, pageAddress)))
		got := to.got()[0]
		if got.body["priority"] != row.want || got.body["topic"] != "topic" || got.path != "/sub/" ||
			got.header.Get("Authorization") != "Bearer tk_c4n4ry" || target.Kind != process.Ntfy {
			t.Errorf("%q: got %v at %s", row.risks, got.body, got.path)
		}
	}
}

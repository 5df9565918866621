package notify

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/visible"
)

// mostShown is how many questions a message describes. Of the others it has the number.
const mostShown = 10

// A message tells of waiting questions. It does not change: each attempt sends the same one.
type message struct {
	id        string
	time      time.Time
	test      bool
	openings  []*approvals.Opening
	questions []question // those that are described
	more      int        // questions that are not
	link      string     // to the page; "" if there is none
}

// A question is what a message says of one.
type question struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"` // see [prompt.Request.Kind]
	Summary   string    `json:"summary"`
	Tool      string    `json:"tool,omitempty"`
	Profile   string    `json:"profile,omitempty"`
	Principal string    `json:"principal,omitempty"`
	Risk      call.Risk `json:"risk,omitempty"`
	Asked     time.Time `json:"asked"`
	Until     time.Time `json:"until"`

	subject string // what it is about, without the arguments
}

func newMessage(all []*approvals.Opening, more int, arguments bool, page string) *message {
	m := &message{id: "msg_" + rand.Text(), time: time.Now(), openings: all, more: more}
	for _, o := range all {
		if len(m.questions) == mostShown {
			m.more++
			continue
		}
		m.questions = append(m.questions, describe(o.Request, arguments))
	}
	m.link = linkTo(page, all)
	return m
}

func testMessage(page string) *message {
	m := &message{id: "msg_" + rand.Text(), time: time.Now(), test: true}
	if page != "" {
		m.link = page + "/"
	}
	return m
}

// linkTo returns the address of a question on the page, or of the list of all. Whoever follows it logs in there.
func linkTo(page string, all []*approvals.Opening) string {
	if page == "" || !all[0].OnPage() {
		return ""
	}
	if len(all) > 1 {
		return page + "/"
	}
	return page + "/ask/" + url.PathEscape(all[0].Request.ID)
}

// describe says what a question is about. All of it is escaped: it is one line of visible characters. Without
// arguments it has nothing that a program wrote.
func describe(r *prompt.Request, arguments bool) question {
	q := question{ID: r.ID, Kind: r.Kind(), Profile: prompt.Words(r.Profile), Principal: prompt.Words(r.Principal),
		Risk: call.Risk(prompt.Words(string(r.Risk))), Asked: r.Time, Until: cmp.Or(r.Deadline(), r.Until)}
	switch q.Kind {
	case "question":
		q.Summary, q.subject = "a program has a question", "a program with a question"
	case "plan":
		q.Summary, q.subject = "the plan of a program", "the plan of a program"
	case "account":
		q.subject = "a call without an account"
	case "call":
		q.Tool = prompt.Heading(r)
		q.Summary, q.subject = q.Tool, q.Tool
	}
	if arguments || q.Summary == "" {
		q.Summary = prompt.Summary(r)
	}
	return q
}

// A medium shows texts of others so that they do nothing there.
type medium func(text string) string

// plainText keeps programs from making links of a text: the only link of a message is that of the page.
func plainText(text string) string { return noLinks.Replace(text) }

var noLinks = strings.NewReplacer("://", `:\u{2f}/`, "www.", `www\u{2e}`, "WWW.", `WWW\u{2e}`)

// chatText quotes a text as code, in which Slack and Markdown interpret nothing.
func chatText(text string) string {
	if text == "" {
		return ""
	}
	return "`" + noMarkup.Replace(text) + "`"
}

var noMarkup = strings.NewReplacer("`", `\u{60}`, "<", `\u{3c}`, ">", `\u{3e}`, "&", `\u{26}`)

// title says in a few words what the message is about.
func (m *message) title(show medium) string {
	switch n := len(m.questions) + m.more; {
	case m.test:
		return "codemode: a test message"
	case n == 1:
		return "codemode: " + show(visible.Short(m.questions[0].subject, 100)) + " waits for an answer"
	default:
		return fmt.Sprintf("codemode: %d questions wait for an answer", n)
	}
}

// lines describe the questions.
func (m *message) lines(show medium) (all []string) {
	if m.test {
		return []string{"This is how codemode tells you that a question of a program waits. Nothing waits now."}
	}
	for i := range m.questions {
		all = append(all, m.questions[i].line(show))
	}
	if m.more > 0 {
		all = append(all, fmt.Sprintf("and %d more", m.more))
	}
	return all
}

func (q *question) line(show medium) string {
	parts := []string{show(q.Summary)}
	add := func(what, text string) {
		if text != "" {
			parts = append(parts, what+" "+text)
		}
	}
	add("profile", show(q.Profile))
	add("risk", show(string(q.Risk)))
	add("for", show(q.Principal))
	if !q.Until.IsZero() {
		left := visible.Duration(max(0, time.Until(q.Until)).Round(time.Second))
		add("waits until", q.Until.UTC().Format("2006-01-02 15:04:05 UTC")+" ("+left+")")
	}
	return strings.Join(parts, ", ")
}

// ending says where to answer.
func (m *message) ending() string {
	switch {
	case m.link != "" && m.test:
		return "The page: " + m.link
	case m.link != "":
		return "Answer on the page: " + m.link
	case m.test:
		return "No address of a page is known; answers are given in a terminal or in the client."
	}
	return "Answer where the program runs, or with: codemode approvals"
}

// risk is the highest one in the message.
func (m *message) risk() (highest call.Risk) {
	for _, o := range m.openings {
		highest = call.Higher(highest, o.Request.Risk)
	}
	return highest
}

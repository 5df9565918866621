package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/console/form"
)

// An Asked is a question in the API. All its texts are rendered: they contain only visible characters.
type Asked struct {
	ID        string    `json:"id"`
	Digest    string    `json:"digest"` // the answer must repeat it
	Run       string    `json:"run"`
	Call      int       `json:"call"`
	Principal string    `json:"principal"`
	Profile   string    `json:"profile"`
	Tool      string    `json:"tool"` // server.tool
	Summary   string    `json:"summary"`
	Text      string    `json:"text"` // the question as every channel shows it
	Risk      string    `json:"risk"`
	Code      string    `json:"code,omitempty"`
	Since     time.Time `json:"since"`
	// Expires is when the time to answer ends; it is absent while the question waits behind others of its run.
	Expires time.Time `json:"expires,omitzero"`

	NeedsCode bool `json:"needsCode,omitempty"` // a yes must include the code
	// a yes must include "whole": true, after the person saw the whole question
	MustSee bool `json:"mustSee,omitempty"`
	// NeedsSignIn says that a yes needs a new sign-in of the person for this question: open the path prove/ID.
	NeedsSignIn bool `json:"needsSignIn,omitempty"`
	Cut         bool `json:"cut,omitempty"` // a text is cut or masked; GET /api/pending/ID has all of it
	Editable    bool `json:"editable,omitempty"`
	// Own says that this person asked for the call, and that the profile wants somebody else to answer.
	Own bool `json:"own,omitempty"`

	Offers  []Offer         `json:"offers"`            // the ways of saying yes
	Inquiry *prompt.Inquiry `json:"inquiry,omitempty"` // a program's own question, or an account to connect; no call
	Args    json.RawMessage `json:"args,omitempty"`    // with GET /api/pending/ID, if the person may change them
	Input   json.RawMessage `json:"input,omitempty"`   // with Args: their JSON Schema, as the server wrote it
}

// An Offer is a way of saying yes. Its grant is for Uses calls (0 is any number) and for Length. An answer may set
// other numbers, up to MostUses and Longest.
type Offer struct {
	Text     string     `json:"text"`
	Uses     int        `json:"uses,omitempty"`
	MostUses int        `json:"mostUses,omitempty"`
	Scope    call.Scope `json:"scope"`
	Length   string     `json:"length,omitempty"` // such as 5m0s
	Longest  string     `json:"longest,omitempty"`

	Allows string `json:"-"` // the calls, without number and end
	Ends   []end  `json:"-"` // choices for the end

	InSession bool `json:"-"` // only calls of the same session
}

// An end is a possible lifetime of a grant, from the answer on: the page may be open for hours before that.
type end struct {
	Length string
	Words  string // 15 minutes
	Chosen bool
}

// lengths are the lengths of grants on offer, up to the longest that the profile lets people choose.
var lengths = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour, prompt.HardMax,
}

// offer describes a grant that a yes to r can give.
func offer(r *prompt.Request, g *prompt.Grant) Offer {
	o := Offer{Scope: g.Scope, Text: g.Text(), Uses: g.Uses, MostUses: prompt.MostUses(g.Scope), Allows: g.Allows(),
		InSession: g.Session != ""}
	if o.MostUses == 0 {
		return o // the person cannot change it
	}
	length, longest := g.Expires.Sub(g.Created), r.Terms.Longest()
	o.Length, o.Longest = length.String(), longest.String()
	all := append(slices.DeleteFunc(slices.Clone(lengths), func(d time.Duration) bool { return d > longest }), length,
		longest)
	slices.Sort(all)
	for _, d := range slices.Compact(all) {
		o.Ends = append(o.Ends, end{Length: d.String(), Words: lasts(d), Chosen: d == length})
	}
	return o
}

// lasts writes a duration in words.
func lasts(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := d / unit.of; d%unit.of == 0 && n > 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}

// asked is an Asked as pages show it.
type asked struct {
	Asked
	shownArgs
	Why, Rule, SentTo string
	Connect           string    // the server at which this person can connect an account; else ""
	Provider          string    // the identity provider; "" is none
	Proven            time.Time // until when this session may allow the call, after a new sign-in
	RiskClass         string
	RiskWords         string
	request           *prompt.Request
}

// Yes is the label of the button that allows it.
func (a *asked) Yes() string { return a.request.Yes() }

// shownArgs are the arguments for wide and narrow screens, with notes beside them. For a program's question it holds
// the question instead.
type shownArgs struct {
	Wide, Narrow           []span
	WideNotes, NarrowNotes []span
}

// Widths of arguments and of small text, in columns.
const wide, narrow, small = 72, 40, 92

// showArgs renders the arguments of a call apart from the rest of the question.
func showArgs(r *prompt.Request, full bool) shownArgs {
	part := func(width int) (args, notes []span) {
		shown := prompt.Render(r, prompt.RenderOptions{Width: width, Color: true, Full: full, Reveal: full})
		_, after, found := strings.Cut(shown.Text, shown.Arguments)
		if !found || shown.Arguments == "" {
			return spans(shown.Text), nil
		}
		return spans(outdented(shown.Arguments)), spans(outdented(after))
	}
	var a shownArgs
	a.Wide, _ = part(wide)
	a.Narrow, a.NarrowNotes = part(narrow)
	_, a.WideNotes = part(small)
	return a
}

// outdented removes the margin of every line, and empty lines around them.
func outdented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		b.WriteString(strings.TrimPrefix(line, "    "))
	}
	return b.String()
}

// shown caches the renderings of the open questions: they are slow to make and never change.
type shown struct {
	mu  sync.Mutex
	all map[string]*asked
}

// pending lists what a person may answer, oldest first.
func (c questions) pending(s *session) []*asked {
	var list []*asked
	open := s.seat.Pending()
	c.shown.mu.Lock()
	defer c.shown.mu.Unlock()
	kept := map[string]*asked{}
	for _, o := range open {
		a := c.shown.all[o.Request.ID]
		if a == nil || a.Digest != o.Request.Digest {
			a = describe(o)
		}
		kept[a.ID] = a
		if c.may(s.person, o.Request.Principal) {
			now := *a
			now.Expires = o.Request.Deadline()
			now.Provider = door{c.Console}.provider()
			if s.needsSignIn(o.Request) {
				now.Proven = s.proven(now.ID, now.Digest, c.logins.now())
				now.NeedsSignIn = now.Proven.IsZero()
			}
			if c.accounts.Upstreams != nil && o.Request.Connects() && o.Request.Principal == s.person {
				now.Connect = o.Request.Server
			}
			now.Own = o.Request.Own(s.person)
			list = append(list, &now)
		}
	}
	c.shown.all = kept
	s.lists(list...)
	slices.SortStableFunc(list, func(a, b *asked) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Call, b.Call))
	})
	return list
}

// find returns one question that a person may answer, nil if there is none.
func (c questions) find(s *session, id string) *asked {
	for _, a := range c.pending(s) {
		if a.ID == id {
			return a
		}
	}
	return nil
}

func describe(o approvals.Open) *asked {
	r := o.Request
	full := prompt.Render(r, prompt.RenderOptions{Width: small})
	a := &asked{
		Asked: Asked{
			ID: r.ID, Digest: r.Digest, Run: word(r.Run), Call: r.Call, Principal: word(r.Principal), Profile: word(r.Profile),
			Tool: prompt.Heading(r), Summary: prompt.Summary(r), Text: full.Text, Risk: word(string(cmp.Or(r.Risk, "medium"))),
			Code: word(r.Code), Since: o.Since, Expires: r.Deadline(),
			NeedsCode: r.Risk.Grave(), MustSee: r.Risk.Grave() && !full.Complete, Cut: full.Cut || full.Masked > 0,
			Editable: r.Edit != nil,
			Offers:   []Offer{{Scope: call.Once, Text: r.Yes()}}, Inquiry: visibleInquiry(r.Inquiry),
		},
		shownArgs: showArgs(r, false), Why: word(strings.Join(r.Reasons, "; ")), Rule: word(r.Rule), request: r,
	}
	if plain := r.Server + "." + r.Tool; plain != a.Tool && plain != "." && r.Inquiry == nil {
		a.SentTo = "server " + word(r.Server) + ", tool " + word(r.Tool)
	}
	if r.Connects() {
		a.Offers = []Offer{}
	}
	for _, g := range prompt.Offers(r, time.Now()) {
		a.Offers = append(a.Offers, offer(r, g))
	}
	a.RiskClass, a.RiskWords = risk(string(r.Risk))
	return a
}

// visibleInquiry is a question of a program, made visible.
func visibleInquiry(q *prompt.Inquiry) *prompt.Inquiry {
	if q == nil {
		return nil
	}
	shown := &prompt.Inquiry{
		Header: word(q.Header), Question: word(q.Question), Multiple: q.Multiple, FreeText: q.TakesText(),
		Connect: word(q.Connect),
	}
	for _, o := range q.Options {
		shown.Options = append(shown.Options, prompt.Option{Label: word(o.Label), Description: word(o.Description)})
	}
	return shown
}

// word makes a short text from elsewhere visible.
func word(s string) string { return prompt.Words(s) }

func risk(r string) (class, words string) {
	switch r {
	case "low", "medium", "high", "critical":
		return r, strings.ToUpper(r[:1]) + r[1:] + " risk"
	case "":
		return "medium", "Risk not stated"
	}
	return "critical", "Unknown risk, treated as critical"
}

// A group is the questions of one program that the page shows together. A call that needs a code is a group of its own,
// and so is a program's own question, and one that somebody else must answer.
type group struct {
	Run          string
	Asks         []*asked
	Wide, Narrow []span // all calls as one question, if there are several
	Mark         string // changes when the group changes
	Plan         string // the offer to allow what the program does next as well; "" is no offer
}

// Together reports whether the page shows the calls of a group as one.
func (g *group) Together() bool { return len(g.Asks) > 1 }

// AtOnce reports whether the calls of a group arrived at the same moment, for the same principal and with the same
// deadline.
func (g *group) AtOnce() bool {
	first := g.Asks[0]
	return !slices.ContainsFunc(g.Asks, func(a *asked) bool {
		return a.Principal != first.Principal || a.Profile != first.Profile ||
			a.Since.Sub(first.Since).Abs() > time.Second || a.Expires.Sub(first.Expires).Abs() > time.Second
	})
}

func groups(all []*asked) []*group {
	var list []*group
	at := map[string]*group{}
	for _, a := range all {
		g := at[a.request.Run]
		alone := a.NeedsCode || a.Inquiry != nil || a.Own || a.request.Run == ""
		if g == nil || alone {
			g = &group{Run: a.Run}
			list = append(list, g)
			if !alone {
				at[a.request.Run] = g
			}
		}
		g.Asks = append(g.Asks, a)
	}
	for _, g := range list {
		// They arrive in any order, because the program made them at once.
		slices.SortStableFunc(g.Asks, func(a, b *asked) int { return cmp.Compare(a.Call, b.Call) })
		var ids []string
		var calls []*prompt.Request
		planned := 0
		for _, a := range g.Asks {
			ids, calls = append(ids, a.ID), append(calls, a.request)
			if at := slices.IndexFunc(a.Offers, func(o Offer) bool { return o.Scope == call.ForPlan }); at >= 0 {
				g.Plan = a.Offers[at].Text
				planned++
			}
		}
		if planned < len(g.Asks) {
			g.Plan = "" // a yes to all calls of the group also allows the plan
		}
		g.Mark = strings.Join(ids, " ")
		if g.Together() {
			for i, row := range prompt.Rows(calls) {
				inRow := *g.Asks[i]
				inRow.Summary, g.Asks[i] = row, &inRow
			}
			g.Wide = spans(prompt.RenderAll(calls, prompt.RenderOptions{Width: small, Color: true, Listed: true}).Text)
			g.Narrow = spans(prompt.RenderAll(calls, prompt.RenderOptions{Width: narrow, Color: true, Listed: true}).Text)
		}
	}
	return list
}

type pendingView struct {
	frame
	Groups   []*group
	Answered []*answeredView
}

func (c questions) showPending(w http.ResponseWriter, r *http.Request, s *session) error {
	all := c.pending(s)
	replies{c.Console}.keepGone(s, all)
	v := &pendingView{frame: c.frame(r, s, "waiting", "Waiting for you"), Groups: groups(all),
		Answered: replies{c.Console}.answered(r, s)}
	if v.Title = "Nothing waits"; len(all) > 0 {
		v.Title = fmt.Sprintf("%d waiting", len(all))
	}
	return c.render(w, "pending", v)
}

type askView struct {
	frame
	Ask      *asked
	Proposal bool   // the person can propose a rule
	Args     string // to be changed
	Fields   []*form.Field
	Problem  string // also why it is gone
	Reason   string
	Edit     bool // the form for other arguments is open
}

// showAsk shows a question whole, with every way to answer it.
func (c questions) showAsk(w http.ResponseWriter, r *http.Request, s *session) error {
	a := c.find(s, r.PathValue("id"))
	if a == nil {
		w.WriteHeader(http.StatusNotFound)
		return c.render(w, "gone", &askView{frame: c.frame(r, s, "waiting", "Not waiting any more"),
			Problem: replies{c.Console}.goneBecause(r.Context(), s, r.PathValue("id"))})
	}
	return c.render(w, "ask", c.whole(r, s, a))
}

// whole is the view of a question without cuts and masks.
func (c questions) whole(r *http.Request, s *session, a *asked) *askView {
	one := *a
	one.shownArgs = showArgs(a.request, true)
	v := &askView{frame: c.frame(r, s, "waiting", a.Tool), Ask: &one}
	if a.Editable {
		v.Args, v.Fields = editable(a.request.Args), form.Fields(a.request.Input)
	}
	v.Proposal = c.changesRules(s) && isCall(a.request) && a.request.Profile != "" && !s.needsSignIn(a.request)
	return v
}

func (c questions) apiPending(w http.ResponseWriter, r *http.Request, s *session) error {
	return writeJSON(w, http.StatusOK, c.listing(s))
}

// listing is the response to GET /api/pending.
func (c questions) listing(s *session) listing {
	list := listing{Pending: []Asked{}}
	list.Zone, _ = time.Now().Zone()
	for _, a := range c.pending(s) {
		list.Pending = append(list.Pending, a.Asked)
	}
	return list
}

type listing struct {
	Pending []Asked `json:"pending"`
	Zone    string  `json:"zone"` // of this process, for people; every time says how far it is from UTC
}

func (c questions) apiAsk(w http.ResponseWriter, r *http.Request, s *session) error {
	a := c.find(s, r.PathValue("id"))
	if a == nil {
		return refuse(http.StatusNotFound, replies{c.Console}.goneBecause(r.Context(), s, r.PathValue("id")))
	}
	one := a.Asked
	one.Text = prompt.Text(a.request, prompt.RenderOptions{Width: small, Full: true, Reveal: true})
	if one.Editable {
		one.Args, one.Input = slices.Clone(a.request.Args), slices.Clone(a.request.Input)
	}
	return writeJSON(w, http.StatusOK, one)
}

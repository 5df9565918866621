package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/pending"
	"github.com/codemode-project/codemode/internal/console/form"
	"github.com/codemode-project/codemode/internal/console/text"
)

// An Asked is a question in the API.
type Asked = pending.Asked

// An end is a possible lifetime of a grant, from the answer on: the page may be open for hours before that.
type end struct {
	Length string
	Words  string // 15 minutes
	Chosen bool
}

// lengths are the lengths of grants on offer, up to the longest that the profile lets people choose.
var lengths = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// ends are the choices for the end of the grant of an offer.
func ends(o prompt.Offer) (all []end) {
	length, _ := time.ParseDuration(o.Length)
	longest, _ := time.ParseDuration(o.Longest)
	some := append(slices.DeleteFunc(slices.Clone(lengths), func(d time.Duration) bool { return d > longest }), length,
		longest)
	slices.Sort(some)
	for _, d := range slices.Compact(some) {
		all = append(all, end{Length: d.String(), Words: lasts(d), Chosen: d == length})
	}
	return all
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
func (a *asked) Yes() string { return a.Offers[0].Text }

// shownArgs are the arguments for wide and narrow screens, with notes beside them. For a program's question it holds
// the question instead.
type shownArgs struct {
	Wide, Narrow           []prompt.Span
	WideNotes, NarrowNotes []prompt.Span
}

// Widths of arguments and of small text, in columns.
const wide, narrow, small = 72, 40, 92

// showArgs renders the arguments of a call apart from the rest of the question.
func showArgs(r *prompt.Request, whole bool) (a shownArgs) {
	parts := func(width int) (args, notes []prompt.Span) {
		v := prompt.Render(r, prompt.RenderOptions{Width: width, Whole: whole})
		if r.Inquiry != nil {
			return text.Spans(v.Lines()), nil
		}
		b := v.Blocks[0]
		return text.Spans(b.Arguments), text.Spans(b.Warnings, b.Foreign, v.Preview, v.Plan)
	}
	a.Wide, _ = parts(wide)
	a.Narrow, a.NarrowNotes = parts(narrow)
	_, a.WideNotes = parts(small)
	return a
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
			now.Provider = door(c).provider()
			if s.needsSignIn(o.Request) {
				now.Proven = s.proven(now.ID, now.Digest, c.logins.now())
				now.NeedsSignIn = now.Proven.IsZero()
			}
			if c.accounts.Upstreams != nil && o.Request.Kind() == "account" && o.Request.Principal == s.person {
				now.Connect = o.Request.Server
			}
			now.Own = o.Own
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
	a := &asked{Asked: pending.Describe(o, small), shownArgs: showArgs(r, false), Why: word(strings.Join(r.Reasons, "; ")),
		Rule: word(r.Rule), request: r}
	if plain := r.Server + "." + r.Tool; plain != a.Tool && plain != "." && r.Inquiry == nil {
		a.SentTo = "server " + word(r.Server) + ", tool " + word(r.Tool)
	}
	a.RiskClass, a.RiskWords = risk(string(r.Risk))
	return a
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
	Wide, Narrow []prompt.Span // all calls as one question, if there are several
	Mark         string        // changes when the group changes
	Plan         string        // the offer to allow what the program does next as well; "" is no offer
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

func groups(all []*asked) (list []*group) {
	var open []approvals.Open
	for _, a := range all {
		open = append(open, approvals.Open{Request: a.request, Own: a.Own})
	}
	for _, those := range pending.Together(open) {
		g := &group{Run: all[those[0]].Run}
		var ids []string
		var calls []*prompt.Request
		for _, i := range those {
			one := *all[i]
			g.Asks, ids, calls = append(g.Asks, &one), append(ids, one.ID), append(calls, one.request)
		}
		g.Mark = strings.Join(ids, " ")
		list = append(list, g)
		if !g.Together() {
			continue
		}
		for _, o := range prompt.Offers(calls, time.Now())[1:] {
			g.Plan = o.Text
		}
		rows, whole := prompt.Rows(calls)
		for i, row := range rows {
			g.Asks[i].Summary = row
		}
		view := func(width int) []prompt.Span {
			v := prompt.RenderAll(calls, prompt.RenderOptions{Width: width})
			for i := range v.Blocks {
				if whole {
					v.Blocks[i].Rows = nil // they stand beside it
				}
			}
			return text.Spans(v.Lines())
		}
		g.Wide, g.Narrow = view(small), view(narrow)
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
	replies(c).keepGone(s, all)
	v := &pendingView{frame: c.frame(r, s, "waiting", "Waiting for you"), Groups: groups(all),
		Answered: replies(c).answered(r, s)}
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
			Problem: replies(c).goneBecause(r.Context(), s, r.PathValue("id"))})
	}
	return c.render(w, "ask", c.whole(r, s, a))
}

// whole is the view of a question without cuts and masks.
func (c questions) whole(r *http.Request, s *session, a *asked) *askView {
	one := *a
	one.shownArgs = showArgs(a.request, true)
	v := &askView{frame: c.frame(r, s, "waiting", a.Tool), Ask: &one}
	if a.Editable {
		v.Args, v.Fields = text.Editable(a.request.Args), form.Fields(a.request.Input)
	}
	v.Proposal = c.changesRules(s) && a.Kind == "call" && a.request.Profile != "" && !s.needsSignIn(a.request)
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
		return refuse(http.StatusNotFound, replies(c).goneBecause(r.Context(), s, r.PathValue("id")))
	}
	one := a.Asked
	one.View = prompt.Render(a.request, prompt.RenderOptions{Width: small, Whole: true})
	one.Text = one.View.Text()
	if one.Editable {
		one.Args, one.Input = slices.Clone(a.request.Args), slices.Clone(a.request.Input)
	}
	return writeJSON(w, http.StatusOK, one)
}

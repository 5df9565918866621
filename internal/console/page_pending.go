package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/pending"
	"github.com/codemode-project/codemode/internal/console/form"
	"github.com/codemode-project/codemode/internal/console/text"
)

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

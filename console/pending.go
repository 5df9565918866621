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
)

// An Asked is a question as front ends are told of it. All texts are rendered: they are made of visible characters.
type Asked struct {
	ID        string    `json:"id"`
	Digest    string    `json:"digest"` // to be repeated with the answer
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

	NeedsCode bool `json:"needsCode,omitempty"` // a yes has to come with the code
	MustSee   bool `json:"mustSee,omitempty"`   // a yes has to come with "whole": true, from somebody who has seen it whole
	Cut       bool `json:"cut,omitempty"`       // something is left out or masked; GET /api/pending/ID has it all
	Editable  bool `json:"editable,omitempty"`

	Offers  []Offer         `json:"offers"`            // the ways of saying yes
	Inquiry *Inquiry        `json:"inquiry,omitempty"` // it is not about a call: a program asks something
	Args    json.RawMessage `json:"args,omitempty"`    // with GET /api/pending/ID, when they may be changed
}

// An Offer is a way of saying yes.
type Offer struct {
	Scope approvals.Scope `json:"scope"`
	Text  string          `json:"text"`
}

// asked is an Asked as pages show it.
type asked struct {
	Asked
	Wide, Narrow []span // the question for screens of either kind
	RiskClass    string
	RiskWords    string
	request      *approvals.Request
}

// Width of a question in columns.
const wide, narrow = 92, 40

// shown keeps what was rendered of the questions that are open: it takes a while and never changes.
type shown struct {
	mu  sync.Mutex
	all map[string]*asked
}

// pending lists what a person may answer, oldest first.
func (c *Console) pending(s *session) []*asked {
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
			list = append(list, a)
		}
	}
	c.shown.all = kept
	return list
}

// find gives one question that a person may answer, nil if there is none.
func (c *Console) find(s *session, id string) *asked {
	for _, a := range c.pending(s) {
		if a.ID == id {
			return a
		}
	}
	return nil
}

func describe(o approvals.Open) *asked {
	r := o.Request
	render := func(width int) approvals.Rendering {
		return approvals.Render(r, approvals.RenderOptions{Width: width, Color: true})
	}
	full := approvals.Render(r, approvals.RenderOptions{Width: wide})
	a := &asked{
		Asked: Asked{
			ID: r.ID, Digest: r.Digest, Run: word(r.Run), Call: r.Call, Principal: word(r.Principal), Profile: word(r.Profile),
			Tool: approvals.Heading(r), Summary: approvals.Summary(r), Text: full.Text, Risk: word(cmp.Or(r.Risk, approvals.Medium)), Code: word(r.Code), Since: o.Since,
			NeedsCode: grave(r.Risk), MustSee: grave(r.Risk) && !full.Complete, Cut: full.Cut || full.Masked > 0, Editable: r.Edit != nil,
			Offers: []Offer{{approvals.Once, "Allow this call"}}, Inquiry: inquiryOf(r),
		},
		Wide: spans(render(wide).Text), Narrow: spans(render(narrow).Text), request: r,
	}
	for _, g := range approvals.Offers(r, time.Now()) {
		a.Offers = append(a.Offers, Offer{g.Scope, g.Text()})
	}
	a.RiskClass, a.RiskWords = risk(r.Risk)
	return a
}

// word is a short text from elsewhere, made visible.
func word(s string) string { return approvals.Words(s) }

// grave reports whether a call of this risk is allowed with a code only, by somebody who has seen all of it.
func grave(risk string) bool {
	return risk != "" && risk != approvals.Low && risk != approvals.Medium
}

func risk(r string) (class, words string) {
	switch r {
	case approvals.Low, approvals.Medium, approvals.High, approvals.Critical:
		return r, strings.ToUpper(r[:1]) + r[1:] + " risk"
	case "":
		return approvals.Medium, "Risk not stated"
	}
	return approvals.Critical, "Unknown risk, treated as critical"
}

// A group is what one program asks at a time. Calls that want a code, and questions of other kinds, stand alone.
type group struct {
	Run          string
	Asks         []*asked
	Wide, Narrow []span // all calls as one question, if there are several
	Mark         string // changes when the group is not what it was
	Plan         string // the words of the offer to allow what the program does next as well; "" is that there is none
}

// Together reports whether the calls of a group are shown as one.
func (g *group) Together() bool { return len(g.Asks) > 1 }

func groups(all []*asked) []*group {
	var list []*group
	at := map[string]*group{}
	for _, a := range all {
		g := at[a.request.Run]
		if g == nil || a.NeedsCode || a.Inquiry != nil || a.request.Run == "" {
			g = &group{Run: a.Run}
			list = append(list, g)
			if !a.NeedsCode && a.Inquiry == nil && a.request.Run != "" {
				at[a.request.Run] = g
			}
		}
		g.Asks = append(g.Asks, a)
	}
	for _, g := range list {
		// They come in any order, for they are asked at once.
		slices.SortStableFunc(g.Asks, func(a, b *asked) int { return cmp.Compare(a.Call, b.Call) })
		var ids []string
		var calls []*approvals.Request
		planned := 0
		for _, a := range g.Asks {
			ids, calls = append(ids, a.ID), append(calls, a.request)
			if at := slices.IndexFunc(a.Offers, func(o Offer) bool { return o.Scope == approvals.ForPlan }); at >= 0 {
				g.Plan = a.Offers[at].Text
				planned++
			}
		}
		if planned < len(g.Asks) {
			g.Plan = "" // it is allowed together with all that it was shown with
		}
		g.Mark = strings.Join(ids, " ")
		if g.Together() {
			g.Wide = spans(approvals.RenderAll(calls, approvals.RenderOptions{Width: wide, Color: true}).Text)
			g.Narrow = spans(approvals.RenderAll(calls, approvals.RenderOptions{Width: narrow, Color: true}).Text)
		}
	}
	return list
}

type pendingView struct {
	frame
	Groups []*group
}

func (c *Console) showPending(w http.ResponseWriter, r *http.Request, s *session) {
	all := c.pending(s)
	v := &pendingView{frame: c.frame(r, s, "waiting", "Waiting for you"), Groups: groups(all)}
	v.Title = fmt.Sprintf("%d waiting", len(all))
	v.Refresh = len(all) == 0
	c.render(w, "pending", v)
}

type askView struct {
	frame
	Ask      *asked
	Proposal bool   // a rule can be proposed
	Args     string // to be changed
	Problem  string
	Reason   string
	Edit     bool // the form for other arguments is open
}

// showAsk shows a question whole, with every way to answer it.
func (c *Console) showAsk(w http.ResponseWriter, r *http.Request, s *session) {
	a := c.find(s, r.PathValue("id"))
	if a == nil {
		w.WriteHeader(http.StatusNotFound)
		c.render(w, "gone", &pendingView{frame: c.frame(r, s, "waiting", "Not waiting any more")})
		return
	}
	c.render(w, "ask", c.whole(r, s, a))
}

// whole is a question of which nothing is cut and nothing masked.
func (c *Console) whole(r *http.Request, s *session, a *asked) *askView {
	one := *a
	full := func(width int) []span {
		return spans(approvals.Text(a.request, approvals.RenderOptions{Width: width, Color: true, Full: true, Reveal: true}))
	}
	one.Wide, one.Narrow = full(wide), full(narrow)
	v := &askView{frame: c.frame(r, s, "waiting", a.Tool), Ask: &one}
	if a.Editable {
		v.Args = editable(a.request.Args)
	}
	v.Proposal = c.admin(s.person) && a.Inquiry == nil && a.request.Profile != ""
	return v
}

func (c *Console) apiPending(w http.ResponseWriter, r *http.Request, s *session) {
	writeJSON(w, http.StatusOK, c.listing(s))
}

// listing is what GET /api/pending gives.
func (c *Console) listing(s *session) map[string][]Asked {
	list := []Asked{}
	for _, a := range c.pending(s) {
		list = append(list, a.Asked)
	}
	return map[string][]Asked{"pending": list}
}

func (c *Console) apiAsk(w http.ResponseWriter, r *http.Request, s *session) {
	a := c.find(s, r.PathValue("id"))
	if a == nil {
		c.fail(w, r, http.StatusNotFound, errGone)
		return
	}
	one := a.Asked
	one.Text = approvals.Text(a.request, approvals.RenderOptions{Width: wide, Full: true, Reveal: true})
	if one.Editable {
		one.Args = slices.Clone(a.request.Args)
	}
	writeJSON(w, http.StatusOK, one)
}

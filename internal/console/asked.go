package console

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/pending"
	"github.com/codemode-project/codemode/internal/console/text"
)

// An Asked is a question in the API.
type Asked = pending.Asked

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

func risk(r string) (class, words string) {
	switch r {
	case "low", "medium", "high", "critical":
		return r, strings.ToUpper(r[:1]) + r[1:] + " risk"
	case "":
		return "medium", "Risk not stated"
	}
	return "critical", "Unknown risk, treated as critical"
}

// shown caches the renderings of the open questions: they are slow to make and never change.
type shown struct {
	mu  sync.Mutex
	all map[string]*asked
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

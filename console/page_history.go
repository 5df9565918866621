package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/store"
)

// aPage is how many entries a page of history has.
const aPage = 60

// entries lists the entries of q that a person may see, up to the limit of q.
func (c *Console) entries(ctx context.Context, s *session, q store.Query) ([]*audit.Entry, error) {
	if c.options.Record == nil {
		return nil, refuse(http.StatusNotFound, "no record is kept here")
	}
	var all []*audit.Entry
	for _, principal := range c.sees(s.person) {
		q.Principal = principal
		err := c.options.Record.Entries(ctx, q, func(e *audit.Entry) error {
			all = append(all, e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b *audit.Entry) int {
		order := cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Seq, b.Seq))
		if q.Newest {
			return -order
		}
		return order
	})
	if q.Limit > 0 && len(all) > q.Limit {
		all = all[:q.Limit]
	}
	return all, nil
}

// A row is an entry in a table.
type row struct {
	*audit.Entry
	Tool, What, By, Summary string
	State                   string // the words for it
	Why                     string // and for the reason
	Class                   string // good, bad or open
}

func rowOf(e *audit.Entry) row {
	x := row{Entry: e, Tool: word(e.Tool), State: stateWord(e.State), Why: because(e.Reason)}
	if e.Tool != "" {
		x.Tool = prompt.Heading(&prompt.Request{Name: e.Tool})
	}
	switch e.State {
	case "rejected": // a configuration
		x.Class = "bad"
	case audit.OK, audit.Allowed, "admitted":
		x.Class = "good"
	case audit.Running, audit.Pending, audit.Parked, audit.Resumed:
		x.Class = "open"
	default:
		if x.Class = "bad"; e.Kind == audit.Policy || e.Kind == audit.Notice || e.Kind == audit.Grant ||
			e.Kind == audit.Keeping || e.Kind == audit.Session {
			x.Class = "plainly"
		}
	}
	switch {
	case e.Kind == audit.Run && e.State == audit.Running:
		x.State = "began"
	case e.Kind == audit.Call && e.State == audit.Running:
		x.State = "sent"
	case e.Kind == audit.Call && e.State == audit.Pending:
		x.State = "asked"
	}
	if by := e.DecidedBy; by != nil {
		x.By = decider(by.How)
		if by.Principal != "" {
			x.By = word(by.Principal)
		}
		if by.Channel != "" {
			x.By += " over " + word(by.Channel)
		}
	}
	if e.Args != nil && len(e.Args.Redacted) > 0 {
		called := &prompt.Request{Name: e.Tool, Args: e.Args.Redacted}
		x.Summary = strings.TrimSpace(strings.TrimPrefix(prompt.Summary(called), prompt.Heading(called)))
	}
	return x
}

type historyView struct {
	frame
	Rows  []row
	Tool  string // filter
	Kind  string
	Older string // link to earlier entries
}

// kindsOf are the kinds of entries that the filter of the page names.
var kindsOf = map[string][]string{
	"answers": {audit.Approval, audit.Grant}, "calls": {audit.Call}, "runs": {audit.Run}, "all": nil,
}

// showHistory is the record, newest first.
func (c *Console) showHistory(w http.ResponseWriter, r *http.Request, s *session) error {
	v := &historyView{frame: c.frame(r, s, "history", "History"), Tool: word(r.FormValue("tool")),
		Kind: r.FormValue("kind")}
	q := store.Query{Newest: true, Limit: aPage, Tool: v.Tool, Kinds: []string{audit.Call, audit.Approval, audit.Grant}}
	if kinds, ok := kindsOf[v.Kind]; ok {
		q.Kinds = kinds
	} else {
		v.Kind = ""
	}
	if before, err := time.Parse(time.RFC3339Nano, r.FormValue("before")); err == nil {
		q.Until = before
	}
	all, err := c.entries(r.Context(), s, q)
	if err != nil {
		return err
	}
	for _, e := range all {
		v.Rows = append(v.Rows, rowOf(e))
	}
	if len(all) == aPage {
		v.Older = all[len(all)-1].Time.Format(time.RFC3339Nano)
	}
	return c.render(w, "history", v)
}

// A callView is one call of a run, from all its entries.
type callView struct {
	Number   int
	Tool     string
	Steps    []row
	Asked    *row // a person got a question
	Answered *row // what the person said
	Last     row
	Args     *audit.Args
	Result   *audit.Result
	Rules    []audit.Rule
	Edited   bool // the arguments that ran differ from the proposed ones
}

type runView struct {
	frame
	ID      string
	Began   *row
	Ended   *row
	Program *audit.Program
	Calls   []*callView
	Others  []row
}

// showRun shows everything about one run: the program, its calls, what decided them, what people saw and what ran.
func (c *Console) showRun(w http.ResponseWriter, r *http.Request, s *session) error {
	id := r.PathValue("run")
	all, err := c.entries(r.Context(), s, store.Query{Run: id})
	if err != nil {
		return err
	}
	if len(all) == 0 || id == "" {
		return refuse(http.StatusNotFound, "the record has no such run")
	}
	v := &runView{frame: c.frame(r, s, "history", "Run "+word(id)), ID: id}
	calls := map[int]*callView{}
	for _, e := range all {
		x := rowOf(e)
		switch {
		case e.Kind == audit.Run:
			switch {
			case x.Class != "open":
				v.Ended = &x
			case v.Began == nil:
				v.Began = &x
			default:
				v.Others = append(v.Others, x)
			}
			if e.Program != nil && (v.Program == nil || e.Program.Text != "") {
				v.Program = e.Program
			}
		case e.Call > 0 && (e.Kind == audit.Call || e.Kind == audit.Approval):
			if calls[e.Call] == nil {
				calls[e.Call] = &callView{Number: e.Call}
				v.Calls = append(v.Calls, calls[e.Call])
			}
			calls[e.Call].add(x)
		default:
			v.Others = append(v.Others, x)
		}
	}
	slices.SortFunc(v.Calls, func(a, b *callView) int { return cmp.Compare(a.Number, b.Number) })
	return c.render(w, "run", v)
}

func (v *callView) add(x row) {
	v.Steps = append(v.Steps, x)
	v.Last = x
	if x.Tool != "" {
		v.Tool = x.Tool
	}
	switch {
	case x.Kind == audit.Call && x.Entry.State == audit.Pending:
		v.Asked = &x
	case x.Kind == audit.Approval:
		v.Answered = &x
	}
	if x.Args != nil {
		v.Args = x.Args
		v.Edited = v.Edited || x.Args.Executed != "" && x.Args.Proposed != "" && x.Args.Executed != x.Args.Proposed
	}
	if x.Result != nil {
		v.Result = x.Result
	}
	if len(x.Rules) > 0 {
		v.Rules = x.Rules
	}
}

// mostEntries is how many entries GET /api/entries gives at most.
const mostEntries = 1000

func (c *Console) apiEntries(w http.ResponseWriter, r *http.Request, s *session) error {
	limit := aPage
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil && n > 0 {
		limit = min(n, mostEntries)
	}
	all, err := c.entries(r.Context(), s, store.Query{Run: r.FormValue("run"), Tool: r.FormValue("tool"), Newest: true,
		Limit: limit})
	if err != nil {
		return err
	}
	list := []json.RawMessage{}
	for _, e := range all {
		list = append(list, e.Line())
	}
	return writeJSON(w, http.StatusOK, map[string]any{"entries": list})
}

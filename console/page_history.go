package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/console/records"
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

type historyView struct {
	frame
	Rows  []records.Row
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
		v.Rows = append(v.Rows, records.RowOf(e))
	}
	if len(all) == aPage {
		v.Older = all[len(all)-1].Time.Format(time.RFC3339Nano)
	}
	return c.render(w, "history", v)
}

type runView struct {
	frame
	ID string
	*records.RunView
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
	v := &runView{c.frame(r, s, "history", "Run "+word(id)), id, records.RunOf(all)}
	return c.render(w, "run", v)
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

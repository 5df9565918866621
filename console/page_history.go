package console

import (
	"context"
	"net/http"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/console/records"
	"github.com/codemode-project/codemode/store"
)

// aPage is how many entries a page of history has.
const aPage = 60

// entries lists the entries of q that a person may see, up to the limit of q.
func (c *Console) entries(ctx context.Context, s *session, q store.Query) (all []*audit.Entry, err error) {
	if c.options.Record == nil {
		return nil, errNoRecord
	}
	records.Only(&q, c.sees(s.person))
	err = c.options.Record.Entries(ctx, q, func(e *audit.Entry) error {
		all = append(all, e)
		return nil
	})
	return all, err
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
	q := store.Query{Tool: v.Tool, Kinds: []string{audit.Call, audit.Approval, audit.Grant}}
	if kinds, ok := kindsOf[v.Kind]; ok {
		q.Kinds = kinds
	} else {
		v.Kind = ""
	}
	page, err := c.page(r, s, q, aPage)
	if err != nil {
		return err
	}
	for _, e := range page.Entries {
		v.Rows = append(v.Rows, records.RowOf(e))
	}
	v.Older = page.Next.String()
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

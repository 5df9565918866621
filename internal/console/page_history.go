package console

import (
	"context"
	"net/http"

	"github.com/codemode-project/codemode/internal/console/records"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// aPage is how many entries a page of the record has, or of calls.
const aPage = 60

// entries lists the entries of q that a person may see, up to the limit of q.
func (c recordPages) entries(ctx context.Context, s *session, q store.Query) (all []*audit.Entry, err error) {
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
	Ended string
	Older string // link to earlier entries
}

// endings are the states of entries by the words of the page's filter.
var endings = map[string][]string{
	"done": {audit.OK}, "refused": {audit.Refused}, "failed": {audit.Failed, audit.NotSent, audit.Unknown},
}

// showHistory is what programs called, newest first, in one row for each call. The record has the single entries.
func (c recordPages) showHistory(w http.ResponseWriter, r *http.Request, s *session) error {
	v := &historyView{frame: c.frame(r, s, "history", "Calls"), Tool: word(r.FormValue("tool")),
		Ended: r.FormValue("ended")}
	q := store.Query{Tool: v.Tool, States: endings[v.Ended]}
	before, err := c.readable(r, s, &q)
	if err != nil {
		return err
	}
	rows, older, err := records.ReadCalls(r.Context(), c.options.Record, q, before, aPage)
	if err != nil {
		return err
	}
	v.Rows, v.Older = rows, older.String()
	return c.render(w, "history", v)
}

type runView struct {
	frame
	ID string
	*records.RunView
}

// showRun shows everything about one run: the program, its calls, what decided them, what people saw and what ran.
func (c recordPages) showRun(w http.ResponseWriter, r *http.Request, s *session) error {
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

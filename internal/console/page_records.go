package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/codemode-project/codemode/docs"
	"github.com/codemode-project/codemode/internal/console/records"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// mostEntries is how many entries GET /api/entries gives at most.
const mostEntries = 1000

// aPage is how many entries a page of the record has, or of calls.
const aPage = 60

var errNoRecord = refuse(http.StatusNotFound, "no record is kept here")

// wanted reads what a request wants to see of the record, of what its person may see.
func (c recordPages) wanted(r *http.Request, s *session) (q store.Query, err error) {
	if c.options.Record == nil {
		return q, errNoRecord
	}
	if q, err = records.ReadFilter(r.URL.Query().Get, time.Now()); err != nil {
		return q, refuse(http.StatusBadRequest, err.Error())
	}
	records.Only(&q, c.sees(s.person))
	return q, nil
}

// readable limits q to what a person may see, and returns the place that the request names; nil is the end.
func (c recordPages) readable(r *http.Request, s *session, q *store.Query) (before records.Position, err error) {
	if c.options.Record == nil {
		return nil, errNoRecord
	}
	records.Only(q, c.sees(s.person))
	if text := r.URL.Query().Get("before"); text != "" {
		if before, err = records.ParsePosition(text); err != nil {
			return nil, refuse(http.StatusBadRequest, "before: "+err.Error())
		}
	}
	return before, nil
}

// page reads the entries of q that a person may see, from the place that the request names.
func (c recordPages) page(r *http.Request, s *session, q store.Query, limit int) (*records.Page, error) {
	before, err := c.readable(r, s, &q)
	if err != nil {
		return nil, err
	}
	return records.Read(r.Context(), c.options.Record, q, before, limit)
}

type recordsView struct {
	frame
	Kind   string // of the record
	Rows   []records.Row
	Fields map[string]string // of the filter
	Query  template.URL      // the filter as the query of an address, encoded
	Older  template.URL      // the same, for earlier entries
	End    string            // where the script goes on; "" on a page of earlier entries
}

// showRecords is one of the three records, the newest entry first. Its script adds those that come.
func (c recordPages) showRecords(w http.ResponseWriter, r *http.Request, s *session) error {
	v := &recordsView{Kind: r.PathValue("kind"), Fields: map[string]string{}}
	if records.Kinds[v.Kind] == nil {
		return refuse(http.StatusNotFound, "there is no such record")
	}
	query := url.Values{}
	for _, name := range []string{"principal", "profile", "tool", "state", "since"} {
		if value := r.URL.Query().Get(name); value != "" {
			query.Set(name, value)
			v.Fields[name] = word(value)
		}
	}
	v.Query = template.URL(query.Encode())
	q, err := c.wanted(r, s)
	if err != nil {
		return err
	}
	q.Kinds = records.Kinds[v.Kind]
	page, err := c.page(r, s, q, aPage)
	if err != nil {
		return err
	}
	for _, e := range page.Entries {
		v.Rows = append(v.Rows, records.RowOf(e))
	}
	if v.End = page.End.String(); page.Next != nil {
		query.Set("before", page.Next.String())
		v.Older = template.URL(query.Encode())
	}
	v.frame = c.frame(r, s, "records/"+v.Kind, "Record")
	return c.render(w, "records", v)
}

// apiDescription is the description of this API.
func apiDescription(w http.ResponseWriter, _ *http.Request, _ *session) error {
	return writeJSON(w, http.StatusOK, json.RawMessage(docs.OpenAPI))
}

func (c recordPages) apiEntries(w http.ResponseWriter, r *http.Request, s *session) error {
	q, err := c.wanted(r, s)
	if err != nil {
		return err
	}
	limit := aPage
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil && n > 0 {
		limit = min(n, mostEntries)
	}
	page, err := c.page(r, s, q, limit)
	if err != nil {
		return err
	}
	list := struct {
		Entries []json.RawMessage `json:"entries"`
		Next    string            `json:"next,omitempty"`
		End     string            `json:"end,omitempty"`
	}{[]json.RawMessage{}, page.Next.String(), page.End.String()}
	for _, e := range page.Entries {
		list.Entries = append(list.Entries, e.Line())
	}
	return writeJSON(w, http.StatusOK, list)
}

// apiEntryEvents is a stream of the entries behind a place, and of those that come. A client whose connection breaks
// says in Last-Event-ID where it was.
func (c recordPages) apiEntryEvents(w http.ResponseWriter, r *http.Request, s *session) error {
	q, err := c.wanted(r, s)
	if err != nil {
		return err
	}
	from, err := records.End(r.Context(), c.options.Record)
	if err != nil {
		return err
	}
	if text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")); text != "" {
		after, err := records.ParsePosition(text)
		switch {
		case err != nil:
			return refuse(http.StatusBadRequest, "Last-Event-ID: "+err.Error())
		case !after.Within(from):
			return refuse(http.StatusConflict, "the record does not reach that place: it is another one, or was restored; "+
				"begin without Last-Event-ID")
		}
		from = after
	}
	seat, left := c.logins.sit(s)
	if seat == nil {
		return refuse(http.StatusTooManyRequests, "this session has too many pages open")
	}
	defer left()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	go func() {
		defer stop()
		select {
		case <-s.ended:
		case <-c.done:
		case <-ctx.Done():
		}
	}()
	send := c.openStream(w)
	if !send(fmt.Appendf(nil, "retry: 1000\nid: %s\n: \n\n", from)) {
		return nil
	}
	return records.Follow(ctx, c.options.Record, q, from, beatEvery, func(e *audit.Entry, behind records.Position) bool {
		if e != nil {
			return send(fmt.Appendf(nil, "event: entry\nid: %s\ndata: %s\n\n", behind, e.Line()))
		}
		s.touch(c.logins.now()) // a session with an open page is not idle
		return c.still(r, s) && send(fmt.Appendf(nil, "id: %s\n: \n\n", behind))
	})
}

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

package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/store"
)

// The most that the page shows: sessions, declared names, and characters of a name or a type.
const (
	mostSessions = 200
	mostNames    = 500
	mostName     = 200
)

type sessionsView struct {
	frame
	sessionList
}

// A sessionList is the response to GET /api/sessions.
type sessionList struct {
	Listed []sessionRow `json:"sessions"`       // those used last first
	More   int          `json:"more,omitempty"` // sessions that are not shown
}

// A sessionRow is a session in the list.
type sessionRow struct {
	sessions.Summary
	ID    string `json:"id"`
	Waits bool   `json:"waits,omitempty"` // the program in it waits for a person
}

type sessionView struct {
	frame
	wholeSession
}

// A wholeSession is the response to GET /api/sessions/ID. Its texts may come from programs, and are not escaped.
type wholeSession struct {
	sessionRow
	At       int64                       `json:"at"`                 // the version that declares Names; 0 is none
	Unlisted bool                        `json:"unlisted,omitempty"` // what it declares is unknown
	Names    []declaredName              `json:"names"`
	Earlier  int                         `json:"earlier,omitempty"` // names before these
	Latest   []sessions.DescribedVersion `json:"versions"`          // the latest first; in a list, it is their number
}

// A declaredName is what the next program can use. The guest says what it is.
type declaredName struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Type string `json:"type"`
}

type changeView struct {
	frame
	sessionRow
	Action  string
	Version int64 // 0 for delete
}

// visibleSessions lists the sessions whose principal the person sees, those used last first.
func (c sessionPages) visibleSessions(ctx context.Context, s *session) ([]*store.Session, error) {
	if c.options.Sessions == nil {
		return nil, refuse(http.StatusNotFound, "the sessions of programs are not shown here")
	}
	from, err := c.options.Sessions.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var all []*store.Session
	for _, principal := range c.sees(s.person) {
		list := func() ([]*store.Session, error) { return from.List(ctx, principal) }
		if principal == "" {
			list = func() ([]*store.Session, error) { return from.All(ctx) }
		}
		some, err := list()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b *store.Session) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// visibleSession returns the session that the path names by its ID. A session that is made again under the same name
// has another one.
func (c sessionPages) visibleSession(r *http.Request, s *session) (*store.Session, error) {
	all, err := c.visibleSessions(r.Context(), s)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(one *store.Session) bool { return one.ID == r.PathValue("id") })
	if at < 0 {
		return nil, refuse(http.StatusNotFound, "there is no such session: it was deleted, or its time is over")
	}
	return all[at], nil
}

// waitingRuns returns a function that reports whether a run waits for a person.
func (c sessionPages) waitingRuns(ctx context.Context, s *session) func(run string) bool {
	if c.options.Runs == nil {
		return func(string) bool { return false }
	}
	runs := c.options.Runs.Running()
	elsewhere, err := c.options.Runs.Elsewhere(ctx)
	if err != nil {
		c.log.Warn("the runs of other processes cannot be listed", "error", err)
	}
	waiting := map[string]bool{}
	for _, x := range runPages(c).visibleRuns(s, append(slices.Clone(runs), elsewhere...)) {
		waiting[x.Run] = waiting[x.Run] || x.Parked && x.Outcome == ""
	}
	return func(run string) bool { return waiting[run] }
}

// listSessions lists the sessions that the person may see.
func (c sessionPages) listSessions(r *http.Request, s *session) (*sessionList, error) {
	all, err := c.visibleSessions(r.Context(), s)
	if err != nil {
		return nil, err
	}
	v := &sessionList{Listed: []sessionRow{}, More: max(0, len(all)-mostSessions)}
	waits := c.waitingRuns(r.Context(), s)
	for _, one := range all[:len(all)-v.More] {
		v.Listed = append(v.Listed, sessionRow{sessions.Summarize(one), one.ID, waits(one.Run)})
	}
	return v, nil
}

func (c sessionPages) showSessions(w http.ResponseWriter, r *http.Request, s *session) error {
	list, err := c.listSessions(r, s)
	if err != nil {
		return err
	}
	return c.render(w, "sessions", &sessionsView{c.frame(r, s, "sessions", "Sessions"), *list})
}

// describeSession says what the session that the path names declares, and its versions.
func (c sessionPages) describeSession(r *http.Request, s *session) (*wholeSession, error) {
	one, err := c.visibleSession(r, s)
	if err != nil {
		return nil, err
	}
	of, err := sessions.DescribeAt(r.Context(), one, 0)
	if err != nil {
		return nil, err
	}
	v := &wholeSession{
		sessionRow: sessionRow{of.Summary, one.ID, c.waitingRuns(r.Context(), s)(one.Run)},
		At:         of.At, Unlisted: of.Unlisted, Names: []declaredName{}, Earlier: max(0, len(of.Names)-mostNames),
		Latest: of.Versions,
	}
	slices.Reverse(v.Latest)
	for _, n := range of.Names[v.Earlier:] {
		v.Names = append(v.Names, declaredName{brief(n.Name), brief(n.Kind), brief(cmp.Or(n.Class, n.Type))})
	}
	return v, nil
}

func (c sessionPages) showSession(w http.ResponseWriter, r *http.Request, s *session) error {
	v, err := c.describeSession(r, s)
	if err != nil {
		return err
	}
	return c.render(w, "session", &sessionView{c.frame(r, s, "sessions", "Session "+word(v.Name)), *v})
}

// brief is a word of the guest, cut if it is long.
func brief(s string) string {
	if runes := []rune(s); len(runes) > mostName {
		s = string(runes[:mostName]) + "…"
	}
	return s
}

// A sessionRequest is what a person wants of a session, from a form or as JSON.
type sessionRequest struct {
	Version int64  `json:"version"` // of a fork or a rollback
	As      string `json:"as"`      // of a fork
}

// sessionFields reads a sessionRequest from fields; what is no number is version 0, which there is not.
func sessionFields(field func(string) string) sessionRequest {
	version, err := strconv.ParseInt(field("version"), 10, 64)
	if err != nil {
		version = 0
	}
	return sessionRequest{version, field("as")}
}

// changeOf is the change of a session that a path and a request name.
func changeOf(r *http.Request, one *store.Session, said sessionRequest) (*SessionChange, error) {
	ch := &SessionChange{Action: r.PathValue("action"), Principal: one.Principal, Name: one.Name}
	switch ch.Action {
	case "delete":
		return ch, nil
	case "fork", "rollback":
	default:
		return nil, refuse(http.StatusNotFound, "there is nothing under that path")
	}
	if ch.Version = said.Version; ch.Version < 1 {
		return nil, refuse(http.StatusBadRequest, "that is no version")
	}
	if ch.Action == "fork" {
		ch.As = said.As
	}
	return ch, nil
}

// askSession asks whether to make a change of a session. It changes nothing.
func (c sessionPages) askSession(w http.ResponseWriter, r *http.Request, s *session) error {
	one, err := c.visibleSession(r, s)
	if err != nil {
		return err
	}
	ch, err := changeOf(r, one, sessionFields(r.URL.Query().Get))
	if err != nil {
		return err
	}
	if ch.Version != 0 {
		if _, err := sessions.VersionOf(one, ch.Version); err != nil {
			return refuse(http.StatusNotFound, word(err.Error()))
		}
	}
	title := map[string]string{"fork": "Fork", "rollback": "Roll back", "delete": "Delete"}[ch.Action]
	return c.render(w, "session_change", &changeView{
		frame:      c.frame(r, s, "sessions", title+" the session "+word(one.Name)),
		sessionRow: sessionRow{sessions.Summarize(one), one.ID, false}, Action: ch.Action, Version: ch.Version,
	})
}

// changeSession makes the change.
func (c sessionPages) changeSession(w http.ResponseWriter, r *http.Request, s *session) error {
	if isAPI(r) != (mediaType(r) == "application/json") {
		return errOtherMedia
	}
	one, err := c.visibleSession(r, s)
	if err != nil {
		return err
	}
	said := sessionFields(r.PostForm.Get)
	if isAPI(r) {
		if err := readJSON(r, &said); err != nil {
			return err
		}
	}
	ch, err := changeOf(r, one, said)
	if err != nil {
		return err
	}
	done, err := c.options.Sessions.ChangeSession(r.Context(), s.person, *ch)
	switch {
	case err != nil && done != "":
		c.log.Error("a change of a session is not in the record", "session", one.Name, "error", err)
		said := word(done) + " The record does not say so: it cannot be written."
		if isAPI(r) {
			return c.acknowledge(w, r, s, "", said)
		}
		return c.redirect(w, r, s, "/sessions", true, said)
	case err != nil && isAPI(r):
		return refuse(http.StatusConflict, "not done: "+word(err.Error()))
	case err != nil:
		return c.redirect(w, r, s, "/sessions/"+one.ID, true, "Not done: "+word(err.Error()))
	case ch.Action == "rollback":
		return c.acknowledge(w, r, s, "/sessions/"+one.ID, word(done))
	}
	return c.acknowledge(w, r, s, "/sessions", word(done))
}

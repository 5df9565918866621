package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/call"
)

// A grant is one as front ends are told of it.
type grant struct {
	*prompt.Grant
	Allows string `json:"allows"` // in words
}

type grantsView struct {
	frame
	Grants []*prompt.Grant
}

// grants lists what a person may see of what was allowed.
func (c *Console) grants(r *http.Request, s *session) ([]*prompt.Grant, error) {
	var all []*prompt.Grant
	for _, principal := range c.sees(s.person) {
		some, err := c.options.Grants.All(r.Context(), principal)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b *prompt.Grant) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// readGrants is grants for a request; where there are none to be had, it says so to the client.
func (c *Console) readGrants(w http.ResponseWriter, r *http.Request, s *session) (all []*prompt.Grant, ok bool) {
	if c.options.Grants == nil {
		c.fail(w, r, http.StatusNotFound, "nothing is remembered here")
		return nil, false
	}
	all, err := c.grants(r, s)
	if err != nil {
		c.unreadable(w, r, err)
		return nil, false
	}
	return all, true
}

func (c *Console) showGrants(w http.ResponseWriter, r *http.Request, s *session) {
	all, ok := c.readGrants(w, r, s)
	if !ok {
		return
	}
	c.render(w, "grants", &grantsView{frame: c.frame(r, s, "grants", "Grants"), Grants: all})
}

func (c *Console) apiGrants(w http.ResponseWriter, r *http.Request, s *session) {
	all, ok := c.readGrants(w, r, s)
	if !ok {
		return
	}
	list := []grant{}
	for _, g := range all {
		list = append(list, grant{g, g.Allows()})
	}
	writeJSON(w, http.StatusOK, map[string]any{"grants": list})
}

// revoke takes back what was allowed; the next call asks again.
func (c *Console) revoke(w http.ResponseWriter, r *http.Request, s *session) {
	all, ok := c.readGrants(w, r, s)
	if !ok {
		return
	}
	id := r.PostFormValue("grant")
	if mediaType(r) == "application/json" {
		var said struct {
			Grant string `json:"grant"`
		}
		if err := readJSON(r, &said); err != nil {
			c.fail(w, r, http.StatusBadRequest, err.Error())
			return
		}
		id = said.Grant
	}
	at := slices.IndexFunc(all, func(g *prompt.Grant) bool { return g.ID == id })
	if at < 0 {
		c.fail(w, r, http.StatusNotFound, "there is no such grant: it is over, or was revoked before")
		return
	}
	g := all[at]
	err := c.options.Grants.Revoke(r.Context(), g.ID)
	switch {
	case errors.Is(err, approvals.ErrTaken):
		c.fail(w, r, http.StatusConflict, "it is over, or was revoked before")
		return
	case err != nil:
		c.unreadable(w, r, err)
		return
	}
	// It is revoked whether or not that can be recorded: less is allowed than before.
	noted := c.note(r.Context(), audit.Entry{
		Kind: audit.Grant, State: "revoked", Principal: g.Principal, Run: g.Run, Profile: g.Profile, Server: g.Server, Tool: g.Name,
		DecidedBy: &audit.DecidedBy{How: call.ByPerson, Channel: ChannelName, Principal: s.person, Grant: g.ID, Scope: string(g.Scope)}, Detail: g.Allows(),
	})
	if noted != nil {
		c.log.Warn("a grant was revoked, and that is not in the record", "grant", g.ID)
	}
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, map[string]any{"ok": true, "said": "Revoked. The next such call asks again."})
		return
	}
	said := s.say(false, "Revoked. The next such call asks again.")
	http.Redirect(w, r, c.base(r)+"/grants"+said, http.StatusSeeOther)
}

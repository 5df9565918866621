package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// A grant is a grant in the API.
type grant struct {
	*prompt.Grant
	Allows string `json:"allows"` // in words
}

type grantsView struct {
	frame
	Grants []*prompt.Grant
}

// grants lists the grants that a person may see.
func (c recordPages) grants(r *http.Request, s *session) ([]*prompt.Grant, error) {
	if c.options.Grants == nil {
		return nil, refuse(http.StatusNotFound, "grants are not kept here")
	}
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

func (c recordPages) showGrants(w http.ResponseWriter, r *http.Request, s *session) error {
	all, err := c.grants(r, s)
	if err != nil {
		return err
	}
	return c.render(w, "grants", &grantsView{frame: c.frame(r, s, "grants", "Grants"), Grants: all})
}

func (c recordPages) apiGrants(w http.ResponseWriter, r *http.Request, s *session) error {
	all, err := c.grants(r, s)
	if err != nil {
		return err
	}
	list := []grant{}
	for _, g := range all {
		list = append(list, grant{g, g.Allows()})
	}
	return writeJSON(w, http.StatusOK, map[string]any{"grants": list})
}

// revoke ends a grant; the next such call asks again.
func (c recordPages) revoke(w http.ResponseWriter, r *http.Request, s *session) error {
	all, err := c.grants(r, s)
	if err != nil {
		return err
	}
	said := struct {
		Grant string `json:"grant"`
	}{r.PostFormValue("grant")}
	if mediaType(r) == "application/json" {
		if err := readJSON(r, &said); err != nil {
			return err
		}
	}
	at := slices.IndexFunc(all, func(g *prompt.Grant) bool { return g.ID == said.Grant })
	if at < 0 {
		return refuse(http.StatusNotFound, "there is no such grant: it is over, or was revoked before")
	}
	g := all[at]
	if err := c.options.Grants.Revoke(r.Context(), g.ID); errors.Is(err, approvals.ErrTaken) {
		return refuse(http.StatusConflict, "it is over, or was revoked before")
	} else if err != nil {
		return err
	}
	// The grant ends even if recording that fails: the change only removes a permission.
	noted := c.note(r.Context(), call.Entry{
		Kind: audit.Grant, State: "revoked", Principal: g.Principal, Run: g.Run, Profile: g.Profile, Server: g.Server,
		Tool: g.Name,
		DecidedBy: &call.DecidedBy{How: call.ByPerson, Channel: ChannelName, Principal: s.person, Grant: g.ID,
			Scope: string(g.Scope)}, Detail: g.Allows(),
	})
	if noted != nil {
		c.log.Warn("a revoked grant is not in the record", "grant", g.ID)
	}
	const done = "Revoked. The next such call asks again."
	if wantsJSON(r) {
		return writeJSON(w, http.StatusOK, map[string]any{"ok": true, "said": done})
	}
	return c.redirect(w, r, s, "/grants", false, done)
}

package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/console/passkeys"
	"github.com/codemode-project/codemode/store"
)

type passkeysView struct {
	frame
	passkeyList
	SignsIn  string // the name of the identity provider, for people who sign in
	Register string // the options of a passkey to make now; "" is none
	Name     string // of that passkey
}

// A passkeyList is the response to GET /api/passkeys.
type passkeyList struct {
	Keys []passkeys.Passkey `json:"passkeys"`
	At   string             `json:"at,omitempty"` // where browsers use them, if that is not here
}

// ownPasskeys are those of a person.
func (c *Console) ownPasskeys(r *http.Request, s *session) (*passkeyList, error) {
	keys, err := c.options.Passkeys.List(r.Context(), s.person)
	if err != nil {
		return nil, c.refusePasskey(r.Context(), s, audit.Entry{}, err)
	}
	list := &passkeyList{Keys: append([]passkeys.Passkey{}, keys...)}
	if !c.options.Passkeys.At(c.origin(r)) {
		list.At = c.options.Passkeys.Origin() + c.options.Path + "/"
	}
	return list, nil
}

func (c *Console) passkeysView(r *http.Request, s *session, list *passkeyList) *passkeysView {
	v := &passkeysView{frame: c.frame(r, s, "passkeys", "Passkeys"), passkeyList: *list}
	if s.signedIn {
		v.SignsIn = c.provider()
	}
	return v
}

// showPasskeys shows a person their passkeys.
func (c *Console) showPasskeys(w http.ResponseWriter, r *http.Request, s *session) error {
	list, err := c.ownPasskeys(r, s)
	if err != nil {
		return err
	}
	return c.render(w, "passkeys", c.passkeysView(r, s, list))
}

func (c *Console) apiPasskeys(w http.ResponseWriter, r *http.Request, s *session) error {
	list, err := c.ownPasskeys(r, s)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}

// A passkeyRequest is what a person wants of a passkey, from a form or as JSON.
type passkeyRequest struct {
	Name       string          `json:"name"`       // of a new one
	Credential json.RawMessage `json:"credential"` // that the browser has made
	ID         string          `json:"id"`         // to remove
}

func readPasskey(r *http.Request) (said passkeyRequest, err error) {
	if mediaType(r) == "application/json" {
		return said, readJSON(r, &said)
	}
	form := r.PostForm.Get
	return passkeyRequest{form("name"), json.RawMessage(form("credential")), form("id")}, nil
}

// newPasskey begins to add a passkey, with a fresh proof: who finds the page open cannot add their own.
func (c *Console) newPasskey(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	said, err := readPasskey(r)
	if err != nil {
		return nil, err
	}
	name := said.Name
	if problem := passkeys.CheckName(name); problem != "" {
		return nil, refuse(http.StatusUnprocessableEntity, problem)
	}
	list, err := c.ownPasskeys(r, s)
	switch {
	case err != nil:
		return nil, err
	case list.At != "":
		return nil, refuse(http.StatusConflict,
			"browsers use passkeys at "+list.At+" and not at this address: open the page there")
	}
	what := fmt.Sprintf("add the passkey %q of %s, which may then allow calls of critical risk", word(name),
		word(s.person))
	return &change{own: true, what: what, do: func(w http.ResponseWriter, r *http.Request) error {
		options, err := c.options.Passkeys.BeginAdd(r.Context(), s.holder(), name)
		if err != nil {
			return c.refusePasskey(r.Context(), s, audit.Entry{Detail: "adding it"}, err)
		}
		if isAPI(r) {
			return writeJSON(w, http.StatusOK, map[string]any{"ok": true, "options": options})
		}
		v := c.passkeysView(r, s, list)
		v.Register, v.Name = string(options), name
		return c.render(w, "passkeys", v)
	}}, nil
}

// addPasskey stores the passkey that a browser has made. Its challenge shows that newPasskey had a proof.
func (c *Console) addPasskey(w http.ResponseWriter, r *http.Request, s *session) error {
	said, err := readPasskey(r)
	if err != nil {
		return err
	}
	name, err := c.options.Passkeys.Add(r.Context(), s.holder(), said.Credential,
		func(name string) error { return c.notePasskey(r, s, "added", name) })
	if err != nil {
		return c.refusePasskey(r.Context(), s, audit.Entry{Detail: "adding it"}, err)
	}
	return c.acknowledge(w, r, s, "/passkeys", fmt.Sprintf("The passkey %q is added.", word(name)))
}

// removePasskey removes a passkey, without a proof: without it, its person can do less.
func (c *Console) removePasskey(w http.ResponseWriter, r *http.Request, s *session) error {
	said, err := readPasskey(r)
	if err != nil {
		return err
	}
	list, err := c.ownPasskeys(r, s)
	if err != nil {
		return err
	}
	for _, key := range list.Keys {
		if key.ID != said.ID {
			continue
		}
		if err := c.notePasskey(r, s, "removed", key.Name); err != nil {
			return refuse(http.StatusInternalServerError, err.Error())
		}
		_, err := c.options.Passkeys.Remove(r.Context(), s.person, key.ID)
		if err != nil && !errors.Is(err, store.ErrTaken) { // another page of theirs was faster
			return c.refusePasskey(r.Context(), s, audit.Entry{}, err)
		}
		return c.acknowledge(w, r, s, "/passkeys", fmt.Sprintf("The passkey %q is removed.", word(key.Name)))
	}
	return refuse(http.StatusNotFound, "you have no such passkey")
}

func (c *Console) notePasskey(r *http.Request, s *session, state, name string) error {
	return c.note(r.Context(), audit.Entry{Kind: audit.Access, State: "passkey_" + state, Client: "console",
		Principal: s.person, Detail: fmt.Sprintf("the passkey %q", name)})
}

package console

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/console/passkeys"
	"github.com/codemode-project/codemode/store"
)

type passkeysView struct {
	frame
	Keys     []passkeys.Passkey
	At       string // where browsers use them, if that is not here
	SignsIn  string // the name of the identity provider, for people who sign in
	Register string // the options of a passkey to make now; "" is none
	Name     string // of that passkey
}

// showPasskeys shows a person their passkeys.
func (c *Console) showPasskeys(w http.ResponseWriter, r *http.Request, s *session) error {
	v, err := c.ownPasskeys(r, s)
	if err != nil {
		return err
	}
	return c.render(w, "passkeys", v)
}

func (c *Console) ownPasskeys(r *http.Request, s *session) (v *passkeysView, err error) {
	v = &passkeysView{frame: c.frame(r, s, "passkeys", "Passkeys")}
	if v.Keys, err = c.options.Passkeys.List(r.Context(), s.person); err != nil {
		return nil, c.refusePasskey(r.Context(), s, audit.Entry{}, err)
	}
	if !c.options.Passkeys.At(c.origin(r)) {
		v.At = c.options.Passkeys.Origin() + c.options.Path + "/"
	}
	if s.signedIn {
		v.SignsIn = c.provider()
	}
	return v, nil
}

// newPasskey begins to add a passkey, with a fresh proof: who finds the page open cannot add their own.
func (c *Console) newPasskey(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	name := r.PostForm.Get("name")
	if problem := passkeys.CheckName(name); problem != "" {
		return nil, refuse(http.StatusUnprocessableEntity, problem)
	}
	v, err := c.ownPasskeys(r, s)
	switch {
	case err != nil:
		return nil, err
	case v.At != "":
		return nil, refuse(http.StatusConflict,
			"browsers use passkeys at "+v.At+" and not at this address: open the page there")
	}
	what := fmt.Sprintf("add the passkey %q of %s, which may then allow calls of critical risk", word(name),
		word(s.person))
	return &change{own: true, what: what, do: func(w http.ResponseWriter, r *http.Request) error {
		options, err := c.options.Passkeys.BeginAdd(r.Context(), s.holder(), name)
		if err != nil {
			return c.refusePasskey(r.Context(), s, audit.Entry{Detail: "adding it"}, err)
		}
		v.Register, v.Name = string(options), name
		return c.render(w, "passkeys", v)
	}}, nil
}

// addPasskey stores the passkey that a browser has made. Its challenge shows that newPasskey had a proof.
func (c *Console) addPasskey(w http.ResponseWriter, r *http.Request, s *session) error {
	name, err := c.options.Passkeys.Add(r.Context(), s.holder(), []byte(r.PostForm.Get("credential")),
		func(name string) error { return c.notePasskey(r, s, "added", name) })
	if err != nil {
		return c.refusePasskey(r.Context(), s, audit.Entry{Detail: "adding it"}, err)
	}
	return c.redirect(w, r, s, "/passkeys", false, fmt.Sprintf("The passkey %q is added.", word(name)))
}

// removePasskey removes a passkey, without a proof: without it, its person can do less.
func (c *Console) removePasskey(w http.ResponseWriter, r *http.Request, s *session) error {
	v, err := c.ownPasskeys(r, s)
	if err != nil {
		return err
	}
	for _, key := range v.Keys {
		if key.ID != r.PostForm.Get("id") {
			continue
		}
		if err := c.notePasskey(r, s, "removed", key.Name); err != nil {
			return refuse(http.StatusInternalServerError, err.Error())
		}
		_, err := c.options.Passkeys.Remove(r.Context(), s.person, key.ID)
		if err != nil && !errors.Is(err, store.ErrTaken) { // another page of theirs was faster
			return c.refusePasskey(r.Context(), s, audit.Entry{}, err)
		}
		return c.redirect(w, r, s, "/passkeys", false, fmt.Sprintf("The passkey %q is removed.", word(key.Name)))
	}
	return refuse(http.StatusNotFound, "you have no such passkey")
}

func (c *Console) notePasskey(r *http.Request, s *session, state, name string) error {
	return c.note(r.Context(), audit.Entry{Kind: audit.Access, State: "passkey_" + state, Client: "console",
		Principal: s.person, Detail: fmt.Sprintf("the passkey %q", name)})
}

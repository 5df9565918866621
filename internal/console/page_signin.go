package console

import (
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"net/http"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// Where people sign in, and where the identity provider sends them back to, below the path of the page.
const (
	signInPath   = "/signin"
	callbackPath = signInPath + "/callback"
	// signInCookie ends the name of the cookie of a sign-in in progress. It lives as long as the sign-in may take.
	signInCookie     = "-signin"
	signInCookieLife = 10 * time.Minute
)

// redirectAddress is where the identity provider sends browsers back to, whatever address they know the page by.
func (c door) redirectAddress() string {
	return c.options.Origins[0] + c.options.Path + callbackPath
}

// beginSignIn lets a person sign in.
func (c door) beginSignIn(w http.ResponseWriter, r *http.Request) error {
	return c.leadToProvider(w, r, r.URL.Query().Get("to"), "")
}

// leadToProvider leads a browser to the identity provider, and back to a page. With proves, the sign-in is a new one.
func (c door) leadToProvider(w http.ResponseWriter, r *http.Request, to, proves string) error {
	if c.origin(r) != c.options.Origins[0] { // the cookie has to be there where the browser comes back to
		http.Redirect(w, r, c.options.Origins[0]+c.base(r)+r.URL.RequestURI(), http.StatusSeeOther)
		return nil
	}
	address, binding, err := c.options.SignIn.Begin(r.Context(), c.redirectAddress(), onward(to), proves)
	if err != nil {
		return c.refuseSignIn(w, r, to, err)
	}
	c.bind(w, r, binding)
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// bind keeps the binding of a sign-in in the browser; "" removes it. The browser comes back from another site, so the
// cookie is not for requests of this site alone.
func (c door) bind(w http.ResponseWriter, r *http.Request, binding string) {
	c.addCookie(w, r, http.Cookie{Name: c.cookie + signInCookie, Value: binding, Path: c.options.Path + callbackPath,
		SameSite: http.SameSiteLaxMode}, signInCookieLife)
}

type signedInView struct {
	frame
	Who, Roles, SignIn, Continue string
	Allows                       string // the call that the person may allow now; "" is none
}

// finishSignIn makes a session for a person who comes back from the identity provider. It does not redirect into the
// session: browsers count that as a request of the provider's site, and send no cookie of the session. The person goes
// on by a link of ours, and sees before who they are.
func (c door) finishSignIn(w http.ResponseWriter, r *http.Request) error {
	who, err := c.options.SignIn.Finish(r.Context(), c.redirectAddress(), r.URL.Query(),
		cookies(r, c.cookie+signInCookie))
	if refused, ok := errors.AsType[*signin.Refusal](err); !ok || refused.State != "wrong_state" {
		c.bind(w, r, "") // a callback that somebody made up does not end a sign-in in progress
	}
	if err != nil {
		return c.refuseSignIn(w, r, "", err)
	}
	roles := strings.Join(who.Roles.Names(), ", ")
	e := call.Entry{Kind: audit.Access, State: "admitted", Client: "console", Principal: who.Principal,
		Detail: fmt.Sprintf("a login to the page at the identity provider %s, as %s", c.provider(), roles)}
	v := &signedInView{frame: c.bareFrame("Signed in"), Who: who.Principal, Roles: roles, SignIn: c.provider()}
	var old *session
	var proof *freshProof
	if who.Proves != "" {
		var a *asked
		if old, proof, a, err = c.freshFor(who); err != nil {
			return c.refuseSignIn(w, r, "", err)
		}
		if proof != nil {
			q := a.request
			e.Run, e.Call, e.Profile, e.Server, e.Tool = q.Run, q.Call, q.Profile, q.Server, q.Name
			e.Detail += ", to allow this call"
			v.Allows = a.Tool
		}
	}
	if err := c.note(r.Context(), e); err != nil {
		return refuse(http.StatusInternalServerError, err.Error())
	}
	key, id, s := c.logins.openAs(who, proof)
	if old != nil {
		c.logins.replace(old, s)
	}
	c.logins.read(s)
	base := c.sessionPath(key)
	c.setCookie(w, r, base, id, c.options.Life)
	v.Continue = base + onward(who.To)
	return c.render(w, "signed_in", v)
}

// provePath is where a person begins a new sign-in for a question, below the path of the session.
const provePath = "/prove/"

// prove leads a person to the identity provider, to sign in anew for a question.
func (c door) prove(w http.ResponseWriter, r *http.Request, s *session) error {
	a := questions(c).find(s, r.PathValue("id"))
	switch {
	case a == nil:
		return refuse(http.StatusNotFound, replies(c).goneBecause(r.Context(), s, r.PathValue("id")))
	case !s.signedIn || c.options.SignIn == nil:
		return refuse(http.StatusForbidden, "only people who sign in at an identity provider prove anew who they are")
	case !s.needsSignIn(a.request):
		http.Redirect(w, r, c.base(r)+"/ask/"+a.ID, http.StatusSeeOther)
		return nil
	}
	return c.leadToProvider(w, r, "/ask/"+a.ID, purpose{s.mark(), a.ID, a.Digest}.String())
}

// freshFor is the session that a new sign-in replaces, with what the sign-in proves. It has to be of the same person:
// of the same subject at the same provider. The proof is nil if its question is over, or has changed. The error is a
// [*signin.Refusal].
func (c door) freshFor(who *signin.Identity) (of *session, p *freshProof, a *asked, err error) {
	no := func(state, why string) error {
		return &signin.Refusal{Status: http.StatusForbidden, State: state, Why: why, Principal: who.Principal}
	}
	is := purposeOf(who.Proves)
	if of = c.logins.marked(is.session); of == nil {
		return nil, nil, nil, no("session_over", "the session that began this sign-in has ended: sign in, and begin again")
	}
	if !of.signedIn || of.person != who.Principal || of.subject == "" || of.subject != who.Subject {
		return nil, nil, nil, no("other_person", fmt.Sprintf(
			"you are %s, and %s began this sign-in: it proves nothing about them", who.Principal, of.person))
	}
	a = questions(c).find(of, is.question)
	if a != nil && a.Digest == is.digest && of.needsSignIn(a.request) {
		p = &freshProof{question: is.question, digest: is.digest, until: c.logins.now().Add(freshLife)}
	}
	return of, p, a, nil
}

// refuseSignIn says why somebody is not signed in, on the page and in the record.
func (c door) refuseSignIn(w http.ResponseWriter, r *http.Request, to string, err error) error {
	refused, ok := errors.AsType[*signin.Refusal](err)
	if !ok {
		return err
	}
	if c.links.Records(time.Now()) { // anybody may try
		c.log.Warn("a sign-in to the page was refused", "state", refused.State, "principal", refused.Principal,
			"reason", refused.Why, "error", refused.Err)
		err := c.note(r.Context(), call.Entry{Kind: audit.Access, State: refused.State, Client: "console",
			Principal: refused.Principal, Detail: "a sign-in to the page was refused: " + refused.Why})
		if err != nil {
			c.log.Warn("a refused attempt was not recorded", "error", err)
		}
	}
	w.WriteHeader(refused.Status)
	return c.renderLogin(w, to, word("Not signed in: "+refused.Why+"."))
}

// withoutRole answers a request to a route that is for other roles. Who opens the list of questions without answering
// any is led to the first page that is theirs.
func (c door) withoutRole(w http.ResponseWriter, r *http.Request, x *route, s *session) error {
	if x.method == http.MethodGet && x.path == "/{$}" {
		for _, page := range []string{"/history", "/running", "/grants"} {
			if c.opens(s, page) {
				http.Redirect(w, r, c.base(r)+page, http.StatusSeeOther)
				return nil
			}
		}
	}
	need := strings.Join(x.roles.Names(), " or ")
	why := fmt.Sprintf("you are %s with the role %s, and this needs the role %s", s.person,
		strings.Join(s.roles.Names(), ", "), need)
	if c.links.Records(time.Now()) {
		c.noteRefused(r.Context(), call.Entry{Principal: s.person,
			Detail: "a request on the page without the role: " + x.method + " " + x.path + " needs " + need})
	}
	return refuse(http.StatusForbidden, word(why))
}

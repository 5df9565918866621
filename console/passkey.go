package console

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/console/passkeys"
)

// With [Options.Passkeys], a yes to a call of critical risk needs a passkey. Somebody who has the session alone,
// because its page is open or its cookie is stolen, has none. An assertion of a passkey is a proof like a code, and
// comes in the same places of a request: it is the JSON of a PublicKeyCredential, and so begins with a brace.

// freshLife is how long a person may add a passkey after a fresh sign-in.
const freshLife = 5 * time.Minute

// isAssertion reports whether a proof is of a passkey, and not a code.
func isAssertion(proof string) bool { return strings.HasPrefix(proof, "{") }

// holder is the person of a session, for package passkeys.
func (s *session) holder() passkeys.Holder { return passkeys.Holder{Person: s.person, Session: s.id} }

// wantsPasskey reports whether a yes to a question needs a passkey.
func (c *Console) wantsPasskey(r *prompt.Request) bool {
	return c.options.Passkeys != nil && r.Inquiry == nil && !r.Risk.FormSuffices()
}

// subject is what a passkey confirms about an answer: all of it, with the digest of the question as shown, and with
// other arguments. Two different answers have different subjects.
func (said *Answered) subject() ([sha256.Size]byte, error) {
	js, err := json.Marshal(said)
	return sha256.Sum256(append([]byte("answer "), js...)), err
}

// changeSubject is what a passkey confirms about a change: the request, see proofOf.
func changeSubject(request [sha256.Size]byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte("change "), request[:]...))
}

// passkeyFor returns what a browser needs to ask for a passkey at this address of the page, or says why it cannot.
func (c *Console) passkeyFor(
	r *http.Request, s *session, subject [sha256.Size]byte,
) (options json.RawMessage, why string) {
	keys := c.options.Passkeys
	if !keys.At(c.origin(r)) {
		return nil, "browsers use passkeys at " + keys.Origin() + c.options.Path +
			" and not at this address: open the page there"
	}
	options, err := keys.BeginUse(r.Context(), s.holder(), subject)
	switch {
	case errors.Is(err, passkeys.ErrNone):
		return nil, "you have no passkey: add one on the page Passkeys"
	case err != nil:
		c.log.Error("reading passkeys failed", "error", err)
		return nil, "passkeys cannot be read now: try again later"
	}
	return options, ""
}

// confirm verifies that the person of a session has confirmed a subject with a passkey, and records it. e says what the
// passkey is for. The error is a [*refusal].
func (c *Console) confirm(
	ctx context.Context, s *session, subject [sha256.Size]byte, assertion string, e audit.Entry,
) error {
	used, err := c.options.Passkeys.Use(ctx, s.holder(), subject, []byte(assertion))
	if err != nil {
		return c.refusePasskey(ctx, s, e, err)
	}
	e.Kind, e.State, e.Client, e.Principal = audit.Access, "passkey_used", "console", s.person
	e.Detail = fmt.Sprintf("the passkey %q, for %s", used.Name, e.Detail)
	if err := c.note(ctx, e); err != nil {
		return refuse(http.StatusInternalServerError, err.Error())
	}
	return nil
}

// refusePasskey records why a passkey does not count, and returns the error for the client.
func (c *Console) refusePasskey(ctx context.Context, s *session, e audit.Entry, err error) error {
	no, ok := errors.AsType[*passkeys.Refusal](err)
	if !ok {
		c.log.Error("using passkeys failed", "error", err)
		return refuse(http.StatusServiceUnavailable, "passkeys cannot be used now: try again later")
	}
	if c.links.Records(c.logins.now()) { // who has the session may try as often as they like
		c.log.Warn("a passkey was refused", "kind", no.Kind, "principal", s.person, "passkey", no.Name, "error", no.Err)
		e.Kind, e.State, e.Client, e.Principal = audit.Access, "passkey_"+no.Kind, "console", s.person
		e.Detail = fmt.Sprintf("the passkey %q was refused, for %s: %s", no.Name, e.Detail, no.Why)
		if err := c.note(ctx, e); err != nil {
			c.log.Warn("a refused passkey was not recorded", "error", err)
		}
	}
	return refuse(http.StatusForbidden, no.Why)
}

// confirmAnswer has the passkey of a person confirm a yes; nil is that it counts. Otherwise the result says what is
// missing, with the options for the passkey if the request came without one.
func (c *Console) confirmAnswer(r *http.Request, s *session, said *Answered, a *asked, proof string) *Result {
	no := func(status int, why string) *Result { return &Result{ID: said.ID, Error: why, status: status} }
	q := a.request
	e := audit.Entry{Run: q.Run, Call: q.Call, Profile: q.Profile, Server: q.Server, Tool: q.Name,
		Principal: s.person, Detail: "a yes to a call of critical risk"}
	subject, err := said.subject()
	switch {
	case s.token:
		e.Detail = "a token allows no call of critical risk: that needs a passkey, on the page"
		c.noteRefused(r.Context(), e)
		return no(http.StatusForbidden, e.Detail)
	case err != nil:
		return no(http.StatusUnprocessableEntity, "the arguments are not JSON")
	case said.Propose != "":
		return no(http.StatusUnprocessableEntity, "a passkey confirms one answer and no rule: allow the call by itself")
	case isAssertion(proof):
		var refused *refusal
		if err := c.confirm(r.Context(), s, subject, proof, e); errors.As(err, &refused) {
			return no(refused.status, refused.why)
		}
		return nil
	}
	missing := no(http.StatusForbidden, "a yes to this call needs your passkey, and the script of this page")
	options, why := c.passkeyFor(r, s, subject)
	if missing.Passkey = options; why != "" {
		missing.Error = "a yes to this call needs a passkey. " + strings.ToUpper(why[:1]) + why[1:]
	}
	return missing
}

// provedOtherwise reports whether a change has another proof than a code: a passkey, or, for a change of the person's
// own passkeys, a fresh sign-in, which counts once. problem says why the passkey does not count.
func (c *Console) provedOtherwise(
	r *http.Request, s *session, ch *change, request [sha256.Size]byte, proof string,
) (ok bool, problem string) {
	switch {
	case isAssertion(proof) && c.takesPasskey(s, ch):
		err := c.confirm(r.Context(), s, changeSubject(request), proof,
			audit.Entry{Detail: "a change on the page, at " + r.URL.Path})
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	case ch.own && proof == "":
		s.mu.Lock()
		defer s.mu.Unlock()
		ok = !s.fresh.IsZero() && c.logins.now().Sub(s.fresh) < freshLife
		s.fresh = time.Time{}
	}
	return ok, ""
}

// takesPasskey reports whether a passkey proves a change. People with a login link have the terminal that the link came
// from, which shows them the change outside of the browser; people who sign in have none.
func (c *Console) takesPasskey(s *session, ch *change) bool {
	return c.options.Passkeys != nil && (ch.own || s.signedIn)
}

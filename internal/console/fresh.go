package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/console/signin"
)

// The session of a person who signed in allows no call of critical risk alone: somebody may have stolen its cookie, or
// another person may sit at the open page. A yes needs a new sign-in at the identity provider, for this question as it is
// shown. The new sign-in makes a session of its own, which replaces the one that began it, and which may allow that
// question once. So whoever has the older session gets nothing from it, and the person sees the question again before
// they allow the call.

// freshLife is how long a new sign-in may allow its question.
const freshLife = 5 * time.Minute

// A purpose is what a new sign-in is for: a question as it was shown, and the session that began the sign-in.
type purpose struct{ session, question, digest string }

func (p purpose) String() string { return p.session + " " + p.question + " " + p.digest }

// purposeOf reads a purpose. What is no purpose has an empty session, as none has.
func purposeOf(text string) (p purpose) {
	if parts := strings.Split(text, " "); len(parts) == 3 {
		p = purpose{parts[0], parts[1], parts[2]}
	}
	return p
}

// A freshProof is the right of a session to allow one question once.
type freshProof struct {
	question, digest string
	until            time.Time
}

// mark names a session in a cookie of the sign-in. It opens nothing.
func (s *session) mark() string {
	sum := sha256.Sum256(append([]byte("sign-in "), s.id[:]...))
	return hex.EncodeToString(sum[:])
}

// needsSignIn reports whether a yes to a question needs a new sign-in of a person who signs in. Who has a login link is
// who started the process, and the rules of tokens are those of the queue.
func (s *session) needsSignIn(r *prompt.Request) bool {
	return s.signedIn && r.Inquiry == nil && !r.Risk.FormSuffices()
}

// proven is until when a session may allow a question as it is shown. The zero time is not at all.
func (s *session) proven(id, digest string, now time.Time) (until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.proof; p != nil && p.question == id && p.digest == digest && now.Before(p.until) {
		return p.until
	}
	return time.Time{}
}

// useProof takes the proof for a question as it is shown; nil if there is none.
func (s *session) useProof(id, digest string, now time.Time) (p *freshProof) {
	if s.proven(id, digest, now).IsZero() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, s.proof = s.proof, nil // nil if another answer was faster
	return p
}

// returnProof returns a proof whose answer did not count, because of a wrong code for example.
func (s *session) returnProof(p *freshProof) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p != nil {
		s.proof = p
	}
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

// marked is the session with a mark, nil if there is none.
func (ss *logins) marked(mark string) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.sweep(ss.now())
	for _, s := range ss.all {
		if s.mark() == mark {
			return s
		}
	}
	return nil
}

// replace ends a session and gives another one of the same person what the pages of the first one showed of answers.
func (ss *logins) replace(old, by *session) {
	old.mu.Lock()
	given := slices.Clone(old.answered)
	old.mu.Unlock()
	by.mu.Lock()
	by.answered = given
	by.mu.Unlock()
	ss.end(old)
}

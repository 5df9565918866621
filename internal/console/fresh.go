package console

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
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

package console

import (
	"cmp"
	"slices"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// pending lists what a person may answer, oldest first.
func (c questions) pending(s *session) []*asked {
	var list []*asked
	open := s.seat.Pending()
	c.shown.mu.Lock()
	defer c.shown.mu.Unlock()
	kept := map[string]*asked{}
	for _, o := range open {
		a := c.shown.all[o.Request.ID]
		if a == nil || a.Digest != o.Request.Digest {
			a = describe(o)
		}
		kept[a.ID] = a
		if c.may(s.person, o.Request.Principal) {
			now := *a
			now.Expires = o.Request.Deadline()
			now.Provider = c.provider()
			if s.needsSignIn(o.Request) {
				now.Proven = s.proven(now.ID, now.Digest, c.logins.now())
				now.NeedsSignIn = now.Proven.IsZero()
			}
			if c.accounts.Upstreams != nil && o.Request.Kind() == "account" && o.Request.Principal == s.person {
				now.Connect = o.Request.Server
			}
			now.Own = o.Own
			list = append(list, &now)
		}
	}
	c.shown.all = kept
	s.lists(list...)
	slices.SortStableFunc(list, func(a, b *asked) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Call, b.Call))
	})
	return list
}

// find returns one question that a person may answer, nil if there is none.
func (c questions) find(s *session, id string) *asked {
	for _, a := range c.pending(s) {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// mostListed bounds the questions that a session remembers to have shown.
const mostListed = 500

// lists remembers that a page of the session shows open questions.
func (s *session) lists(all ...*asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listed == nil || len(s.listed) > mostListed {
		s.listed = map[string]*prompt.Request{}
	}
	for _, a := range all {
		s.listed[a.ID] = a.request
	}
}

// leaves forgets a question, because the session answers it.
func (s *session) leaves(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listed, id)
}

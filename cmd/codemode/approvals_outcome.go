package main

import (
	"context"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// outcome waits until the record says how a call ended that a person allowed, and says it in a few words.
func (s *summoner) outcome(ctx context.Context, r *prompt.Request) string {
	s.mu.Lock()
	e := s.evaluator
	s.mu.Unlock()
	if e == nil {
		return ""
	}
	return e.Record().Outcome(ctx, r)
}

package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode"
)

const (
	searchLimit    = 20
	maxSearchLimit = 200
	maxSummary     = 200 // runes of a description in a list
)

// check tells what a program would do. Its profile decides nothing, so a model
// may name any that is offered here.
func (s *Server) check(ctx context.Context, a arguments) (string, error) {
	code, err := a.text("code", true)
	if err != nil {
		return "", err
	}
	profile, err := a.text("profile", false)
	if err != nil {
		return "", err
	}
	if profile == "" {
		if offered := s.offered(); len(offered) > 0 {
			profile = offered[0]
		}
	}
	if !s.allowsProfile(profile) {
		return "", fmt.Errorf("there is no profile %q here; there are: %s", profile, strings.Join(s.runTools(), ", "))
	}
	plan, err := s.evaluator.Check(ctx, codemode.Request{Profile: profile, Code: code})
	if err != nil {
		return "", err
	}
	return plan.Text(), nil
}

func (s *Server) search(ctx context.Context, a arguments) (string, error) {
	query, err := a.text("query", false)
	if err != nil {
		return "", err
	}
	limit, err := a.number("limit", searchLimit, maxSearchLimit)
	if err != nil {
		return "", err
	}
	found, err := s.evaluator.Tools(ctx, codemode.Query{Profiles: s.offered(), Text: query, Limit: limit})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return fmt.Sprintf("no tool fits %q; an empty query lists everything", query), nil
	}
	var b strings.Builder
	for _, t := range found {
		fmt.Fprintf(&b, "%s: %s\n", t.Name, summary(t))
	}
	b.WriteString("\nget_tools gives their arguments and results.\n")
	return b.String(), nil
}

// summary is the first sentence or so of what an upstream says about its tool.
func summary(t codemode.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxSummary {
		text = string(runes[:maxSummary]) + "…"
	}
	return text
}

func (s *Server) get(ctx context.Context, a arguments) (string, error) {
	names, err := a.names("names")
	if err != nil {
		return "", err
	}
	server, err := a.text("server", false)
	if err != nil {
		return "", err
	}
	text, err := s.evaluator.Declarations(ctx, names, server, codemode.Query{Profiles: s.offered()})
	if err != nil {
		return "", err
	}
	if text == "" {
		return "no tools", nil
	}
	if len(text) > codemode.DefaultTextBytes {
		cut := strings.LastIndexByte(text[:codemode.DefaultTextBytes-200], '\n') + 1
		text = fmt.Sprintf("%s// cut: %d more bytes; ask for fewer tools by names or server\n", text[:cut], len(text)-cut)
	}
	return text, nil
}

func (s *Server) startHere(ctx context.Context, _ arguments) (string, error) {
	s.evaluator.WaitReady(ctx, listWait)
	return s.guide(), nil
}

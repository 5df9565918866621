package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/visible"
)

const (
	searchLimit    = 12
	maxSearchLimit = 200
	maxSummary     = 120 // runes of a description in a list
)

func (s *Server) search(ctx context.Context, req *mcp.CallToolRequest, a arguments) (string, error) {
	query, err := a.text("query", false)
	if err != nil {
		return "", err
	}
	byDefault := searchLimit
	if strings.TrimSpace(query) == "" {
		byDefault = maxSearchLimit
	}
	limit, err := a.number("limit", byDefault, maxSearchLimit)
	if err != nil {
		return "", err
	}
	found, err := s.evaluator.Tools(ctx, codemode.Query{Profiles: s.offered(visitorOf(req)), Principal: s.principal(req), Session: s.session(req), Text: query, Limit: limit})
	if err != nil {
		return "", err
	}
	saved := s.savedPrograms(ctx, visitorOf(req), query)
	if len(found) == 0 {
		return fmt.Sprintf("no tool fits %q; an empty query lists everything\n%s", query, saved), nil
	}
	text := foundText(found, strings.TrimSpace(query) != "")
	if len(found) == limit && limit > 1 {
		text += fmt.Sprintf("(cut: the first %d; there may be more: ask with other words, or get_tools with a server)\n", limit)
	}
	return text + saved, nil
}

// How many of the best matches are declared in full, so that a program can be
// written without asking again, and in how many bytes.
const (
	declaredMatches = 5
	declaredBytes   = 6 << 10
)

// foundText lists tools, the best matches of a search with their declarations.
func foundText(found []codemode.Tool, ranked bool) string {
	var b strings.Builder
	full := 0
	if ranked {
		for full = min(declaredMatches, len(found)); full > 0; full-- {
			if text := codemode.Declarations(found[:full]); len(text) <= declaredBytes {
				names := make([]string, full)
				for i, t := range found[:full] {
					names[i] = t.Name
				}
				fmt.Fprintf(&b, "// best first: %s\n%s", strings.Join(names, ", "), text)
				break
			}
		}
	}
	rest := found[full:]
	if full > 0 && len(rest) > 0 {
		b.WriteString("\nFurther matches; get_tools declares them:\n")
	}
	for _, t := range rest {
		fmt.Fprintf(&b, "%s: %s\n", t.Name, summary(t))
	}
	if full == 0 {
		b.WriteString("\nget_tools([name, ...]) declares their arguments and results.\n")
	}
	return b.String()
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
	return visible.Line(text)
}

func (s *Server) get(ctx context.Context, req *mcp.CallToolRequest, a arguments) (string, error) {
	names, err := a.names("names")
	if err != nil {
		return "", err
	}
	server, err := a.text("server", false)
	if err != nil {
		return "", err
	}
	text, err := s.evaluator.Declarations(ctx, names, server, codemode.Query{Profiles: s.offered(visitorOf(req)), Principal: s.principal(req), Session: s.session(req)})
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

func (s *Server) startHere(ctx context.Context, req *mcp.CallToolRequest, _ arguments) (string, error) {
	s.evaluator.WaitReady(ctx, listWait)
	return s.guide(ctx, visitorOf(req)) + s.people(req), nil
}

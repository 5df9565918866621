package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/internal/visible"
)

const (
	searchLimit    = 20
	maxSearchLimit = 200
	maxSummary     = 120 // runes of a description in a list
)

func (s *Server) search(ctx context.Context, req *mcp.CallToolRequest, a arguments) (string, error) {
	query, err := a.text("query", false)
	if err != nil {
		return "", err
	}
	limit, err := a.number("limit", searchLimit, maxSearchLimit)
	if err != nil {
		return "", err
	}
	v := visitorOf(req)
	q := s.query(req, query, limit)
	if strings.TrimSpace(query) == "" {
		q.Limit = 0
	}
	found, err := s.evaluator.Discovery().Search(ctx, q)
	if err != nil {
		return "", err
	}
	saved := s.savedPrograms(ctx, v, query)
	var servers []string
	for _, t := range found {
		if !slices.Contains(servers, t.Server) {
			servers = append(servers, t.Server)
		}
	}
	if strings.TrimSpace(query) == "" {
		return s.overview(req, nil) + allText(found) + saved, nil
	}
	if len(found) == 0 {
		return fmt.Sprintf("no tool fits %q; an empty query lists everything\n%s%s", query, saved, s.overview(req, nil)), nil
	}
	return s.overview(req, servers) + foundText(found) + saved, nil
}

// declaredBytes is how much of an answer declares tools, so that a program can be written without asking again.
const declaredBytes = 5 << 10

// foundText declares the best matches of a search, as many as there is room for, and names the others.
func foundText(found []*catalog.Tool) string {
	text, left := catalog.Brief(found, declaredBytes)
	var b strings.Builder
	b.WriteString(text)
	if len(left) > 0 {
		b.WriteString("\nget_tools declares these too:\n")
	}
	for _, t := range left {
		fmt.Fprintf(&b, "%s: %s\n", t.Name, summary(t))
	}
	return b.String()
}

// allText declares all tools, if there is room for them, or else names them, server by server.
func allText(all []*catalog.Tool) string {
	if text, left := catalog.Brief(all, declaredBytes); len(left) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString("Tools by server; search_tools with words declares those that fit, get_tools those of a name or a server:\n")
	server, room := "", declaredBytes
	for i, t := range all {
		name := ", " + t.Name
		if t.Server != server {
			server = t.Server
			name = "\n- " + t.Name
		}
		if room -= len(name); room < 0 {
			fmt.Fprintf(&b, "\n(%d more; search with words)", len(all)-i)
			break
		}
		b.WriteString(strings.TrimPrefix(name, "\n"[:min(1, max(0, 1-i))]))
	}
	return b.String() + "\n"
}

// summary is the first sentence or so of what an upstream says about its tool.
func summary(t *catalog.Tool) string {
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
	text, err := s.evaluator.Discovery().Declarations(ctx, names, s.query(req, "", 0))
	if err != nil {
		return "", err
	}
	if text == "" {
		return "no tools", nil
	}
	if len(text) > inforce.DefaultTextBytes {
		cut := strings.LastIndexByte(text[:inforce.DefaultTextBytes-200], '\n') + 1
		text = fmt.Sprintf("%s// cut: %d more bytes; ask for fewer tools\n", text[:cut], len(text)-cut)
	}
	return text, nil
}

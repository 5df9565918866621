package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
)

const (
	searchLimit    = foundTools + 38
	maxSearchLimit = 200
)

var (
	searchSchema = newSchema(`{"type":"object","properties":{"query":{"type":"string","description":"what the task needs, ` +
		`with commas, also in its author's words, and the server: roll a die, random integer"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":200,"default":43}},"additionalProperties":false}`)
	getSchema = newSchema(`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"description":"of tools (fs__read_file) or servers (fs)"}},` +
		`"additionalProperties":false}`)
)

// searchTool finds tools, and getTool declares tools by name.
func (s *toolset) searchTool() *tool {
	return &tool{
		Tool: mcp.Tool{
			Name: searchToolName,
			Description: "Start here: finds the tools for a task and declares the best in TypeScript, with what the rules " +
				"say. Without a query it names all tools.",
			Annotations: readOnly(),
		},
		schema: searchSchema, serve: s.search,
	}
}

const searchToolName, getToolName = "search_tools", "get_tools"

func (s *toolset) getTool() *tool {
	return &tool{
		Tool: mcp.Tool{
			Name:        getToolName,
			Description: "Declares tools by name or server, with all that their servers say.", Annotations: readOnly(),
		},
		schema: getSchema, serve: s.get,
	}
}

func (s *toolset) search(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
	limit, everything := searchLimit, strings.TrimSpace(a.Query) == ""
	switch {
	case everything:
		limit = 0
	case a.Limit != nil:
		limit = min(*a.Limit, maxSearchLimit)
	}
	v, err := s.exposed.viewOf(c.request)
	if err != nil {
		return nil, err
	}
	q := s.exposed.query(c.from, a.Query, limit)
	saved := ""
	if v.single() {
		q.Profiles = []string{v.profile}
	} else {
		saved = s.savedPrograms(ctx, c.from.reach, a.Query)
	}
	found, err := s.evaluator.Discovery().Search(ctx, q)
	if err != nil {
		return nil, err
	}
	var servers []string
	for _, t := range found {
		if !slices.Contains(servers, t.Server) {
			servers = append(servers, t.Server)
		}
	}
	switch {
	case everything:
		return textOf(s.overview(c, v, nil) + allText(found, v) + saved), nil
	case len(found) == 0:
		return textOf(fmt.Sprintf("no tool fits %q; an empty query lists everything\n%s%s", a.Query, saved,
			s.overview(c, v, nil))), nil
	}
	if s.evaluator.Tools().Catalog.Weak(a.Query) {
		return textOf("No tool fits these words well: say them in another way, or look at the servers.\n" +
			s.overview(c, v, nil) + foundText(found, 1+strings.Count(a.Query, ","), v) + saved), nil
	}
	return textOf(s.overview(c, v, servers) + foundText(found, 1+strings.Count(a.Query, ","), v) + saved), nil
}

// An answer declares the best tools, and names others: with declarations a model can write a program without another
// request, and more of them cost more than the request.
const (
	foundTools    = 5 // at most, for a query without commas; there is room for about three
	foundBytes    = 2 << 10
	declaredBytes = 5 << 10 // where all tools are declared, and at most
)

// foundText declares the best matches of a search for so many needs, and names the others, server by server.
func foundText(found []*catalog.Tool, needs int, v view) string {
	best := found[:min(len(found), max(foundTools, needs+2))]
	text, left := catalog.Brief(best, min(max(foundBytes, needs*foundBytes/3), declaredBytes))
	left = append(left, found[len(best):]...)
	if len(left) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	if v.single() {
		b.WriteString("\nMore that may fit; search for a name to see its declaration:\n")
	} else {
		b.WriteString("\nMore that may fit; get_tools declares them:\n")
	}
	names := map[string][]string{}
	var servers []string
	for _, t := range left {
		if names[t.Server] == nil {
			servers = append(servers, t.Server)
		}
		names[t.Server] = append(names[t.Server], t.Name)
	}
	for _, server := range servers {
		fmt.Fprintf(&b, "- %s\n", strings.Join(names[server], ", "))
	}
	return b.String()
}

// allText declares all tools if there is room, or else names them, server by server.
func allText(all []*catalog.Tool, v view) string {
	if text, left := catalog.Brief(all, declaredBytes); len(left) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString("Tools by server; search_tools with words declares those that fit")
	if !v.single() {
		b.WriteString(", get_tools those of a name or a server")
	}
	b.WriteString(":\n")
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

func (s *toolset) get(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
	text, err := s.evaluator.Discovery().Declarations(ctx, a.Names, s.exposed.query(c.from, "", 0))
	if err != nil {
		return nil, err
	}
	text = cmp.Or(text, "no tools")
	if most := inforce.TextBytes(clientName(c.request)); len(text) > most {
		cut := strings.LastIndexByte(text[:most-200], '\n') + 1
		text = fmt.Sprintf("%s// cut: %d more bytes; ask for fewer tools\n", text[:cut], len(text)-cut)
	}
	return textOf(text), nil
}

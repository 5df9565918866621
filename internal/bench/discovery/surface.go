package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/tokens"
)

// A Surface is what a model sees of a product before it writes a program: the tools, a text that its makers put before
// them, and what it reads in a request of its own to learn of the domain's tools.
type Surface struct {
	name, domain string // domain: for this one only; "" is for all
	Tools        []declaration
	Prompt       string
	Discovery    string
}

// A declaration is what a model sees of one tool.
type declaration struct {
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Name        string          `json:"name"`
}

// ParseSurface reads a surface of another product from a file: an object with tools, prompt and discovery, the last two
// of which may be missing. The name may end in a colon and the domain that it is for.
func ParseSurface(name string, text []byte) (*Surface, error) {
	s := &Surface{}
	s.name, s.domain, _ = strings.Cut(name, ":")
	err := json.Unmarshal(text, s)
	if err == nil && len(s.Tools) == 0 {
		err = errors.New("it has no tools")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the surface %s: %w", name, err)
	}
	return s, nil
}

// surfaceOf is what a model sees of a server.
func surfaceOf(ctx context.Context, c *mcp.ClientSession) (*Surface, error) {
	s := &Surface{}
	for t, err := range c.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		s.Tools = append(s.Tools, declaration{t.Description, json.RawMessage(literal(t.InputSchema)), t.Name})
	}
	if len(s.Tools) == 0 {
		return nil, errors.New("the server has no tools")
	}
	return s, nil
}

// tokens counts what is in every request.
func (s *Surface) tokens() int {
	n := tokens.Count(s.Prompt)
	for _, t := range s.Tools {
		n += tokens.Count(literal(map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.Input}))
	}
	return n
}

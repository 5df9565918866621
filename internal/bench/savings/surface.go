package savings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/internal/tokens"
)

// A Declaration is what a model sees of one tool.
type Declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
}

// A Surface is what a model sees of a product before it writes a program: the tools, a text that its makers put before
// them, and what it reads in a request of its own to learn of the domain's tools.
type Surface struct {
	Name      string        `json:"-"`
	Tools     []Declaration `json:"tools"`
	Prompt    string        `json:"prompt"`
	Discovery string        `json:"discovery"`
}

// ParseSurface reads a surface of another product from a file: an object with tools, prompt and discovery, the last two
// of which may be missing.
func ParseSurface(name string, text []byte) (*Surface, error) {
	s := &Surface{Name: name}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("reading the surface %s: %w", name, err)
	}
	if len(s.Tools) == 0 {
		return nil, fmt.Errorf("reading the surface %s: %w", name, errors.New("it has no tools"))
	}
	return s, nil
}

// tokens counts what is in every request.
func (s *Surface) tokens() int {
	n := tokens.Count(s.Prompt)
	for _, t := range s.Tools {
		var schema bytes.Buffer
		if json.Compact(&schema, t.Input) != nil {
			schema.Write(t.Input)
		}
		text, err := json.Marshal(map[string]any{"name": t.Name, "description": t.Description,
			"input_schema": json.RawMessage(schema.Bytes())})
		if err != nil {
			text = fmt.Append(nil, t.Name, t.Description, schema.String())
		}
		n += tokens.Count(string(text))
	}
	return n
}

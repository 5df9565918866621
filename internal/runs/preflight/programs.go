package preflight

import (
	"context"
	"fmt"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/fair"
)

// maxReading is how many programs of one owner wait to be compiled.
const maxReading = 256

// Programs compiles programs before they run.
type Programs struct {
	turns  *fair.Budget // bounds how many are compiled at once
	Reader analysis.Reader
}

// NewPrograms returns Programs that compile as many programs at once as there may be workers.
func NewPrograms() *Programs {
	return &Programs{turns: fair.New("programs that are read at once", int64(analysis.MostWorkers()), maxReading)}
}

// Reading returns how many programs are read at this moment, and how many wait for that.
func (p *Programs) Reading() fair.Use { return p.turns.Use() }

// Read compiles a program. It waits for its owner's turn.
func (p *Programs) Read(ctx context.Context, owner, name, code string) (*analysis.Program, []analysis.Problem, error) {
	if err := p.turns.Acquire(ctx, owner, 1); err != nil {
		return nil, nil, fmt.Errorf("not started: %w", err)
	}
	defer p.turns.Release(owner, 1)
	return p.Reader.Compile(ctx, name, code)
}

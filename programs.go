package codemode

import (
	"context"
	"fmt"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/fair"
)

// maxReading is how many programs of one owner wait to be compiled.
const maxReading = 256

// programs reads programs before they run.
type programs struct {
	turns  *fair.Budget // those that are read at once
	reader analysis.Reader
}

func newPrograms() *programs {
	return &programs{turns: fair.New("programs that are read at once", int64(analysis.MostWorkers()), maxReading)}
}

// read compiles a program, when it is its owner's turn.
func (p *programs) read(ctx context.Context, owner, name, code string) (*analysis.Program, []analysis.Problem, error) {
	if err := p.turns.Acquire(ctx, owner, 1); err != nil {
		return nil, nil, fmt.Errorf("not started: %w", err)
	}
	defer p.turns.Release(owner, 1)
	return p.reader.Compile(ctx, name, code)
}

package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/sandbox"
)

// A Prepared is a program that was read once and runs many times. It keeps nothing else of its runs: each one is
// decided by the rules of its moment, is recorded, and has its own name. Many goroutines may use it.
type Prepared struct {
	executor   *Executor
	request    Request
	name, code string // of the program that was read; a saved one has them from its file
	program    *analysis.Program
}

// Prepare reads the program of a request and runs nothing. The error says why no run would begin: [analysis.Problems],
// a [*sandbox.Error] for a text that is too long, or what is wrong with the profile.
func (e *Executor) Prepare(ctx context.Context, r Request) (*Prepared, error) {
	p := &Prepared{executor: e, request: r}
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	if limits, _ := e.rules.Limits(policy.Profile(), r.Client); tooLong(r.Code, limits) != nil {
		return nil, tooLong(r.Code, limits)
	}
	program, problems, err := e.read(ctx, &r, nil)
	if err == nil && len(problems) > 0 {
		err = analysis.Problems(problems)
	}
	if err != nil {
		return nil, err
	}
	p.name, p.code, p.program = r.file(), r.Code, program
	return p, nil
}

// Run runs the program with an input in JSON, which it sees as `input`; nil is undefined. Changes are made to the
// request of this run, such as an idempotency key of its own. Results and errors are those of Evaluator.Eval. A saved
// program runs as its file is now.
func (p *Prepared) Run(ctx context.Context, input json.RawMessage, changes ...func(*Request)) (*Response, error) {
	e := p.executor
	if err := e.life.Enter(); err != nil {
		return &Response{}, err
	}
	defer e.life.Running.Done()
	r := p.request
	r.Input = input
	for _, change := range changes {
		change(&r)
	}
	response, err := e.eval(ctx, r, p)
	if response == nil {
		response = &Response{}
	}
	return response, err
}

// read returns the program of a request, which may have been read before.
func (e *Executor) read(ctx context.Context, r *Request, p *Prepared) (*analysis.Program, []analysis.Problem, error) {
	if p != nil && p.code == r.Code && p.name == r.file() {
		return p.program, nil, nil
	}
	program, problems, err := e.programs.Read(ctx, r.Owner(), r.file(), r.Code)
	if err == nil && len(problems) == 0 {
		problems = program.Nothing(r.file(), r.Session != "")
	}
	return program, problems, err
}

// file is the name of the program in problems and stacks.
func (r *Request) file() string { return cmp.Or(r.Name, "program.ts") }

// tooLong returns the error for a text beyond the limit, nil for others.
func tooLong(code string, limits sandbox.Limits) error {
	if len(code) <= limits.ProgramBytes {
		return nil
	}
	return &sandbox.Error{Kind: sandbox.Refused,
		Message: fmt.Sprintf("the program has %d bytes, the limit is %d", len(code), limits.ProgramBytes)}
}

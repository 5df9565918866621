package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// leastWait is long enough to look a run up.
const leastWait = time.Second

var collectSchema = newSchema(`{"type":"object","properties":{"run":{"type":"string"},"wait":{"type":"integer"}},` +
	`"required":["run"],"additionalProperties":false}`)

// collectTool gives the results of runs that outlasted their calls.
func (s *toolset) collectTool() *tool {
	return &tool{
		Tool: mcp.Tool{
			Name: collectToolName, Annotations: readOnly(),
			Description: "Waits, up to wait seconds, for a run that was not over.",
		},
		schema: collectSchema, serve: s.collect,
	}
}

// collect waits for the result of a run. It answers no question: whoever collects has no channel.
func (s *toolset) collect(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
	wait := max(leastWait, s.exposed.returnAfter(c.request))
	if a.Wait != nil {
		wait = max(leastWait, min(wait, time.Duration(*a.Wait)*time.Second))
	}
	if h := httpRequestOf(c.request); h != nil {
		h.endTurn()
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	again := textOf(a.Run + ": not over. Collect again.")
	if one := s.detached.of(a.Run, c.from.principal); one != nil {
		select {
		case <-one.done:
			return one.result, nil
		case <-ctx.Done():
			return again, nil
		}
	}
	response, err := s.evaluator.Runs().Reattach(ctx, a.Run, codemode.Request{Principal: c.from.principal})
	switch {
	case errors.Is(err, codemode.ErrNoRun):
		return nil, fmt.Errorf("%.80q: %w", a.Run, err)
	case response == nil && ctx.Err() != nil:
		return again, nil
	case response == nil:
		return nil, err
	}
	return s.answer(c, response, err), nil
}

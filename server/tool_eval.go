package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/inforce"
)

// sessionArguments are those of a tool that runs programs, where there are sessions.
const sessionArguments = `"session":{"type":"string"},"sessionWait":{"type":"boolean"},`

var (
	evalSchema, evalSchemaInSession = newSchemas(`{"type":"object","properties":{"code":{"type":"string"},"input":{"description":"any JSON, the program's input"},%s`+
		`"preflight":{"type":"string"},"listCalls":{"type":"boolean","description":"list each call in the answer"},`+
		`"role":{"type":"string"}},"required":["code"],"additionalProperties":false}`,
		`"session":{"type":"string"},"sessionWait":{"type":"boolean","description":"wait for another program in it"},`)
	// moreSchema is evalSchema for tools that refer to the first one.
	moreSchema, moreSchemaInSession = newSchemas(`{"type":"object","properties":{"code":{"type":"string"},"input":{},%s"preflight":{"type":"string"},"listCalls":{"type":"boolean"},`+
		`"role":{"type":"string"}},"required":["code"],"additionalProperties":false}`, sessionArguments)
)

// evalTool runs programs under one profile, "" for the base tool. The profile is bound here: nothing in a request can
// change it.
func (s *toolset) evalTool(profile string) *tool {
	title := "Run a program"
	if profile != "" {
		title += " (" + profile + ")"
	}
	description, digest := s.exposed.describe(everyProfile, profile), ""
	if cfg := s.evaluator.Config(); cfg != nil && cfg.Profile(profile) != nil {
		digest = cfg.Profile(profile).Digest()
	}
	t := &tool{
		Tool: mcp.Tool{
			Name: evalName(profile), Title: title, Description: description,
			Annotations: s.exposed.powers(profile),
			Meta:        mcp.Meta{"anthropic/maxResultSizeChars": inforce.LargestTextBytes},
		},
		schema: s.exposed.either(evalSchema, evalSchemaInSession), digest: digest + description, asks: always,
		serve: func(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
			r, err := s.request(c, a)
			if err != nil {
				return nil, err
			}
			r.Profile, r.Code = profile, a.Code
			return s.run(ctx, c, r)
		},
	}
	if slices.Index(s.exposed.listed(everyProfile), profile) > 0 {
		t.schema = s.exposed.either(moreSchema, moreSchemaInSession)
	}
	return t
}

// run runs a program for the client of a call.
func (s *toolset) run(ctx context.Context, c *conversation, r codemode.Request) (*mcp.CallToolResult, error) {
	c.asksFor(&r)
	if s.options.Trace != nil {
		ctx = s.options.Trace(ctx, r.Caller.Meta)
	}
	if _, task := c.elicitor.(*taskForms); task || r.IdempotencyKey == "" { // with a key the client comes back by itself
		return s.runWithin(ctx, s.exposed.returnAfter(c.request), c, r), nil
	}
	response, err := c.evaluate(ctx, r)
	return s.answer(c, response, err), nil
}

// answer is what a client gets of a run.
func (s *toolset) answer(c *conversation, response *codemode.Response, err error) *mcp.CallToolResult {
	if response == nil {
		return failed(err)
	}
	if x, ok := c.elicitor.(*exchange); ok && response.Run != "" && errors.Is(err, approvals.ErrLeaving) {
		return x.handOver(response.Run)
	}
	if _, task := c.elicitor.(*taskForms); task && errors.Is(err, approvals.ErrLeaving) {
		return nil // the task goes on in another process
	}
	if c.single != nil {
		return c.single.result(response, err)
	}
	result := textOf(response.Text(err))
	result.IsError = err != nil
	for _, b := range response.Blocks {
		content, err := contentOf(b.JSON)
		if err != nil {
			s.log.Warn("a block of an upstream's answer cannot be passed on", "run", response.Run, "handle", b.Handle, "error",
				err)
			continue
		}
		result.Content = append(result.Content, content)
	}
	return result
}

// runWithin runs a program for a client that waits so long and no longer, or that takes a task for what takes longer.
func (s *toolset) runWithin(ctx context.Context, wait time.Duration, c *conversation,
	r codemode.Request) *mcp.CallToolResult {
	slot, _ := ctx.Value(taskSlotKey{}).(*taskSlot)
	forms, task := c.elicitor.(*taskForms)
	opened := make(chan struct{})
	if task {
		wait, opened = min(wait, taskAfter), forms.opened
		if r.IdempotencyKey == "" && s.evaluator.Record().Keeps() { // so that other processes know the task
			r.IdempotencyKey = "task-" + rand.Text()
		}
	}
	one, began := s.detach(ctx, c, r)
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		select {
		case <-one.done:
			if one.result == nil {
				slot.created = one.task(<-began)
				return &mcp.CallToolResult{}
			}
			return one.result
		case <-ctx.Done():
			one.end(context.Cause(ctx))
			<-one.done
			return one.result
		case <-opened:
		case <-late.C:
		}
		run := ""
		if (task || c.waiting.Load() == nil) && len(began) > 0 { // while its form is open, the client waits for its person
			run = <-began
		}
		if run != "" && s.detached.add(run, one) {
			go s.detached.dropLater(run, one)
			if task {
				slot.created = one.task(run)
				return &mcp.CallToolResult{}
			}
			c.answered.Store(true)
			return textOf(fmt.Sprintf("Not over yet: run %s is %s. Do not run the program again: %s {\"run\": %q} waits "+
				"for its result.", run, one.state(), collectToolName, run))
		}
		late.Reset(time.Second)
		if run != "" {
			began <- run
		}
	}
}

// detach runs a program beside its call. The name of the run comes from began when it has begun.
func (s *toolset) detach(ctx context.Context, c *conversation, r codemode.Request) (one *detached, began chan string) {
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	one, began = newDetached(r.Principal, c, end), make(chan string, 1)
	r.Caller.Began = func(run string) { began <- run }
	s.work.begin()
	go func() {
		defer s.work.end()
		runs.GrowStack()
		one.finish(s.surviving(func(ctx context.Context, c *conversation) *mcp.CallToolResult {
			response, err := c.evaluate(ctx, r)
			return s.answer(c, response, err)
		})(running, c))
	}()
	return one, began
}

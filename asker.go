package codemode

import (
	"context"
	"slices"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/hostfns"
)

// asker puts the questions of one run to people over the channels that the
// run's caller has.
type asker struct {
	e        *Evaluator
	policy   *policy
	channels []approvals.Channel
	preview  approvals.Preview

	waited time.Duration // in all; the Gate asks one question of a run at a time
}

func preview(p *analysis.Program) approvals.Preview {
	v := approvals.Preview{Dynamic: len(p.Dynamic) > 0}
	for _, c := range p.Calls {
		v.Calls = append(v.Calls, approvals.PreviewCall{Name: c.Name, Line: c.Line, Column: c.Column})
	}
	return v
}

func (a *asker) Ask(ctx context.Context, q *hostfns.Question) hostfns.Answer {
	profile := a.policy.profile()
	if profile == nil {
		return hostfns.Answer{How: "none", Code: approvals.CodeNoApprover}
	}
	asking, redact := profile.Ask(), profile.Redact()
	channels := slices.Clone(a.channels)
	if len(asking.Channels) > 0 {
		channels = slices.DeleteFunc(channels, func(c approvals.Channel) bool { return !slices.Contains(asking.Channels, c.Name()) })
	}
	timeout := q.Decision.AskTimeout
	if timeout <= 0 {
		timeout = approvals.DefaultTimeout
	}
	if asking.Budget > 0 {
		timeout = min(timeout, asking.Budget-a.waited)
		if timeout <= 0 {
			return hostfns.Answer{How: "none", Code: approvals.CodeTimeout, Detail: "this run has used up the time that people give it"}
		}
	}
	now := time.Now()
	defer a.e.asks.begin(now)()
	answer := a.e.desk.Ask(ctx, &approvals.Request{
		Server: q.Tool.Server, Tool: q.Tool.Raw, Name: q.Tool.Name,
		Profile: q.Profile, Risk: q.Decision.Risk, Rule: q.Decision.Rule, Reasons: q.Decision.Reasons,
		Args: q.Args, Title: q.Tool.Title, Description: q.Tool.Description,
		Preview: a.preview, Code: approvals.NewCode(),
		Run: q.Run, Call: q.Call, Time: now,
		Display: approvals.Display{Keys: redact.Keys, Pointers: redact.Pointers},
	}, channels, approvals.Options{Timeout: timeout, Fallback: q.Decision.Fallback, MinHuman: asking.MinHuman})
	a.waited += answer.Took
	if answer.Code == approvals.CodeUnsupported && len(channels) == 0 {
		answer.Code, answer.Detail = approvals.CodeNoApprover, "it needs a person's approval and there is nobody to ask"
	}
	return hostfns.Answer{
		Allowed: answer.Allowed, How: answer.How, Channel: answer.Channel,
		Code: answer.Code, Reason: answer.Reason, Detail: answer.Detail, Took: answer.Took,
	}
}

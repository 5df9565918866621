package asking

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
)

// Probe puts a test question over one channel, to find out whether it reaches a
// person, and says what became of it. A channel that is none of
// the channels of all requests is one that other processes have, which share this one's
// store. Nothing is allowed by an answer.
func (w *People) Probe(ctx context.Context, channel, principal string, wait time.Duration) (approvals.Answer, error) {
	var over approvals.Channel = otherProcess(channel)
	for _, c := range w.Channels {
		if c.Name() == channel {
			over = c
		}
	}
	inquiry := &prompt.Inquiry{
		Header: "Test", Question: "codemode doctor asks whether questions reach a person here. Do you see this?",
		Options: []prompt.Option{{Label: "Yes, I see it"}},
	}
	args, _ := json.Marshal(inquiry) // strings always can be
	r := &prompt.Request{
		Name: prompt.InquiryTool, Tool: prompt.InquiryTool, Inquiry: inquiry, Args: args, Risk: call.Low,
		Principal: principal, Code: prompt.NewCode(), Run: hostfns.NewRunID(), Time: time.Now(),
	}
	entry := hostfns.Entry{
		Time: time.Now(), Kind: hostfns.KindAsked, Run: r.Run, Principal: principal, Client: "codemode doctor",
		Tool: r.Name, Verdict: call.Ask.String(), Risk: string(r.Risk), Proposed: call.Unread(args), Shown: call.Unread(args),
	}
	if err := w.Record.To.Record(ctx, entry); err != nil {
		return approvals.Answer{}, err
	}
	got := w.Desk.Ask(ctx, r, []approvals.Channel{over}, approvals.Options{Timeout: wait, MinHuman: approvals.DefaultMinHuman})
	entry.Time, entry.Kind, entry.Reason = time.Now(), hostfns.KindAnswer, cmp.Or(got.Code, answered)
	entry.Proposed, entry.Shown = call.Arguments{}, call.Arguments{}
	entry.DecidedBy, entry.Channel, entry.By, entry.Waited = got.How, got.Channel, got.By, got.Took
	return got, w.Record.To.Record(context.WithoutCancel(ctx), entry)
}

// otherProcess is a channel of other processes: its people see the question in the store.
type otherProcess string

func (c otherProcess) Name() string   { return string(c) }
func (c otherProcess) Inquires() bool { return true }
func (c otherProcess) Ask(ctx context.Context, _ *prompt.Request) (prompt.Reply, error) {
	<-ctx.Done()
	return prompt.Reply{}, context.Cause(ctx)
}

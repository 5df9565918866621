package asking

import (
	"context"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/hostfns"
)

// Probe asks a test question over one channel, to find out whether it reaches a person, and reports the result. If the
// channel is not one of the channels of all requests, it is a channel of other processes that share this one's store.
// The answer allows nothing, and is not in the record: nobody asked for a call.
func (p *People) Probe(ctx context.Context, channel, principal string, wait time.Duration) approvals.Result {
	var over approvals.Channel = elsewhere(channel)
	for _, c := range p.Channels {
		if c.Name() == channel {
			over = c
		}
	}
	r := newInquiry(&prompt.Inquiry{
		Header: "Test", Question: "codemode doctor asks whether questions reach a person here. Do you see this?",
		Options: []prompt.Option{{Label: "Yes, I see it"}},
	}, principal, hostfns.NewRunID())
	return p.Desk.Ask(ctx, r, []approvals.Channel{over}, approvals.Options{Timeout: wait,
		MinHuman: approvals.DefaultMinHuman})
}

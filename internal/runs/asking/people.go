package asking

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/approvals/notify"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/profiles"
)

// People holds the channels to people, and what people have allowed.
type People struct {
	Log      *slog.Logger
	Rules    *inforce.Rules
	Tools    *registry.Registry
	Record   *recorder.Recorder
	Desk     *approvals.Desk
	Grants   *Grants
	Channels []approvals.Channel // in addition to those of each request
	Notifier *notify.Notifier    // tells people of questions; may be nil
}

// A Client is the requester on whose behalf people are asked.
type Client struct {
	Principal, Session, Name string
	Channels                 []approvals.Channel // that reach people, in addition to those of all requests
	Caller                   *registry.Caller    // waits for the run; may be nil
	Code                     string              // of the program, if there is one
}

// A Prompter asks people the questions of one run, over the channels of the run's client and those of all requests.
type Prompter struct {
	people    *People
	policy    *inforce.Policy
	principal string
	session   string
	client    string
	caller    *registry.Caller // learns that people are asked; may be nil
	turn      chan struct{}    // holds an element while a question of the run is open
	channels  []approvals.Channel

	preview    prompt.Preview
	program    *analysis.Program         // nil for a question without a run
	hash       string                    // of the program's text
	Provenance *Provenance               // where the arguments of calls come from
	Display    map[string]prompt.Display // by tool: limits on the arguments shown; nil for none

	// For a run that waits for people, see package runs.
	Claim     func(ctx context.Context, calls []int) error // makes the run this process's before an answer counts
	Leaving   func() bool                                  // reports whether another process takes over the run
	TakenOver bool                                         // the run began in another process, and people everywhere see it
	Before    map[int]*prompt.Request                      // by call: what another process asked; under mu
	mu        sync.Mutex

	asked   bool        // the run has asked a question; only the first one offers the plan
	planned atomic.Bool // the plan was given
	ahead   sync.Mutex
	looked  bool // approvals from before the run were read; under ahead

	Put      atomic.Bool // a question was put
	Patience Patience
}

// Prompter returns a Prompter for one run or, without a program, for one question.
func (p *People) Prompter(c *Client, policy *inforce.Policy, program *analysis.Program) *Prompter {
	a := &Prompter{
		people: p, policy: policy, principal: c.Principal, session: c.Session, client: c.Name, caller: c.Caller,
		turn: make(chan struct{}, 1), Provenance: &Provenance{}, channels: append(slices.Clone(c.Channels), p.Channels...),
	}
	if program == nil {
		return a
	}
	a.program, a.hash = program, inforce.ProgramHash(c.Code)
	a.preview.Dynamic = len(program.Dynamic) > 0
	for _, c := range program.Calls {
		a.Provenance.Written(c.Args)
		if c.Outline != nil {
			a.Provenance.Written(c.Outline.Shown)
		}
		if !c.Host || c.How != analysis.Value { // else a server that is passed on: dynamic, and no call
			a.preview.Calls = append(a.preview.Calls, prompt.PreviewCall{Name: c.Name, Line: c.Line, Column: c.Column})
		}
	}
	return a
}

// channelsFor returns the channels that a profile permits.
func (a *Prompter) channelsFor(asking profiles.Asking) []approvals.Channel {
	return permitted(a.channels, asking.Channels)
}

func permitted(all []approvals.Channel, names []string) []approvals.Channel {
	channels := slices.Clone(all)
	if names != nil { // an empty list permits none
		channels = slices.DeleteFunc(channels, func(c approvals.Channel) bool {
			return !slices.Contains(names, c.Name())
		})
	}
	return channels
}

// expects reports whether absent people may still come to a channel for a question with that profile and risk: because
// they are told of the question and of a page where they can answer it; because the caller waits for them; or where
// they are expected anyway, unless the profile itself says what happens when nobody is there.
func (a *Prompter) expects(channels []approvals.Channel, profile string, risk call.Risk) bool {
	if onPage(channels) && a.people.Notifier != nil && a.people.Notifier.Reaches(profile, risk) {
		return true
	}
	p := a.policy.Profile()
	return a.patience() > 0 && len(approvals.Places(channels, risk)) > 0 || expects(channels, p != nil && p.SaysFallback())
}

// patience is how long the caller wants questions to wait; zero is what the profile says.
func (a *Prompter) patience() time.Duration {
	if a.caller == nil {
		return 0
	}
	return a.caller.Patience
}

// onPage reports whether a question can be answered on a page, of any process.
func onPage(channels []approvals.Channel) bool {
	return slices.ContainsFunc(channels, func(c approvals.Channel) bool {
		q, ok := c.(*approvals.Queue)
		return ok && q.Strong()
	})
}

// nobodyThere says that nobody can be asked, and who could answer: for calls, questions and plans.
func nobodyThere(channels []approvals.Channel, risk call.Risk) string {
	if len(approvals.Places(channels, call.Low)) == 0 {
		return "there is no means of asking one here"
	}
	return "nobody is there to ask: no form can be shown here. " + whoAnswers(channels, risk) +
		"; then run the program again"
}

func whoAnswers(channels []approvals.Channel, risk call.Risk) string {
	return approvals.WhoAnswers(approvals.Places(channels, risk), risk)
}

// Places are where people answer questions of a risk beside the forms of a client, over the channels that one of the
// lists permits; a nil list permits all.
func (p *People) Places(risk call.Risk, permits ...[]string) (where []string) {
	for _, list := range permits {
		for _, place := range approvals.Places(permitted(p.Channels, list), risk) {
			if !slices.Contains(where, place) {
				where = append(where, place)
			}
		}
	}
	return where
}

// expects reports whether absent people may still come to a channel, whatever the question. People in other processes
// see the questions of a run that another process began. Where the profile has its fallback, nobody else is expected.
func expects(channels []approvals.Channel, fallback bool) bool {
	return slices.ContainsFunc(channels, func(c approvals.Channel) bool {
		switch c := c.(type) {
		case *approvals.Queue:
			return !fallback && (c.Expects == nil || c.Expects())
		case elsewhere:
			return true
		}
		return false
	})
}

// A Presence says how many people are reachable over a channel.
type Presence struct {
	Channel string `json:"channel"`
	Present int    `json:"present"`
}

// Present returns how many people are reachable now over the channels of all requests, without the channels of a single
// request. It leaves out channels that do not know who is there.
func (p *People) Present() []Presence {
	var all []Presence
	for _, c := range p.Channels {
		if attended, ok := c.(interface{ Present() int }); ok {
			all = append(all, Presence{c.Name(), attended.Present()})
		}
	}
	return all
}

// CheckRemoteArgs checks changed arguments for a call of another process. The process that makes the call checks and
// decides them again.
func (p *People) CheckRemoteArgs(r *prompt.Request, args json.RawMessage) error {
	t, err := p.Tools.Catalog.Find(r.Name)
	if err != nil {
		return err
	}
	if wrong := registry.ArgumentError(t.Validate(context.Background(), call.Unread(args))); wrong != nil {
		return wrong
	}
	return nil
}

// A Patience measures how long a run has had questions open to people. Simultaneous questions count once.
type Patience struct {
	mu    sync.Mutex
	Spent time.Duration
	open  int
	since time.Time // when the first of the open questions was asked
}

// begin counts a question as open until over is called.
func (p *Patience) begin() (over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open++; p.open == 1 {
		p.since = time.Now()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.open--; p.open == 0 {
			p.Spent += time.Since(p.since)
		}
	}
}

// Used is the time used so far.
func (p *Patience) Used() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open > 0 {
		return p.Spent + time.Since(p.since)
	}
	return p.Spent
}

// Together reports whether the questions of one moment share one form. They do unless the profile says otherwise.
func (a *Prompter) Together() bool {
	profile := a.policy.Profile()
	return profile != nil && (profile.Ask().Batch == nil || *profile.Ask().Batch)
}

// elsewhere represents the people who see a question in other processes: the store delivers their answer. The channel
// that took the answer there has been judged already.
type elsewhere string

func (c elsewhere) Name() string { return string(c) }
func (elsewhere) Strong() bool   { return true }
func (elsewhere) Inquires() bool { return true }

func (elsewhere) Ask(ctx context.Context, _ *approvals.Showing) (call.Answer, error) {
	<-ctx.Done()
	return call.Answer{}, context.Cause(ctx)
}

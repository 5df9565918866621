package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/owntools"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/pins"
)

// Without a profile a request has the least power: the default profile, or none at all. What nothing restricts has to
// be said.
func TestARequestWithoutAProfile(t *testing.T) {
	t.Parallel()
	const strict = `"strict": {"denylist": ["shop__*"]}`
	for _, row := range []struct {
		why, rules   string
		profile      string
		unrestricted bool
		want         string // of the price, or part of the error
	}{
		{"beside strict profiles", `{"evaluation": {"profiles": {` + strict + `}}}`, "", false, "set Profile to one of strict"},
		{"beside strict profiles, said so", `{"evaluation": {"profiles": {` + strict + `}}}`, "", true, "2.5"},
		{"under a floor", `{"evaluation": {"floor": "strict", "profiles": {` + strict + `}}}`, "", false, "set Profile"},
		{"under a floor, said so", `{"evaluation": {"floor": "strict", "profiles": {` + strict + `}}}`, "", true, `"denied"`},
		{"no profile exists", `{}`, "", false, "write a profile, or set Unrestricted"},
		{"no profile exists, said so", `{}`, "", true, "2.5"},
		{"a default", `{"evaluation": {"defaultProfile": "strict", "profiles": {` + strict + `}}}`, "", false, `"denied"`},
		{"it lifts no default", `{"evaluation": {"defaultProfile": "strict", "profiles": {` + strict + `}}}`, "", true, `"denied"`},
		{"it lifts no profile", `{"evaluation": {"profiles": {` + strict + `}}}`, "strict", true, `"denied"`},
		{"no configuration", ``, "", false, `"denied"`},
		{"no configuration, said so", ``, "", true, `"denied"`},
	} {
		e := open(t, row.rules, embeds(newShop().server()), func(o *codemode.Options) { o.Root = "" })
		const code = `return await codemode.shop.price({article: "A"}).catch(e => e.reason)`
		request := codemode.Request{Profile: row.profile, Unrestricted: row.unrestricted, Code: code}
		none := strings.Contains(row.want, " ")
		r, err := e.Eval(t.Context(), request)
		if none && (!errors.Is(err, codemode.ErrNoProfile) || !strings.Contains(r.Text(err), row.want) || r.Run != "") ||
			!none && (err != nil || string(r.Value) != row.want) {
			t.Errorf("%s: got %s, %v", row.why, r.Value, err)
		}
		_, err = e.Prepare(t.Context(), request)
		_, checked := e.Check(t.Context(), request)
		_, gated := e.Gate(owntools.Options{Profile: row.profile, Unrestricted: row.unrestricted})
		for _, err := range []error{err, checked, gated} {
			if errors.Is(err, codemode.ErrNoProfile) != none {
				t.Errorf("%s: Prepare, Check and Gate: got %v", row.why, err)
			}
		}
	}
}

// A run under the default profile does not become unrestricted when a new configuration has no default any more.
func TestARunOutlivesItsDefaultProfile(t *testing.T) {
	t.Parallel()
	accepted, err := pins.Open("")
	if err != nil {
		t.Fatal(err)
	}
	rules := inforce.NewRules(slog.New(slog.DiscardHandler), accepted)
	inForce := func(text string) {
		cfg, err := config.Parse("rules.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		rules.Replace(&inforce.State{Config: cfg, Servers: map[string]inforce.Server{}})
	}
	const first = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["shop__price"]}}}}`
	inForce(first)
	policy, _, err := rules.Prepare(t.Context(), &inforce.Wish{})
	if err != nil {
		t.Fatal(err)
	}
	verdict := func(tool string) string {
		return policy.Decide(&call.Tool{Server: "shop", Raw: tool, Name: "shop__" + tool}, call.Unread(nil),
			hostfns.Counters{}).Verdict.String()
	}
	for _, row := range []struct{ rules, price, order string }{
		{first, "allow", "deny"},
		{`{"evaluation": {"profiles": {"p": {"allowlist": ["shop__price"]}}}}`, "deny", "deny"},
		{`{}`, "deny", "deny"},
		{first, "allow", "deny"},
	} {
		inForce(row.rules)
		if price, order := verdict("price"), verdict("order"); price != row.price || order != row.order {
			t.Errorf("%s: got %s and %s, want %s and %s", row.rules, price, order, row.price, row.order)
		}
	}
}

// What goes wrong with an approver is logged with its cause, and the response says it.
func TestWhatGoesWrongWithAnApproverIsTold(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why    string
		decide func() (call.Answer, error)
		want   string
	}{
		{"an error", func() (call.Answer, error) { return call.Answer{}, errors.New("the chat is down") }, "the chat is down"},
		{"a panic", func() (call.Answer, error) { panic("no such room") }, "no such room"},
		{"a time-out of its own", func() (call.Answer, error) { return call.Answer{}, context.DeadlineExceeded },
			"deadline exceeded"},
		{"arguments that do not fit", func() (call.Answer, error) {
			return call.Answer{Allowed: true, Args: json.RawMessage(`{"article": 7}`)}, nil
		}, "article"},
		{"arguments that are no object", func() (call.Answer, error) {
			return call.Answer{Allowed: true, Args: json.RawMessage(`[`)}, nil
		}, "the arguments are not strict JSON"},
	} {
		log := &testwait.Buffer{}
		e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["shop__price"], "ask": {"edit": true}}}}}`,
			embeds(newShop().server()), func(o *codemode.Options) {
				o.Log = log.Logger()
				o.Channels = []approvals.Channel{approvals.Approver("chat",
					func(context.Context, *prompt.Request) (call.Answer, error) { return row.decide() })}
			})
		r, err := e.Eval(t.Context(), codemode.Request{Profile: "p",
			Code: `return await codemode.shop.price({article: "A"}).catch(e => e.detail)`})
		if text := r.Text(err); err != nil || !strings.Contains(text, row.want) || !strings.Contains(string(r.Value), "chat") {
			t.Errorf("%s: the response does not say %q:\n%s", row.why, row.want, text)
		}
		if got := log.String(); !strings.Contains(got, row.want) || !strings.Contains(got, "channel=chat") ||
			!strings.Contains(got, "shop__price") {
			t.Errorf("%s: the log does not say %q:\n%s", row.why, row.want, got)
		}
	}
}

// A channel that is nil is an error before anybody has to be asked.
func TestAChannelThatIsNil(t *testing.T) {
	t.Parallel()
	for _, c := range []approvals.Channel{nil, (*approvals.Queue)(nil), (*person)(nil)} {
		_, err := codemode.New(t.Context(), codemode.Options{Channels: []approvals.Channel{says(yes, nil), c}})
		if err == nil || !strings.Contains(err.Error(), "Options.Channels[1] is nil") {
			t.Errorf("New: got %v", err)
		}
		e := open(t, "")
		r, err := e.Eval(t.Context(), codemode.Request{Code: "return 1", Channels: []approvals.Channel{c}})
		if err == nil || r.Run != "" || !strings.Contains(err.Error(), "Request.Channels[0] is nil") {
			t.Errorf("Eval: got %v", err)
		}
		if _, err := e.Gate(owntools.Options{Channels: []approvals.Channel{c}}); err == nil {
			t.Error("Gate takes a nil channel")
		}
	}
}

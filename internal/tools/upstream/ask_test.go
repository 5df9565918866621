package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// Over stdio a question does not say which call it is about.
func TestQuestionsOverStdio(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "elicits"))
	questions := make(chan upstream.Question, 100)
	var asked []upstream.Question // by the last call of ask
	says := func(action string, content map[string]any) func(context.Context, *upstream.Question) (*upstream.Answer,
		error) {
		return func(_ context.Context, q *upstream.Question) (*upstream.Answer, error) {
			questions <- *q
			return &upstream.Answer{Action: action, Content: content}, nil
		}
	}
	ask := func(params string, o upstream.CallOptions) string {
		t.Helper()
		asked = nil
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r, err := m.Call(ctx, "s", "raw", json.RawMessage(`{"Result":`+params+`}`), o)
		if err != nil {
			t.Fatal(err)
		}
		for len(questions) > 0 {
			asked = append(asked, <-questions)
		}
		return string(r.Content)
	}
	const form = `{"message":"Which?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`
	for _, row := range []struct {
		name, params string
		ask          func(context.Context, *upstream.Question) (*upstream.Answer, error)
		want         string
		asked        bool
	}{
		{"a yes with its content", form, says(upstream.Accepted, map[string]any{"n": 7}),
			`\"action\":\"accept\",\"content\":{\"n\":7}`, true},
		{"a no", form, says(upstream.Declined, nil), `\"action\":\"decline\"`, true},
		{"nobody to ask is no no", form, nil, `\"action\":\"cancel\"`, false},
		{"a question that could not be put", form, func(context.Context, *upstream.Question) (*upstream.Answer, error) {
			return nil, fmt.Errorf("the client is gone")
		}, `\"action\":\"cancel\"`, false},
		{"an answer that does not fit the form", form, says(upstream.Accepted, map[string]any{"n": "seven"}), `\"error\"`,
			true},
		{"an address to open", `{"mode":"url","message":"Open","url":"https://x.invalid","elicitationId":"1"}`,
			says(upstream.Accepted, nil), `it wants a person to open \\\"https://x.invalid\\\", which is not passed on`, false},
		{"in a way that nobody knows", `{"mode":"telepathy","message":"Think"}`, says(upstream.Accepted, nil),
			"unsupported elicitation mode", false},
		{"a question without end", `{"message":"` + strings.Repeat("x", 70<<10) + `"}`, says(upstream.Accepted, nil),
			"more than 64 KiB", false},
	} {
		got := ask(row.params, upstream.CallOptions{Session: "a", Ask: row.ask})
		if !strings.Contains(got, row.want) || len(asked) > 0 != row.asked {
			t.Errorf("%s: the server got %s, and %d were asked", row.name, got, len(asked))
		}
		if row.asked && (asked[0].Server != "s" || asked[0].Message != "Which?" ||
			!strings.Contains(string(asked[0].Schema), `"integer"`)) {
			t.Errorf("%s: asked %+v", row.name, asked[0])
		}
	}

	other, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = m.Call(other, "s", "slow", json.RawMessage(`{"MS":60000}`),
			upstream.CallOptions{Session: "b", Ask: says(upstream.Accepted, nil)})
	}()
	eventually(t, "with calls of two sessions nobody is asked", func() bool {
		return strings.Contains(ask(form, upstream.CallOptions{Session: "a", Ask: says(upstream.Accepted, nil)}),
			"calls of several sessions") && asked == nil
	})
	stop()
	<-over
	if got := ask(form, upstream.CallOptions{Session: "a", Ask: says(upstream.Declined, nil)}); !strings.Contains(got,
		"decline") {
		t.Errorf("after the other call is over: %s", got)
	}
}

// TestAServerThatWantsAPageOpened: the person learns which, from the error of the call.
func TestAServerThatWantsAPageOpened(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "wants a page"))
	_, err := call(t, m, "s", "echo", `{}`)
	var e *upstream.ToolError
	if !errors.As(err, &e) || !strings.Contains(e.Message,
		`Log in first: it wants a person to open "https://x.invalid/login"`) {
		t.Errorf("got %v", err)
	}
}

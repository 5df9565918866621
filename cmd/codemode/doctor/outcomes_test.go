package doctor

import (
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
)

// H8, N6: what came of a test question is said in plain words; what no person can have read was answered by a program.
func TestH8WhatATestQuestionFound(t *testing.T) {
	tried := func(o approvals.Outcome, took time.Duration) approvals.Result {
		return approvals.Result{Answer: call.Answer{Code: call.CodeNoApprover},
			Tried: []approvals.Try{{Channel: "web", Outcome: o, Took: took}}}
	}
	for _, tt := range []struct {
		got   approvals.Result
		level string
		text  string
	}{
		{approvals.Result{Answer: call.Answer{Allowed: true, Took: 4200 * time.Millisecond, By: "local:anna"}}, levelOK,
			"answered by a person in 4.2 s, local:anna"},
		{approvals.Result{Answer: call.Answer{Code: call.CodeDeclined, Took: 2 * time.Second}}, levelOK,
			"declined by a person in 2.0 s"},
		{approvals.Result{Answer: call.Answer{Code: call.CodeCanceled, Took: 2 * time.Second}}, levelOK,
			"closed by a person in 2.0 s"},
		{tried(approvals.TooFastNo, 6*time.Millisecond), levelWarning,
			"auto-declined in 6 ms, faster than a person can read"},
		{tried(approvals.TooFastShut, 6*time.Millisecond), levelWarning,
			"auto-declined in 6 ms, faster than a person can read"},
		{tried(approvals.TooFastYes, 6*time.Millisecond), levelWarning,
			"auto-accepted in 6 ms, faster than a person can read"},
		{tried(approvals.Empty, time.Second), levelWarning, "no person is connected"},
		{approvals.Result{Answer: call.Answer{Code: call.CodeTimeout}}, levelWarning,
			"nobody answered the test question in 1m0s"},
	} {
		d := &diagnosis{}
		d.answered("web", tt.got, nil, time.Minute)
		if f := d.findings[0]; f.Level != tt.level || f.Text != tt.text || f.Level == levelWarning && f.Hint == "" {
			t.Errorf("got %+v, want %s: %s", f, tt.level, tt.text)
		}
	}
}

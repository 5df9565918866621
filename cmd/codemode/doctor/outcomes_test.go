package doctor

import (
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
)

// H8, N6: what came of a test question is said in plain words; what no person can have read was answered by a program.
func TestH8WhatATestQuestionFound(t *testing.T) {
	tried := func(o approvals.Outcome, took time.Duration) approvals.Answer {
		return approvals.Answer{Code: approvals.CodeNoApprover, Tried: []approvals.Try{{Channel: "web", Outcome: o, Took: took}}}
	}
	for _, tt := range []struct {
		got   approvals.Answer
		level string
		text  string
	}{
		{approvals.Answer{Allowed: true, Took: 4200 * time.Millisecond, By: "local:anna"}, levelOK, "answered by a person in 4.2 s, local:anna"},
		{approvals.Answer{Code: approvals.CodeDeclined, Took: 2 * time.Second}, levelOK, "declined by a person in 2.0 s"},
		{approvals.Answer{Code: approvals.CodeCanceled, Took: 2 * time.Second}, levelOK, "closed by a person in 2.0 s"},
		{tried(approvals.TooFastNo, 6*time.Millisecond), levelWarning, "auto-declined in 6 ms, faster than a person can read"},
		{tried(approvals.TooFastShut, 6*time.Millisecond), levelWarning, "auto-declined in 6 ms, faster than a person can read"},
		{tried(approvals.TooFastYes, 6*time.Millisecond), levelWarning, "auto-accepted in 6 ms, faster than a person can read"},
		{tried(approvals.Empty, time.Second), levelWarning, "no person is connected"},
		{approvals.Answer{Code: approvals.CodeTimeout}, levelWarning, "nobody answered the test question in 1m0s"},
	} {
		d := &diagnosis{}
		d.answered("web", tt.got, nil, time.Minute)
		if f := d.findings[0]; f.Level != tt.level || f.Text != tt.text || f.Level == levelWarning && f.Hint == "" {
			t.Errorf("got %+v, want %s: %s", f, tt.level, tt.text)
		}
	}
}

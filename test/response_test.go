package codemode_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
)

// Whoever embeds an Evaluator prints r.Text(err) without looking at either, as the README does.
func TestEveryAnswerOfEvalHasAText(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["time__*"]}, "checked": {"requirePreflight": true}}}}`)
	closed := open(t, `{}`)
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		e    *codemode.Evaluator
		r    codemode.Request
		want string
	}{
		{"a value", e, codemode.Request{Profile: "p", Code: "return 6 * 7"}, "42\n"},
		{"a mistake", e, codemode.Request{Profile: "p", Code: "return ("}, "The program was not started.\n"},
		{"an exception", e, codemode.Request{Profile: "p", Code: "throw new Error('no')"}, "error (threw): Error: no\n"},
		{"an unknown profile", e, codemode.Request{Profile: "none", Code: "return 1"},
			"error: there is no profile \"none\"; there are checked, p\n"},
		{"an unknown saved program", e, codemode.Request{Script: "none.ts"}, "error: "},
		{"a role that is too long", e, codemode.Request{Profile: "p", Code: "return 1", Role: strings.Repeat("x", 10000)},
			"error: the role has"},
		{"a program that was not checked", e, codemode.Request{Profile: "checked", Code: "return 1"},
			"error: The program was not started (preflight_missing)"},
		{"an evaluator that is closed", closed, codemode.Request{Code: "return 1"}, "error: "},
	} {
		r, err := tt.e.Eval(t.Context(), tt.r)
		if r == nil {
			t.Errorf("%s: there is no response", tt.name)
			continue
		}
		text := r.Text(err)
		if !strings.HasPrefix(text, tt.want) {
			t.Errorf("%s: got %q, want %q first", tt.name, text, tt.want)
		}
		if began := r.Run != ""; !began && strings.Contains(text, "calls:") {
			t.Errorf("%s: it speaks of calls of a program that did not begin:\n%s", tt.name, text)
		}
	}
}

func TestTextOfNoResponse(t *testing.T) {
	var r *codemode.Response
	if got := r.Text(errors.New("it is gone\nask again")); got != "error: it is gone\nask again\n" {
		t.Errorf("got %q", got)
	}
	if got := r.Text(nil); got == "" {
		t.Error("there is no text without an error")
	}
}

// A program that was given nothing has an input all the same: it can test for it.
func TestInputIsUndefinedWhenLeftOut(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {}}}}`)
	for code, want := range map[string]string{
		"return input === undefined":                                      "true",
		"return input?.days ?? 7":                                         "7",
		"return typeof input + ' ' + ('input' in globalThis)":             `"undefined true"`,
		"const {days = 7} = input ?? {}; return days":                     "7",
		"input = 3; return input":                                         "3",
		"const own = () => { let input = 1; return input }; return own()": "1",
		"let input = 5; return input":                                     "5",
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code})
		if err != nil || string(r.Value) != want {
			t.Errorf("%s: got %s, want %s", code, r.Text(err), want)
		}
	}
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: "return input.days",
		Input: json.RawMessage(`{"days": 3}`)})
	if err != nil || string(r.Value) != "3" {
		t.Errorf("with an input: %s", r.Text(err))
	}
}

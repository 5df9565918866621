package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/server"
)

const (
	annasAnswers = "the-token-with-which-anna-answers"
	withAnswers  = `{
	"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}},
	"http": {"tokens": [
		{"token": "${ANNA}", "principal": "anna"},
		{"token": "${ANSWERS}", "principal": "anna", "answers": true}]}}`
)

func openWithAnswers(t *testing.T, config string) *house {
	t.Helper()
	h := open(t, config, server.Options{})
	h.variables = map[string]string{"ANNA": annasToken, "ANSWERS": annasAnswers}
	return h
}

// A token that answers runs nothing: at /mcp it is refused on both generations of the protocol, in clear words.
func TestATokenThatAnswersRunsNothing(t *testing.T) {
	h := openWithAnswers(t, withAnswers)
	url := h.listen()
	const modern = `{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}`
	for _, k := range []knock{
		{body: initializeBody},
		{body: initializeBody, path: "/p"},
		{body: fmt.Sprintf(callBody, "return 1")},
		{body: modern, header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}},
		{method: http.MethodGet},
		{method: http.MethodDelete},
	} {
		if k.header == nil {
			k.header = map[string]string{}
		}
		k.header["Authorization"] = "Bearer " + annasAnswers
		status, body, session := k.send(t, url)
		if status != http.StatusForbidden || session != "" || !strings.Contains(body, "answers questions on the page") {
			t.Errorf("%s %s %s: status %d, session %q: %s", k.method, k.path, k.body, status, session, body)
		}
	}
	if _, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: mcptest.Bearer(annasAnswers),
			MaxRetries: -1}, nil); err == nil {
		t.Error("a client comes in")
	}
	if status, _, _ := (knock{body: initializeBody, header: map[string]string{"Authorization": "Bearer " +
		annasToken}}).send(t, url); status != http.StatusOK {
		t.Errorf("the token for programs: status %d", status)
	}
}

// With a token that answers and no other nobody comes in to run anything, as with any token.
func TestATokenThatAnswersOpensNothingToOthers(t *testing.T) {
	h := openWithAnswers(t, `{"evaluation": {"profiles": {"p": {}}}, "http": {"tokens": [{"token": "${ANSWERS}", "principal": "anna", "answers": true}]}}`)
	url := h.listen()
	for name, header := range map[string]string{"none": "", "another": "Bearer the-token-of-eve",
		"the one that answers": "Bearer " + annasAnswers} {
		if status, _, _ := (knock{body: initializeBody, header: map[string]string{"Authorization": header}}).send(t,
			url); status == http.StatusOK {
			t.Errorf("%s: it comes in", name)
		}
	}
}

// Who answers by token is who the configuration says at that moment, and nobody while it cannot be read.
func TestWhoAnswersByToken(t *testing.T) {
	h := openWithAnswers(t, withAnswers)
	answerers := server.NewAnswerers(h.evaluator, h.env, nil)
	defer answerers.Close()
	admit := func(token string) (string, int) {
		r := httptest.NewRequest(http.MethodGet, "/api/pending", nil)
		principal, status, why := answerers.Admit(r, token)
		if (status != 0) != (why != "") || strings.Contains(why, "the-token") {
			t.Errorf("status %d: %s", status, why)
		}
		return principal, status
	}
	for token, want := range map[string]int{
		annasAnswers: 0, annasToken: http.StatusForbidden, "the-token-of-eve": http.StatusUnauthorized,
		"":                 http.StatusUnauthorized,
		annasAnswers + "x": http.StatusUnauthorized, inforce.Fingerprint(annasAnswers): http.StatusUnauthorized,
	} {
		if principal, status := admit(token); status != want || (principal == "anna") != (want == 0) {
			t.Errorf("%q: %q, status %d, want %d", token, principal, status, want)
		}
	}
	h.write(`{"evaluation": {"profiles": {"p": {}}}, "http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}]}}`)
	eventually(t, "the token to go",
		func() bool { _, status := admit(annasAnswers); return status == http.StatusUnauthorized })
	h.write(withAnswers)
	eventually(t, "the token to come back", func() bool { _, status := admit(annasAnswers); return status == 0 })
	h.write(strings.Replace(withAnswers, `{"token": "${ANNA}", "principal": "anna"}`, `{"token": "${NOWHERE}"}`, 1))
	eventually(t, "a variable that is not set", func() bool { _, status := admit(annasAnswers); return status != 0 })
}

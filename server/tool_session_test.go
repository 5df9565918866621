package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/server"
)

// Sessions are offered to clients if the configuration says so.
func TestSessionsOfAClient(t *testing.T) {
	const rules = `"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}`
	h := open(t, `{`+rules+`}`, server.Options{Principal: "anna"})
	c := h.connect(nil, "")
	if text, failed := c.call("codemode_eval", map[string]any{"code": "return 1", "session": "a"}); !failed ||
		!strings.Contains(text, `"sessions": true`) || slices.Contains(c.tools(), "codemode_session") {
		t.Errorf("without the key: %s %v", text, c.tools())
	}
	h = open(t, `{"sessions": true, `+rules+`}`, server.Options{Principal: "anna"})
	c = h.connect(nil, "")
	in := func(session, code, want string) {
		t.Helper()
		text, failed := c.call("codemode_eval", map[string]any{"code": code, "session": session})
		if failed || !strings.HasPrefix(text, want+"\n") {
			t.Errorf("%s in %s: %s", code, session, text)
		}
	}
	in("a", `let n = 1; class Box { #v = 10; add(k) { return this.#v += k } } const box = new Box(), next = () => ++n; return n`, "1")
	in("a", `next(); return box.add(n)`, "12")
	for _, row := range []struct {
		args map[string]any
		want string
		ok   bool
	}{
		{map[string]any{"action": "list"}, "a (profile p): 2 versions", true},
		{map[string]any{"action": "show", "name": "a"}, "- const box: Box", true},
		{map[string]any{"action": "fork", "name": "a", "version": 1, "as": "b"}, "The session b is a fork of a at version 1.", true},
		{map[string]any{"action": "rollback", "name": "a", "version": 1}, "that is its version 3", true},
		{map[string]any{"action": "delete", "name": "c"}, `there is no session "c"; there are a, b`, false},
		{map[string]any{"action": "delete", "name": "a", "version": 1}, `takes no argument "version"`, false},
	} {
		if text, failed := c.call("codemode_session", row.args); failed == row.ok || !strings.Contains(text, row.want) {
			t.Errorf("%v: %s", row.args, text)
		}
	}
	in("b", `next(); return n`, "2")
	in("a", `return [n, box.add(0)].join()`, `"1,10"`)
	if text, failed := c.call("codemode_session", map[string]any{"action": "delete", "name": "a"}); failed {
		t.Error(text)
	}
	if text, failed := c.call("codemode_eval", map[string]any{"code": "return n", "session": "a"}); !failed ||
		!strings.Contains(text, "nothing declares n") {
		t.Errorf("after the deletion: %s", text)
	}
}

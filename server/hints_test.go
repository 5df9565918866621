package server_test

import (
	"fmt"
	"testing"

	"github.com/codemode-project/codemode/server"
)

// What a tool says of itself follows the rules on a live session.
func TestAnnotationsFollowTheRules(t *testing.T) {
	const reads = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["time__*"%s]}}%s}}`
	h := open(t, fmt.Sprintf(reads, "", ""), server.Options{})
	session := h.connect(nil, "2025-11-25")
	for i, row := range []struct {
		name, rule, key         string
		readOnly, harms, reachs bool
	}{
		{"what only reads", "", "", true, false, false},
		{"a write is allowed", `, "filesystem__write_file"`, "", false, true, false},
		{"what only reads, again", "", "", true, false, false},
		{"strict", "", `, "annotations": "strict"`, false, true, true},
	} {
		if i > 0 {
			h.write(fmt.Sprintf(reads, row.rule, row.key))
			soon(t, "the news of "+row.name, session.changed)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if a := tool.Annotations; tool.Name == "codemode_eval" &&
				(a.ReadOnlyHint != row.readOnly || *a.DestructiveHint != row.harms || *a.OpenWorldHint != row.reachs) {
				t.Errorf("%s: got %+v, destructive %t, open %t", row.name, a, *a.DestructiveHint, *a.OpenWorldHint)
			}
		}
	}
}

package upstream_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/upstream"
)

func TestAServerGivesWayWhileItComputesForNobody(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "good", "plain"), fakeServer(t, "busy", "computes"))
	r, err := call(t, m, "busy", "pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Trim(string(r.Value), `"`))
	if err != nil {
		t.Fatal(err)
	}
	session := func() string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
		if err != nil || len(text) == 0 {
			t.Skipf("this kernel shares the processors among processes, not among sessions: %q, %v", text, err)
		}
		return strings.TrimSpace(string(text))
	}
	comes := func(nice string) {
		t.Helper()
		eventually(t, "its session has"+nice, func() bool {
			if _, err := call(t, m, "good", "echo", `{}`); err != nil {
				t.Fatal(err)
			}
			return strings.HasSuffix(session(), nice)
		})
	}
	comes(" nice 0")
	comes(" nice 19")
	if _, err := call(t, m, "busy", "rest", `{}`); err != nil {
		t.Fatal(err)
	}
	comes(" nice 0")
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// It is told also when not the server's command computes, but what that has started.
func TestAServerThatComputesForNothingIsTold(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "codemode.json")
	save(t, config, fmt.Sprintf(`{"mcpServers": {
		"busy": {"command": "sh", "args": ["-c", "while :; do :; done & exec \"$0\"", %q], "env": {%q: "upstream"}},
		"idle": {"command": %[1]q, "env": {%[2]q: "upstream"}}
	}}`, self, asCommand))
	t.Setenv("XDG_CACHE_HOME", testCache())
	busy := regexp.MustCompile(`it takes [0-9]+ % of a processor while nobody waits for it`)
	for _, test := range []struct{ command, here string }{
		{"tools", "\nbusy +ready.*\n( +note: .*\n)* +note: "}, {"doctor", "warning +server busy: "},
	} {
		here := regexp.MustCompile(test.here + busy.String())
		for deadline := time.Now().Add(2 * time.Minute); ; { // where many compute, it may get too little for once
			var out, problems bytes.Buffer
			runMain(t, streams{in: strings.NewReader(""), out: &out, err: &problems}, test.command, "--config", config, "--project", "none")
			if here.MatchString(out.String()) && len(busy.FindAllString(out.String(), -1)) == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s does not tell it, or not only of one server:\n%s%s", test.command, &out, &problems)
			}
		}
	}
}

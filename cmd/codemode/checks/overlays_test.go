package checks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/checks"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/inforce"
)

const (
	annasToken = "the-token-of-anna"
	carlsToken = "the-token-of-carl"
)

func TestOverlaysThatCanFitNobodyAreFound(t *testing.T) {
	const tokens = `"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${CARL}"}%s]}`
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"ANNA": annasToken, "CARL": carlsToken}[name]
		return value, ok
	}
	known, unknown := fmt.Sprintf(tokens, ""), fmt.Sprintf(tokens, `, {"token": "${UNSET}"}`)
	const oauth = `"http": {"oauth": {"resource": "https://a.example/mcp", "issuers": {
		"acme": {"issuer": "https://b.example", "profiles": {"p": {"scope": "x"}}}}}}`
	for _, test := range []struct{ selects, others, want string }{
		{`"principal": "anna"`, known, ""},
		{`"principal": "` + inforce.Fingerprint(annasToken) + `"`, known, ""},
		{`"principal": "` + inforce.Fingerprint(carlsToken) + `"`, known, ""},
		{`"principal": "local:me"`, known, ""},
		{`"principal": "acme:anna"`, known, `no token has the principal "acme:anna"`},
		{`"principal": "acme:anna"`, oauth, ""},
		{`"principal": "acmes:anna"`, oauth, `no token has the principal "acmes:anna"`},
		{`"principal": "ana"`, known, `no token has the principal "ana"`},
		{`"principal": "ana"`, `"store": "a.db"`, `no token has the principal "ana"`},
		{`"principal": "` + inforce.Fingerprint("another") + `"`, known, "none of http.tokens has the fingerprint"},
		{`"principal": "` + inforce.Fingerprint("another") + `"`, unknown, ""},
		{`"principal": "` + inforce.Fingerprint("another") + `"`, `"store": "a.db"`, ""},
		{`"principal": "` + strings.ToUpper(inforce.Fingerprint(annasToken)[7:]) + `"`, known, "no token has the principal"},
		{`"principal": "sha256:` + strings.ToUpper(inforce.Fingerprint(annasToken)[7:]) + `"`, known,
			"64 hexadecimal digits in lower case"},
		{`"principal": "sha256:abc"`, `"store": "a.db"`, "64 hexadecimal digits"},
		{`"role": "intern"`, known, ""},
		{`"session": "s1"`, known, ""},
		{`"program": "weekly.ts"`, known, "it is about saved programs, and there are none"},
		{`"folder": "reports"`, known, "it is about saved programs, and there are none"},
		{`"program": ["weekly.ts"]`, `"scripts": {"root": "."}`, ""},
		{`"folder": "reports"`, `"scripts": {"root": "."}`, ""},
		{`"program": ["sha256:abc"]`, `"scripts": {"root": "."}`, "the digest of a program"},
		{`"program": ["sha256:abc", "` + inforce.Fingerprint("text") + `"]`, known, ""},
	} {
		cfg, err := config.Parse("codemode.json", []byte("{"+test.others+`, "evaluation": {"profiles": {"p": {}}, "overlays": [
			{"id": "narrow", `+test.selects+`, "denylist": ["a__*"]}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		found := checks.OverlaysForNobody(cfg, env)
		if len(found) != min(len(test.want), 1) {
			t.Errorf("%s beside %s: %v", test.selects, test.others, found)
		} else if len(found) == 1 && (!strings.Contains(found[0].Message, test.want) ||
			!strings.Contains(found[0].Message, `"narrow"`) || found[0].Line < 2 || found[0].Hint == "") {
			t.Errorf("%s beside %s: %v, want %s", test.selects, test.others, found, test.want)
		}
	}
}

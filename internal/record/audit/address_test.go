package audit

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/hostile"
)

// TestAddressesWithSecretsAreNotLogged sends checkpoints to addresses that have a secret in every part, in
// every way that fails.
func TestAddressesWithSecretsAreNotLogged(t *testing.T) {
	canary, all := hostile.Addresses(t)
	for _, address := range all {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		key, err := NewKey(bytes.Repeat([]byte{1}, 32))
		check(t, err)
		p := &publishing{key: key, to: []Publisher{WebhookPublisher(address, &http.Client{})}, log: logger}
		p.publish("a checkpoint")
		if text := log.String(); strings.Contains(text, canary) || strings.Count(text, "error=") != 1 {
			t.Errorf("%s is logged as\n%s", address, text)
		}
	}
}

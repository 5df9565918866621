package otlp

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/hostile"
)

// TestAddressesWithSecretsAreNotLogged sends entries to addresses that have a secret in every part, in
// every way that fails.
func TestAddressesWithSecretsAreNotLogged(t *testing.T) {
	canary, all := hostile.Addresses(t)
	for _, address := range all {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c := &Collector{URL: address}
		ctx, cancel := context.WithTimeout(t.Context(), sendWait)
		if _, err := c.post(ctx, []byte("{}")); err == nil {
			t.Errorf("%s: it was sent", address)
		} else {
			logger.Warn("entries could not be sent", "error", err)
		}
		cancel()
		if text := log.String(); strings.Contains(text, canary) || strings.Count(text, "error=") != 1 {
			t.Errorf("%s is logged as\n%s", address, text)
		}
	}
}

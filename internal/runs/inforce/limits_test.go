package inforce

import (
	"fmt"
	"log/slog"
	"reflect"
	"testing"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/sandbox"
)

// Each limit of a guest that a profile can set reaches the guest.
func TestEveryLimitReachesTheGuest(t *testing.T) {
	rules := NewRules(slog.New(slog.DiscardHandler), nil)
	for field := range reflect.TypeFor[sandbox.Limits]().Fields() {
		key, ok := reflect.TypeFor[profiles.Limits]().FieldByName(field.Name)
		if !ok {
			continue // it is the host's alone
		}
		value := map[string]string{"size": `"7MiB"`}[key.Tag.Get("form")]
		if value == "" {
			value = map[string]string{"time.Duration": `"7ms"`}[key.Type.String()]
		}
		if value == "" {
			value = "7"
		}
		cfg, err := config.Parse("c.json", fmt.Appendf(nil, `{"evaluation": {"profiles": {"p": {"limits": {%q: %s}}}}}`,
			key.Tag.Get("key"), value))
		checktest.OK(t, err)
		usual, usualReply := rules.Limits(nil, "")
		limits, reply := rules.Limits(cfg.Profile("p"), "")
		if limits == usual && reply == usualReply { // ResultBytes is what the reply shows
			t.Errorf("%s of a profile does not reach the guest", field.Name)
		}
	}
}

package notifications

import (
	"strings"

	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
)

// A Target is a destination with its secrets.
type Target struct {
	*Destination
	Address        string
	Secret         []byte // signs what a webhook gets
	Token          string // of ntfy; "" is none
	User, Password string // of the mail server; "" is none
}

// Target looks the secrets up. The error is [settings.Problems].
func (d *Destination) Target(env variables.Lookup) (*Target, error) {
	var wrong settings.Problems
	t := &Target{Destination: d, Address: d.address().Value(env, &wrong), Token: d.Token.Value(env, &wrong),
		User: d.User.Value(env, &wrong), Password: d.Password.Value(env, &wrong)}
	t.Secret, _ = settings.SigningSecret(d.Secret.Value(env, &wrong))
	if len(wrong) > 0 {
		return nil, wrong
	}
	return t, nil
}

// Hide replaces the secrets of the target in a text.
func (t *Target) Hide(text string) string {
	for _, secret := range []string{t.Address, t.Token, t.Password} {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

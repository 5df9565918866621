package notifications

import (
	"encoding/base64"
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
	t := &Target{Destination: d, Address: d.address.Value(env, &wrong), Token: d.token.Value(env, &wrong),
		User: d.user.Value(env, &wrong), Password: d.password.Value(env, &wrong)}
	t.Secret, _ = secretOf(d.secret.Value(env, &wrong))
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

const (
	secretPrefix           = "whsec_"
	leastSecret, mostBytes = 24, 64 // as Standard Webhooks wants it
)

// secretOf reads a secret as Standard Webhooks writes it.
func secretOf(text string) (secret []byte, ok bool) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	secret, err := base64.StdEncoding.DecodeString(encoded)
	return secret, ok && err == nil && len(secret) >= leastSecret && len(secret) <= mostBytes
}

func secretCheck(text string) (message, hint string) {
	if _, ok := secretOf(text); !ok {
		return `"secret" must be whsec_ and 24 to 64 bytes in base64`, `make one: echo "whsec_$(openssl rand -base64 32)"`
	}
	return "", ""
}

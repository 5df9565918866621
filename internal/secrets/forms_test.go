package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// TestForms carries a secret on as programs and servers do, and takes its forms out again.
func TestForms(t *testing.T) {
	for _, secret := range []string{"canary+header/5d8f0c71aa", "päss <word> \"x\" & y", "sk-0123456789", "AAAAAAAAAAAA"} {
		js, err := json.Marshal(map[string]string{"k": "x" + secret})
		if err != nil {
			t.Fatal(err)
		}
		carried := []string{secret, "x" + secret + "y", string(js), url.QueryEscape(secret), url.PathEscape("a/" + secret),
			url.Values{"k": {secret}}.Encode(), hex.EncodeToString([]byte("x" + secret))}
		for _, before := range []string{"", "u", "u:", "us:", "user:"} {
			for _, behind := range []string{"", "x", "xy", "xyz"} {
				for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding,
					base64.RawURLEncoding} {
					carried = append(carried, e.EncodeToString([]byte(before+secret+behind)))
				}
			}
		}
		for _, text := range carried {
			found := false
			for _, form := range forms(secret) {
				found = found || strings.Contains(text, form)
			}
			if !found {
				t.Errorf("%q is not found in %q", secret, text)
			}
		}
	}
}

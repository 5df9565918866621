package preflight

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/profiles"
)

// jws signs as any other library would.
func jws(key, header, payload string) string {
	enc := base64.RawURLEncoding.EncodeToString
	signed := enc([]byte(header)) + "." + enc([]byte(payload))
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(signed))
	return signed + "." + enc(h.Sum(nil))
}

// TestPreflightTokens is FEATURES.md S4.3: a compact JWS with HS256 that others can verify, and
// that nothing but the secret can make.
func TestPreflightTokens(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	now := time.Unix(1_800_000_000, 0)
	p := NewTokens(secret)
	good := checked{Version: 1, Issued: now.Unix(), Expires: now.Add(time.Minute).Unix(), Program: "sha256:p",
		Profile: "careful", Digest: "sha256:d"}
	token := p.sign(good)
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("not compact: %s", token)
	}
	header, _ := base64.RawURLEncoding.DecodeString(parts[0])
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if again := jws(secret, string(header), string(payload)); again != token {
		t.Errorf("another library signs it as\n%s\nnot\n%s", again, token)
	}
	var h map[string]string
	if err := json.Unmarshal(header, &h); err != nil || h["alg"] != "HS256" {
		t.Errorf("header %s", header)
	}
	if got, err := p.read(token, now); err != nil || got != good {
		t.Errorf("got %+v, %v", got, err)
	}

	claims := string(payload)
	later := strings.Replace(claims, `"exp":1800000060`, `"exp":1900000000`, 1)
	enc := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, tt := range []struct {
		name, token, code, detail string
		after                     time.Duration
	}{
		{"none", "", Missing, "was not checked", 0},
		{"text", "hello", Wrong, "three parts", 0},
		{"two parts", parts[0] + "." + parts[1], Wrong, "three parts", 0},
		{"four parts", token + ".x", Wrong, "three parts", 0},
		{"very long", strings.Repeat("a", 10_000), Wrong, "three parts", 0},
		{"cut", token[:len(token)-4], Wrong, "signature", 0},
		{"a padded spelling", token + "=", Wrong, "base64url", 0},
		{"another spelling of the last letter", token[:len(token)-1] + string(token[len(token)-1]+1), Wrong, "", 0},
		{"another payload", parts[0] + "." + enc(later) + "." + parts[2], Wrong, "signature", 0},
		{"no algorithm", enc(`{"alg":"none"}`) + "." + parts[1] + ".", Wrong, "not accepted", 0},
		{"no algorithm, signed all the same", jws(secret, `{"alg":"none","typ":"JWT"}`, claims), Wrong, "not accepted", 0},
		{"another algorithm", jws(secret, `{"alg":"HS512","typ":"JWT"}`, claims), Wrong, "not accepted", 0},
		{"an extension that must be understood", jws(secret, `{"alg":"HS256","crit":["exp"]}`, claims), Wrong, "not accepted",
			0},
		{"another secret", NewTokens("another").sign(good), Wrong, "another server", 0},
		{"another secret that claims to be ours", jws("another", string(header), claims), Wrong, "changed on the way", 0},
		{"an empty secret", jws("", `{"alg":"HS256"}`, claims), Wrong, "changed on the way", 0},
		{"another version", jws(secret, `{"alg":"HS256"}`, strings.Replace(claims, `"v":1`, `"v":2`, 1)), Wrong, "version",
			0},
		{"no claims", jws(secret, `{"alg":"HS256"}`, `{}`), Wrong, "version", 0},
		{"claims that are no object", jws(secret, `{"alg":"HS256"}`, `[]`), Wrong, "version", 0},
		{"without an end", jws(secret, `{"alg":"HS256"}`, `{"v":1,"iat":1800000000}`), Wrong, "future", 0},
		{"of the future", token, Wrong, "future", -time.Hour},
		{"of a clock that is a little ahead", token, "", "", -10 * time.Second},
		{"the last moment", token, "", "", time.Minute - 1},
		{"expired", token, Expired, "expired", time.Minute},
		{"expired long ago", token, Expired, "23h59m", 24 * time.Hour},
	} {
		_, err := p.read(tt.token, now.Add(tt.after))
		switch {
		case tt.code == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.code != "" && (err == nil || err.Code != tt.code || !strings.Contains(err.Detail, tt.detail)):
			t.Errorf("%s: got %+v, want %s with %q", tt.name, err, tt.code, tt.detail)
		}
	}

	// Without a secret each process has one of its own.
	a, b := NewTokens(""), NewTokens("")
	if !a.Ephemeral || p.Ephemeral {
		t.Error("what is ephemeral and what is not is mixed up")
	}
	if _, err := b.read(a.sign(good), now); err == nil || err.Code != Wrong {
		t.Errorf("the token of another process: %v", err)
	}
	if _, err := a.read(jws("", `{"alg":"HS256"}`, claims), now); err == nil {
		t.Error("the ephemeral secret is empty")
	}
}

// A token ends with the clock, and setting the clock back does not bring it back: rules have the same clock.
func TestTheClockMovesByAnHour(t *testing.T) {
	p := NewTokens("0123456789abcdef0123456789abcdef")
	start := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		why   string
		moves []time.Duration // from the start
		want  []string        // the code of the refusal, "" for none
	}{
		{"as time passes", []time.Duration{29 * time.Minute, 30 * time.Minute}, []string{"", Expired}},
		{"forward, and back", []time.Duration{time.Hour, 0}, []string{Expired, Expired}},
		{"back, and forward again", []time.Duration{-time.Hour, 0, 30 * time.Minute}, []string{"", "", Expired}},
	} {
		var clock profiles.Clock
		now := clock.At(start)
		token := p.sign(checked{Version: preflightVersion, Issued: now.Unix(), Expires: now.Add(30 * time.Minute).Unix()})
		for i, move := range test.moves {
			got := ""
			if _, err := p.read(token, clock.At(start.Add(move))); err != nil {
				got = string(err.Code)
			}
			if got != test.want[i] {
				t.Errorf("%s: after %v %q, want %q", test.why, move, got, test.want[i])
			}
		}
	}
	// Another process has a clock of its own.
	ahead := start.Add(time.Hour)
	token := p.sign(checked{Version: preflightVersion, Issued: ahead.Unix(), Expires: ahead.Add(30 * time.Minute).Unix()})
	if _, err := p.read(token, start); err == nil || !strings.Contains(err.Detail, "the clocks of the servers differ") {
		t.Errorf("a token of a server that is an hour ahead: %+v", err)
	}
}

package preflight

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/visible"
)

// BaseTool is the tool that runs programs under the default profile.
const BaseTool = "codemode_eval"

// sentenceRunes is how much is shown of a sentence that an upstream or a program wrote.
const sentenceRunes = 300

// SecretVariable is the environment variable of the secret that signs pre-flight tokens.
// Without it each process has a secret of its own.
const SecretVariable = "CODEMODE_PREFLIGHT_SECRET"

const (
	preflightVersion   = 1
	preflightClockSkew = 30 * time.Second // between servers that share a secret
	preflightMaxBytes  = 4 << 10
	preflightGoodKey   = 32 // bytes; RFC 7518 wants a key as long as the hash
)

// Tokens signs and verifies the tokens of checks: JSON Web Signatures in compact form (RFC 7515) with HMAC-SHA-256.
type Tokens struct {
	key       []byte
	id        string // tells keys apart, and says nothing about them
	Ephemeral bool   // the key ends with this process
}

// CheckSecret refuses a secret that is short enough to guess: a person who guesses it can make tokens for unchecked
// programs. from says where the secret comes from.
func CheckSecret(from, secret string) error {
	if secret == "" || len(secret) >= preflightGoodKey {
		return nil
	}
	return fmt.Errorf("%s has %d bytes and can be guessed, so anybody could make pre-flight tokens: "+
		"it takes %d random bytes or more, such as openssl rand -base64 32 prints; "+
		"without it each process has a secret of its own", from, len(secret), preflightGoodKey)
}

// NewTokens signs with the secret; "" makes a random one.
func NewTokens(secret string) *Tokens {
	p := &Tokens{key: []byte(secret)}
	if secret == "" {
		p.key, p.Ephemeral = make([]byte, preflightGoodKey), true
		rand.Read(p.key) // never fails
	}
	p.id = hex.EncodeToString(p.mac("key id"))[:8]
	return p
}

func (p *Tokens) mac(text string) []byte {
	h := hmac.New(sha256.New, p.key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// A preflightHeader is the header of a token. It is only compared: a token must not choose its own verification.
type preflightHeader struct {
	Algorithm string          `json:"alg"`
	Type      string          `json:"typ"`
	Key       string          `json:"kid,omitempty"`
	Critical  json.RawMessage `json:"crit,omitempty"`
}

// checked is the payload of a token: this program was checked under this profile.
type checked struct {
	Version int    `json:"v"`
	Issued  int64  `json:"iat"`
	Expires int64  `json:"exp"`
	Program string `json:"program"` // hash of the text
	Profile string `json:"profile"`
	Digest  string `json:"profileDigest"` // of the profile at that time, with what narrowed it
}

func (p *Tokens) sign(c checked) string {
	header, _ := json.Marshal(preflightHeader{Algorithm: "HS256", Type: "JWT", Key: p.id})
	payload, _ := json.Marshal(c)
	signed := encode64(header) + "." + encode64(payload)
	return signed + "." + encode64(p.mac(signed))
}

func encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode64 accepts one spelling of each value.
var decode64 = base64.RawURLEncoding.Strict().DecodeString

// Reasons why a token does not count, as [Error.Code].
const (
	Missing        = "preflight_missing"
	Wrong          = "preflight_wrong"
	Expired        = "preflight_expired"
	OtherProgram   = "preflight_other_program"
	OtherProfile   = "preflight_other_profile"
	ProfileChanged = "preflight_profile_changed"
)

// read verifies a token and its times. The error is one of the codes with a sentence.
func (p *Tokens) read(token string, now time.Time) (checked, *Error) {
	wrong := func(detail string) (checked, *Error) {
		return checked{}, &Error{Code: Wrong, Detail: detail}
	}
	if token == "" {
		return checked{}, &Error{Code: Missing, Detail: "this program was not checked: there is no pre-flight token"}
	}
	header, payload, signature, err := takeApart(token)
	if err != nil {
		return wrong("this is no pre-flight token: " + err.Error())
	}
	if header.Algorithm != "HS256" || header.Critical != nil || header.Type != "" && header.Type != "JWT" {
		return wrong("the pre-flight token is signed in a way that is not accepted here")
	}
	if !hmac.Equal(signature, p.mac(token[:strings.LastIndexByte(token, '.')])) {
		if header.Key != "" && header.Key != p.id {
			return wrong("the pre-flight token was signed by another server, or by this one before it was started again")
		}
		return wrong("the signature of the pre-flight token is wrong: it was changed on the way, or made up")
	}
	var c checked
	if err := json.Unmarshal(payload, &c); err != nil || c.Version != preflightVersion {
		return wrong("the pre-flight token is of another version")
	}
	issued, expires := time.Unix(c.Issued, 0), time.Unix(c.Expires, 0)
	switch {
	case issued.After(now.Add(preflightClockSkew)) || expires.Before(issued):
		return wrong("the pre-flight token is from the future: the clocks of the servers differ")
	case !now.Before(expires):
		return checked{}, &Error{Code: Expired,
			Detail: fmt.Sprintf("the pre-flight token expired %s ago", now.Sub(expires).Round(time.Second))}
	}
	return c, nil
}

func takeApart(token string) (header preflightHeader, payload, signature []byte, err error) {
	parts := strings.Split(token, ".")
	if len(token) > preflightMaxBytes || len(parts) != 3 {
		return header, nil, nil, errors.New("it does not consist of three parts")
	}
	var decoded [3][]byte
	for i, part := range parts {
		if decoded[i], err = decode64(part); err != nil {
			return header, nil, nil, errors.New("it is not base64url; was all of it copied?")
		}
	}
	if json.Unmarshal(decoded[0], &header) != nil {
		return header, nil, nil, errors.New("its header is not JSON")
	}
	return header, decoded[1], decoded[2], nil
}

// An Error says why a program that requires a check was not started.
type Error struct {
	Code    string // Missing, Wrong ...
	Detail  string // one sentence
	Profile string
	Script  string // the name of the saved program, if it is one
	Tool    string // that runs programs here; "" if unknown
	Link    string // to the page that changes the rules; "" if there is none
	Life    time.Duration
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The program was not started (%s): %s.\n", e.Code, e.Detail)
	if e.Profile != "" {
		fmt.Fprintf(&b, "The profile %s requires that a program is checked before it runs:\n", e.Profile)
	} else {
		b.WriteString("Programs have to be checked here before they run:\n")
	}
	check, token := "Call codemode_check with this program as code", "preflight"
	switch {
	case !strings.HasPrefix(e.Tool, BaseTool) && e.Script == "" && e.Tool != "":
		check, token = "Run codemode check with this program", "--preflight"
		if e.Profile != "" {
			check += " and --profile " + e.Profile
		}
	case e.Script != "":
		check = fmt.Sprintf("Call codemode_check with %q as script", e.Script)
	case e.Profile != "":
		check += fmt.Sprintf(" and %q as profile", e.Profile)
	}
	fmt.Fprintf(&b, "  1. %s.\n", check)
	b.WriteString("  2. Read what it says. If calls would be refused, change the program and check it again.\n")
	fmt.Fprintf(&b, "  3. Call %s with the same program, byte for byte, and the token from the check as %s.\n",
		cmp.Or(e.Tool, "the same tool"), token)
	fmt.Fprintf(&b, "A token counts for one program under one profile as it is now, for %s.\n", visible.Duration(e.Life))
	if e.Link != "" {
		fmt.Fprintf(&b, "For the person who looks after the rules: %s\n", e.Link)
	}
	b.WriteString(`Reply to paste: "Programs are checked here before they run. ` +
		`I check this one first and then run it; there is nothing for you to do."`)
	return b.String()
}

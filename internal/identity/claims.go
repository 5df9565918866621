package identity

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Claims are what a token says: the payload of a JWT, or an answer of introspection.
type Claims struct{ strictjson.Value }

// Parse reads claims. It refuses what is no JSON object, and an object that readers could understand differently.
func Parse(text []byte) (Claims, bool) {
	v, err := strictjson.Parse(text, strictjson.Options{})
	return Claims{v}, err == nil && v.Kind() == strictjson.Object
}

// Claim finds a claim by its name, or by a JSON Pointer.
func (c Claims) Claim(name string) strictjson.Value {
	if strings.HasPrefix(name, "/") {
		v, _ := c.At(name)
		return v
	}
	v, _ := c.Member(name)
	return v
}

// Has reports whether there is a claim.
func (c Claims) Has(name string) bool { return c.Claim(name).Kind() != strictjson.Missing }

// Named returns a claim that is a text, "" for others.
func (c Claims) Named(name string) string {
	if v := c.Claim(name); v.Kind() == strictjson.String {
		return v.Text()
	}
	return ""
}

// Texts returns the texts of a claim that is a list, or the one that it is.
func (c Claims) Texts(name string) []string {
	v := c.Claim(name)
	switch v.Kind() {
	case strictjson.String:
		return []string{v.Text()}
	case strictjson.Array:
		var all []string
		for _, one := range v.Elements() {
			if one.Kind() == strictjson.String {
				all = append(all, one.Text())
			}
		}
		return all
	}
	return nil
}

// latest is far in the future, in seconds since 1970; later times would overflow.
const latest = 1 << 40

// Moment returns a claim that is a time. Without the claim ok is false.
func (c Claims) Moment(name string) (at time.Time, ok bool, err error) {
	v := c.Claim(name)
	if v.Kind() == strictjson.Missing {
		return time.Time{}, false, nil
	}
	seconds, err := strconv.ParseFloat(v.Text(), 64)
	if v.Kind() != strictjson.Number || err != nil || seconds < 0 || seconds > latest {
		return time.Time{}, false, fmt.Errorf("the claim %s of the token is not a time", name)
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)), true, nil
}

// longestPrincipal is the maximum length of a principal's name, as in package config.
const longestPrincipal = 128

// Principal is the name of the holder of a token: the name of the issuer in the configuration, a colon, and a claim.
// The names of two issuers are different, and so are those of two values of the claim.
func (c Claims) Principal(issuer, claim string) (string, error) {
	name := c.Named(claim)
	if name == "" || c.Named("sub") == "" {
		return "", errors.New("the token does not say who holds it")
	}
	if claim == "email" && c.Claim("email_verified").Kind() != strictjson.True {
		return "", errors.New("the issuer has not verified the address of the holder")
	}
	principal := issuer + ":" + escape(name)
	if len(principal) > longestPrincipal {
		return "", errors.New("the name of the holder is too long")
	}
	return principal, nil
}

// escape writes a name with the characters that principals may have. Different names stay different.
func escape(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._:@+-", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

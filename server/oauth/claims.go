package oauth

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// claims are what a token says: the payload of a JWT, or an answer of introspection.
type claims struct{ strictjson.Value }

func parseClaims(text []byte) (claims, bool) {
	v, err := strictjson.Parse(text, strictjson.Options{})
	return claims{v}, err == nil && v.Kind() == strictjson.Object
}

// at finds a claim by its name, or by a JSON Pointer.
func (c claims) at(name string) strictjson.Value {
	if strings.HasPrefix(name, "/") {
		v, _ := c.At(name)
		return v
	}
	v, _ := c.Member(name)
	return v
}

func (c claims) has(name string) bool { return c.at(name).Kind() != strictjson.Missing }

// text returns a claim that is a text, "" for others.
func (c claims) text(name string) string {
	if v := c.at(name); v.Kind() == strictjson.String {
		return v.Text()
	}
	return ""
}

// texts returns the texts of a claim that is a list, or the one that it is.
func (c claims) texts(name string) []string {
	v := c.at(name)
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

// time returns a claim that is a time. Without the claim ok is false.
func (c claims) time(name string) (at time.Time, ok bool, err error) {
	v := c.at(name)
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

// scopes returns the scopes of a token: the claim scope (RFC 9068), or scp, as some issuers write it.
func (c claims) scopes() (all []string) {
	for _, name := range []string{"scope", "scp"} {
		for _, text := range c.texts(name) {
			all = append(all, strings.Fields(text)...)
		}
	}
	return all
}

// longestPrincipal is the maximum length of a principal's name, as in package config.
const longestPrincipal = 128

// identify reads who holds a token, and what it allows.
func (i *issuer) identify(said claims) (*Identity, error) {
	who := &Identity{Issuer: i.URL, Subject: said.text("sub"), scopes: said.scopes(), access: i.Profiles}
	name := said.text(i.Principal)
	if name == "" || who.Subject == "" {
		return nil, invalid("no_principal", "the token does not say who holds it")
	}
	if i.Principal == "email" && said.at("email_verified").Kind() != strictjson.True {
		return nil, invalid("no_principal", "the issuer has not verified the address of the holder")
	}
	if who.Principal = i.Name + ":" + escape(name); len(who.Principal) > longestPrincipal {
		return nil, invalid("no_principal", "the name of the holder is too long")
	}
	if i.Roles != "" {
		who.Roles = said.texts(i.Roles)
	}
	for _, a := range i.Profiles {
		if (a.Scope == "" || slices.Contains(who.scopes, a.Scope)) && who.hasRole(a) {
			who.Profiles = append(who.Profiles, a.Profile)
		}
	}
	return who, nil
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

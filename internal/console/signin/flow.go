package signin

import (
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A sign-in in progress is in no memory of this process, so that no flood of them pushes out another person's. The
// browser keeps a text, the binding, in a cookie: when the sign-in began, a random part, what it proves, and where it
// leads. State,
// nonce and code verifier are MACs of the binding with a key of this process. So the state proves that the binding is
// unchanged, and who reads the cookie learns none of the three.

const (
	// flowLife is how long a person may take at the provider.
	flowLife = 10 * time.Minute
	// maxUsed bounds the remembered states of callbacks. Beyond it the oldest is forgotten; the provider still accepts a
	// code once.
	maxUsed = 100_000
	// freshSkew is how much the clocks of this machine and of the provider may differ when a person signs in anew.
	freshSkew = time.Minute
	// longestTo bounds the page to open, in bytes: browsers drop a cookie of more than 4 KiB.
	longestTo = 1 << 10
)

// newBinding begins a sign-in that leads to a page, and may prove something.
func newBinding(to, proves string, now time.Time) string {
	if len(to) > longestTo {
		to = ""
	}
	text := strings.Join([]string{strconv.FormatInt(now.Unix(), 10), rand.Text(), url.QueryEscape(proves), to}, " ")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// unbind reads a binding. Only a binding whose state is proven says the truth.
func unbind(binding string) (began time.Time, to, proves string) {
	text, _ := base64.RawURLEncoding.DecodeString(binding)
	parts := strings.SplitN(string(text), " ", 4)
	if len(parts) != 4 {
		return time.Time{}, "", ""
	}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return time.Time{}, "", ""
	}
	proves, err = url.QueryUnescape(parts[2])
	if err != nil {
		return time.Time{}, "", ""
	}
	return time.Unix(at, 0), parts[3], proves
}

// A useList remembers which sign-ins came back, oldest first.
type useList struct {
	at    map[string]bool // by state
	order []string
}

// use reports whether a state comes for the first time.
func (u *useList) use(state string) bool {
	if u.at[state] {
		return false
	}
	if u.at == nil {
		u.at = map[string]bool{}
	}
	if len(u.order) >= maxUsed {
		delete(u.at, u.order[0])
		u.order = u.order[1:]
	}
	u.at[state] = true
	u.order = append(u.order, state)
	return true
}

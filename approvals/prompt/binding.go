package prompt

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// bindingVersion changes whenever digests are made of something else.
const bindingVersion = 2

// A binding is everything that a yes is a yes to. If any of it is another by the time the call is made, the yes is no
// longer about that call.
type binding struct {
	Profile        string
	ProfileDigest  string
	Server         string
	ToolDefinition string // digest
	Tool           string // as the upstream names it
	Args           json.RawMessage
	Principal      string // for whom the call is made
	Run            string
	Seq            int // of the call in its run
	Expires        time.Time
}

// digest is the SHA-256 of the canonical JSON of b. Arguments that have no such form cannot be bound, and so not
// approved.
func (b *binding) digest() (string, error) {
	args, err := canonical(b.Args)
	if err != nil {
		return "", err
	}
	to := append([]byte(`{"args":`), args...)
	for _, f := range []struct{ name, value string }{ // in the order of RFC 8785
		{"expires", b.Expires.UTC().Format(time.RFC3339Nano)}, {"principal", b.Principal}, {"profile", b.Profile},
		{"profileDigest", b.ProfileDigest}, {"run", b.Run}, {"seq", ""}, {"server", b.Server}, {"tool", b.Tool}, {"toolDefinition", b.ToolDefinition},
	} {
		to = append(to, `,"`+f.name+`":`...)
		if f.name == "seq" {
			to = strconv.AppendInt(to, int64(b.Seq), 10)
			continue
		}
		if !utf8.ValidString(f.value) {
			return "", fmt.Errorf("the %s is not UTF-8", f.name)
		}
		to = strictjson.AppendString(to, f.value)
	}
	to = fmt.Appendf(to, `,"v":%d}`, bindingVersion)
	return "sha256:" + hex.EncodeToString(digest(to)), nil
}

// Bind returns the digest of everything that a yes to r is about, if it is given before expires. Arguments on which
// JSON readers differ have none and cannot be approved.
func (r *Request) Bind(expires time.Time) (string, error) {
	b := &binding{
		Profile: r.Profile, ProfileDigest: r.ProfileDigest, Server: cmp.Or(r.ServerID, r.Server), ToolDefinition: r.Definition, Tool: r.Tool,
		Args: r.Args, Principal: r.Principal, Run: r.Run, Seq: r.Call, Expires: expires,
	}
	return b.digest()
}

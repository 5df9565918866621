package prompt

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// bindingVersion changes whenever the input of the digests changes.
const bindingVersion = 3

// Bind returns the digest of everything that a yes to r covers, if it is given before expires: the SHA-256 of its
// canonical JSON. If any of it has changed by the time the call is made, the yes no longer covers that call. Arguments
// that JSON readers interpret differently have no digest and cannot be approved.
func (r *Request) Bind(expires time.Time) (string, error) {
	args, err := canonical(r.Args)
	if err != nil {
		return "", err
	}
	to := append([]byte(`{"args":`), args...)
	basis := cmp.Or(r.Basis, r.ProfileDigest)
	for _, f := range []struct{ name, value string }{ // in the order of RFC 8785
		{"basis", basis}, {"expires", expires.UTC().Format(time.RFC3339Nano)}, {"principal", r.Principal},
		{"profile", r.Profile}, {"run", r.Run}, {"seq", ""}, {"server", cmp.Or(r.ServerID, r.Server)},
		{"tool", r.Tool}, {"toolDefinition", r.Definition},
	} {
		to = append(to, `,"`+f.name+`":`...)
		if f.name == "seq" { // the number of the call in its run
			to = strconv.AppendInt(to, int64(r.Call), 10)
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

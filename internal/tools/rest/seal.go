package rest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// nextName is an argument of every operation: the part of the address of a next page that no declared argument has. It
// is an object of a query and of a seal, without which anybody could add parameters to a call.
const nextName = "$next"

type sealed struct {
	Query string `json:"query"`
	Seal  string `json:"seal"`
}

// sign seals a query for one address.
func (c *Client) sign(method string, at *url.URL, query string) string {
	h := hmac.New(sha256.New, c.seal)
	h.Write([]byte(method + "\n" + at.EscapedPath() + "\n" + query))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// opened returns the parameters of a [nextName] that this client has made for an address.
func (c *Client) opened(method string, at *url.URL, args strictjson.Value) ([]pair, error) {
	v, ok := args.Member(nextName)
	if !ok {
		return nil, nil
	}
	query, _ := v.Member("query")
	seal, _ := v.Member("seal")
	want := c.sign(method, at, query.Text())
	if v.Len() != 2 || query.Text() == "" || !hmac.Equal([]byte(seal.Text()), []byte(want)) {
		return nil, &ArgumentError{"/" + nextName, "it is none that a page of this operation came with"}
	}
	return queryPairs(query.Text()), nil
}

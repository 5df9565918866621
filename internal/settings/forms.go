package settings

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A Form is what a text has to be.
type Form struct {
	Schema string // as much of it as JSON Schema can say

	check func(what, text string) (message, hint string)
}

// Check returns what is wrong with a text and the way out, both "" if nothing is. what is its key in messages.
func (f Form) Check(what, text string) (message, hint string) {
	if f.check == nil {
		return "", ""
	}
	return f.check(what, text)
}

// Forms are the forms of texts, by the names that the tags of a [Spec] have.
var Forms = map[string]Form{
	"acr": matching(`^[!-~]+$`, "%[1]s is not an authentication context class",
		"write one value, as the provider names it"),
	"below": {textSchema, below},
	"budget": matching(`^[A-Za-z0-9][A-Za-z0-9._:@+%-]{0,127}$`, "%.40[2]q is no id of a budget",
		"it has letters, digits and ._:@+-"),
	"client":   matching(`^[ -~]{1,256}$`, "%[1]s is not the ID of a client", "write it as the provider shows it"),
	"database": {pattern(`^postgres(ql)?://|\$\{`), database},
	"destination": matching(`^[A-Za-z0-9_-]{1,64}$`, "%.40[2]q is no name for a destination",
		"take letters, digits, - and _, 64 at most"),
	"file":   {textSchema, databaseFile},
	"header": matching(`^[A-Za-z0-9][A-Za-z0-9-]*$`, "%.40[2]q is not the name of a header", ""),
	"headerValue": {`{"type": "string"}`,
		matching(`^[^\x00-\x1f\x7f-\x9f]*$`, "the value of %[1]s cannot be sent in a header", "").check},
	"host": {pattern(`^[A-Za-z0-9.:-]+$`), host},
	"id":   matching(`^[^\x00-\x1f\x7f]*$`, "%[1]s has control characters", ""),
	"issuer": {`{"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$", "not": {"enum": ["local", "sha256"]}}`,
		issuerName},
	"link":       {pattern(`^https?://[^?#@]+$`), link},
	"listener":   {textSchema, listener},
	"mailbox":    {textSchema, mailbox},
	"name":       {Schema: `{"$ref": "#/$defs/profileName"}`},
	"named":      {Schema: textSchema}, // a profile that another file may add
	"origin":     {pattern(`^https?://[^/?#@]+$`), origin},
	"own":        {textSchema, ownListener},
	"path":       {textSchema, wholePath},
	"pathAtHome": {pattern("^(/|~$|~/)"), pathAtHome},
	"pattern":    {Schema: `{"$ref": "#/$defs/pattern"}`},
	"pointer":    {Schema: pattern("^/")},
	"principal": matching(`^[A-Za-z0-9][A-Za-z0-9._:@+%-]{0,127}$`, "%.40[2]q is not the name of a principal",
		"such as local:anna: it has letters, digits and ._:@+%- and is at most 128 bytes long"),
	"profile":  {Schema: `{"$ref": "#/$defs/profileName"}`}, // likewise
	"resource": {pattern(`^https?://[^?#@]+[^/?#@]$`), resource},
	"scope":    matching(`^[!#-\[\]-~]+$`, "%.40[2]q is not a scope", "one word without spaces, quotes and backslashes"),
	"secret":   {Schema: pattern(`\$\{`)},
	"server":   {pattern(`^https?://[^?#@]+$`), server},
	"sha256": matching(`^(sha256:)?[0-9a-fA-F]{64}$`, "%[1]s must be the 64 hexadecimal digits of the file's SHA-256",
		"sha256sum FILE prints it"),
	"socketMode": matching(`^0(00[246]|0[246][0246]|[246][0246]{2})$`, "%.20[2]q is not the mode of a socket",
		`write it as "0660"`),
	"store": {`{"type": "string", "minLength": 1, "anyOf": [{"pattern": "\\$\\{"}, {"pattern": "^postgres(ql)?://"},
		{"not": {"pattern": "^([A-Za-z0-9_-]+$|[A-Za-z][A-Za-z0-9+.-]+:)"}}]}`, fileOrDatabase},
	"tenant": matching(`^[a-z][a-z0-9-]{0,39}$`, "%.60[2]q is not the name of a tenant",
		"it begins with a small letter, goes on with small letters, digits and -, and is at most 40 bytes long"),
	"token": {textSchema, matching(`^[!-~]*$`, "%[1]s has a character that no token has", "").check},
	"tool": matching(`^[A-Za-z0-9_-]{1,64}$`, "%.40[2]q is no name of a tool",
		"take letters, digits, - and _, 64 at most"),
	"web":   {pattern(`^[hH][tT][tT][pP][sS]?://|\$\{`), webURL},
	"whsec": {textSchema, signing},
}

const textSchema = `{"$ref": "#/$defs/text"}`

func pattern(of string) string { return `{"type": "string", "pattern": ` + strconv.Quote(of) + `}` }

// matching is a form of texts that match a regular expression. says has the key as its first, and the text as its
// second operand.
func matching(of, says, hint string) Form {
	expression := regexp.MustCompile(of)
	return Form{pattern(of), func(what, text string) (string, string) {
		if expression.MatchString(text) {
			return "", ""
		}
		return fmt.Sprintf(says, what, text), hint
	}}
}

var (
	hosts       = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	issuerNames = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

	// keywords finds a PostgreSQL connection string in the keyword/value format.
	keywords = regexp.MustCompile(`(?i)(^|\s)(host|hostaddr|port|user|password|dbname|passfile|service|sslmode)\s*=`)
	// bareWord matches a word that is unlikely to be a file name: most likely it means a kind of database.
	bareWord = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	// likeURL matches the beginning of an intended URL; a single letter is a Windows drive.
	likeURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)
)

// below is about a path inside the folder that "root" names. A path has only one spelling, so that a rule means one
// file.
func below(what, text string) (message, hint string) {
	clean := path.Clean(text)
	switch {
	case strings.HasPrefix(text, "/") || strings.Contains(text, `\`) || clean == ".." || strings.HasPrefix(clean, "../"):
		return what + " must be inside the root",
			`it is relative to "root" and has slashes, such as "reports/weekly.ts"`
	case clean != text:
		return what + " must be written in the shortest way", fmt.Sprintf("write %q", clean)
	}
	return "", ""
}

func host(_, text string) (message, hint string) {
	if _, err := netip.ParseAddr(text); err != nil && !hosts.MatchString(strings.ToLower(text)) {
		return fmt.Sprintf("%.80q is not the name of a host", strings.ToLower(text)),
			`write it without scheme and port: "codemode.example.com"`
	}
	return "", ""
}

// issuerName is about the name of who issues tokens. It begins the names of principals, as that of this machine does,
// and that of fingerprints of tokens.
func issuerName(_, text string) (message, hint string) {
	switch {
	case text == "local" || text == "sha256":
		return fmt.Sprintf("principals that begin with %q are others", text+":"), "take another name"
	case !issuerNames.MatchString(text):
		return fmt.Sprintf("%.40q is not a name for an issuer", text),
			"it has lower case letters, digits and -, and begins the names of principals: acme:anna"
	}
	return "", ""
}

func wholePath(what, text string) (message, hint string) {
	if !filepath.IsAbs(text) {
		return what + " must be an absolute path", "write the whole path"
	}
	return "", ""
}

func pathAtHome(what, text string) (message, hint string) {
	if !filepath.IsAbs(text) && text != "~" && !strings.HasPrefix(text, "~/") {
		return fmt.Sprintf("%s is %q, which is not an absolute path", what, text), "write it in full, or begin with ~/"
	}
	return "", ""
}

func mailbox(what, text string) (message, hint string) {
	if a, err := mail.ParseAddress(text); err != nil || a.Name != "" || a.Address != text {
		return what + " must be the address of a mailbox", `write the address alone: "anna@example.com"`
	}
	return "", ""
}

// OnThisMachine reports whether only this machine can reach a host, as its name says.
func OnThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// HostAndPort takes the address of a listener apart; the host of a port alone is "".
func HostAndPort(text string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port, err = net.SplitHostPort(net.JoinHostPort("", text))
	}
	_, bad := strconv.ParseUint(port, 10, 16)
	return host, port, err == nil && bad == nil
}

// listener is about the address of a listener.
func listener(_, text string) (message, hint string) {
	if _, _, ok := HostAndPort(text); !ok {
		return fmt.Sprintf("%.80q is not an address", text), `write a port, or an address such as "127.0.0.1:9464"`
	}
	return "", ""
}

// ownListener is about the address of a listener that only this machine can reach.
func ownListener(what, text string) (message, hint string) {
	switch host, _, ok := HostAndPort(text); {
	case !ok:
		message, _ = listener(what, text)
		return message, `write a port, or an address such as "127.0.0.1:7391"`
	case host != "" && !OnThisMachine(host):
		return fmt.Sprintf("the page is served on this machine only, without TLS, and %.80q is reached from elsewhere", text),
			`take 127.0.0.1, put what adds TLS before it, and name it in "origin"`
	}
	return "", ""
}

// isWeb reports whether a text is the address of a web server.
func isWeb(u *url.URL, err error) bool {
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// webURL is about the URL of a server that gets data.
func webURL(what, text string) (message, hint string) {
	if !isWeb(url.Parse(text)) {
		return what + " must be the URL of a server", "begin it with https:// or http://"
	}
	return "", ""
}

func origin(_, text string) (message, hint string) {
	if u, err := url.Parse(text); !isWeb(u, err) || u.Path+u.RawQuery+u.Fragment != "" || u.User != nil {
		return fmt.Sprintf("%.80q is not an origin such as https://codemode.example.com", text),
			"write it as browsers send it: scheme, host and port, and no path"
	}
	return "", ""
}

// link is about the address of a page that people open: links append to it.
func link(what, text string) (message, hint string) {
	u, err := url.Parse(text)
	switch {
	case !isWeb(u, err) || u.Hostname() == "":
		return what + " must be an address that begins with https:// or http://",
			`write the whole address, such as "https://codemode.example/console"`
	case u.User != nil:
		return what + " must not contain a password: everybody who sees the link gets it",
			"remove what stands before the @"
	case strings.ContainsAny(text, "?#"):
		return what + " must not have a query or a fragment: a link with a login would let everybody in who sees it",
			"end it before the ? or #"
	}
	return "", ""
}

// server is about the address of a server whose tokens are believed. Only this machine may do without TLS.
func server(what, text string) (message, hint string) {
	u, err := url.Parse(text)
	switch {
	case !isWeb(u, err) || u.User != nil || u.Opaque != "" || strings.ContainsAny(text, "?#"):
		return what + " must be the address of a server", "write it as https://host/path, without a query"
	case u.Scheme == "http" && !OnThisMachine(u.Hostname()):
		return fmt.Sprintf("%s is not encrypted, and %.80q is another machine", what, u.Hostname()),
			"begin it with https://"
	}
	return "", ""
}

// resource is about the address of /mcp in the one way of writing that clients use too.
func resource(what, text string) (message, hint string) {
	if message, hint = server(what, text); message != "" {
		return message, hint
	}
	u, _ := url.Parse(text)
	canonical := *u
	canonical.Host = strings.ToLower(u.Host)
	if port := u.Port(); port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		canonical.Host = strings.TrimSuffix(canonical.Host, ":"+port)
	}
	canonical.Path = strings.TrimRight(u.Path, "/")
	if canonical.String() != text || canonical.Path == "" {
		return fmt.Sprintf("%.80q is not the usual form of the address of /mcp", text),
			"write it as clients connect: in lower case, with the path /mcp, and without a slash at its end"
	}
	return "", ""
}

func fileOrDatabase(what, text string) (message, hint string) {
	switch {
	case LikeURL(text):
		return database(what, text)
	case bareWord.MatchString(text):
		return "this is neither a file nor the URL of a database",
			`write "postgres://user@host/database" for a PostgreSQL database, or a file as {"path": "codemode.db"}`
	}
	return databaseFile(what, text)
}

// LikeURL reports whether a text is meant to be a URL, and no file.
func LikeURL(text string) bool { return likeURL.MatchString(text) }

func databaseFile(_, text string) (message, hint string) {
	switch {
	case keywords.MatchString(text):
		return "a connection string in keywords may hold a password, and would become the name of a file",
			`write it as a URL: "postgres://user:password@host:port/database"`
	case LikeURL(text):
		return "this is a URL, and would become the name of a file", `"url" takes the URL of a PostgreSQL database`
	}
	return "", ""
}

func database(_, text string) (message, hint string) {
	if u, err := url.Parse(text); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" {
		return "the URL of a database must begin with postgres://",
			"such as postgres://user@host:5432/database; a file of SQLite is written as its path alone"
	}
	return "", ""
}

// The least and the most bytes of a secret that signs, as Standard Webhooks wants it.
const leastSecret, mostSecret = 24, 64

// SigningSecret reads a secret as Standard Webhooks writes it.
func SigningSecret(text string) (secret []byte, ok bool) {
	encoded, ok := strings.CutPrefix(text, "whsec_")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	return secret, ok && err == nil && len(secret) >= leastSecret && len(secret) <= mostSecret
}

func signing(what, text string) (message, hint string) {
	if _, ok := SigningSecret(text); !ok {
		return what + " must be whsec_ and 24 to 64 bytes in base64", `make one: echo "whsec_$(openssl rand -base64 32)"`
	}
	return "", ""
}

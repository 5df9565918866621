package profiles

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/typos"
)

// The keys of this file concern the process as a whole: http, console, store and responder. They are handed on as
// they are to whoever acts on them, so everything that can be wrong with them is found here, with its place. What
// depends on variables of the environment is looked at again when they are known, see [Config.ProblemAt].

// process checks such a key and keeps its value.
func (b *builder) process(n strictjson.Value, to *json.RawMessage, check func(strictjson.Value)) {
	if b.project() { // it has no effect there, whatever it says
		b.setting(n, to, nil)
		return
	}
	check(n)
	b.setting(n, to, source(n))
}

const (
	// maxTokens bounds what is compared with each request.
	maxTokens = 10_000
	// longestPrincipal is how long the name of a principal may be.
	longestPrincipal = 128
)

var (
	inVariable    = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
	principalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@+-]*$`)
	hostName      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	// keywords finds a PostgreSQL connection string in its form of keywords and values.
	keywords = regexp.MustCompile(`(?i)(^|\s)(host|hostaddr|port|user|password|dbname|passfile|service|sslmode)\s*=`)
	// bareWord is what nobody calls a file: most likely it was meant as a kind of database.
	bareWord = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	// likeURL begins what is meant as a URL; one letter is a drive of Windows.
	likeURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)
)

// inEnvironment reports whether a value depends on the environment.
func inEnvironment(text string) bool { return strings.Contains(text, "${") }

// http reads who may come in over HTTP:
//
//	"http": {
//	  "tokens": [
//	    { "token": "${ANNA_TOKEN}", "principal": "anna", "profiles": ["supervised"] },
//	    { "token": "sha256:9f86d081...", "principal": "ci", "profiles": ["readonly"] },
//	    { "token": "${ANNA_ANSWERS}", "principal": "anna", "answers": true }
//	  ],
//	  "hosts": ["codemode.example.com"],
//	  "origins": ["https://codemode.example.com"]
//	}
func (b *builder) http(n strictjson.Value) {
	if n.Kind() == strictjson.String {
		b.wrong(n, `the address is that of codemode serve --http; write {"tokens": [...]} to say who may come in`, `"http" must be an object, this is a string`)
		return
	}
	seen := map[string]int{}
	b.object(n, `"http"`, []field{
		{"tokens", func(n strictjson.Value) {
			count := 0
			for child := range b.elements(n, `"tokens"`, true) {
				if count++; count == maxTokens+1 {
					b.wrong(child, "remove some", `"tokens" has more than %d entries`, maxTokens)
				}
				b.token(child, seen)
			}
		}},
		{"hosts", func(n strictjson.Value) {
			for child := range b.elements(n, `"hosts"`, true) {
				h, ok := b.text(child, "a host")
				if _, err := netip.ParseAddr(h); ok && err != nil && !hostName.MatchString(strings.ToLower(h)) {
					b.wrong(child, `write it without scheme and port: "codemode.example.com"`, "%.80q is no name of a host", h)
				}
			}
		}},
		{"origins", func(n strictjson.Value) {
			for child := range b.elements(n, `"origins"`, true) {
				b.origin(child, "an origin")
			}
		}},
	})
}

func (b *builder) token(n strictjson.Value, seen map[string]int) {
	var answersAt, profilesAt strictjson.Value
	ok := b.object(n, "a token", []field{
		{"answers", func(n strictjson.Value) {
			if yes, _ := b.boolean(n, `"answers"`); yes {
				answersAt = n
			}
		}},
		{"token", func(n strictjson.Value) {
			text, ok := b.text(n, `"token"`)
			if !ok {
				return
			}
			digest, isDigest := strings.CutPrefix(text, "sha256:")
			switch sum, err := hex.DecodeString(digest); {
			case isDigest && (err != nil || len(sum) != 32):
				b.wrong(n, "printf %s \"$TOKEN\" | sha256sum prints them, without a line break in the token", `after "sha256:" there have to be 64 hexadecimal digits`)
			case !isDigest && !inVariable.MatchString(text):
				b.wrong(n, `write "${VARIABLE}", or "sha256:" and its digest`, "a token does not stand in the file itself")
			}
			if line := seen[strings.ToLower(text)]; line != 0 {
				b.wrong(n, fmt.Sprintf("it is on line %d already: keep one of the two", line), "the same token twice")
			} else {
				seen[strings.ToLower(text)] = b.place(n.Offset()).Line
			}
		}},
		{"principal", func(n strictjson.Value) {
			name, ok := b.text(n, `"principal"`)
			if ok && (len(name) > longestPrincipal || !principalName.MatchString(name)) {
				b.wrong(n, fmt.Sprintf("it has letters, digits and ._:@+- and is at most %d bytes long", longestPrincipal), "%.40q is no name of a principal", name)
			}
		}},
		{"profiles", func(n strictjson.Value) {
			profilesAt = n
			if n.Kind() == strictjson.Array && n.Len() == 0 {
				b.wrong(n, `leave "profiles" out to allow all`, "with an empty list of profiles the token is good for nothing")
				return
			}
			for child := range b.elements(n, `"profiles"`, true) {
				if _, named := b.profileNamed(child, "an entry of \"profiles\""); named.Kind() != strictjson.Missing {
					b.namedProfiles = append(b.namedProfiles, named)
				}
			}
		}},
	})
	if ok && member(n, "token").Kind() == strictjson.Missing {
		b.wrong(n, `add "token": "${VARIABLE}"`, "an entry without a token")
	}
	if answersAt.Kind() != strictjson.Missing && profilesAt.Kind() != strictjson.Missing {
		b.wrongKey(profilesAt, "remove it, or add another token for programs",
			`a token with "answers" runs no program, so it has no profiles`)
	}
	if ok && answersAt.Kind() != strictjson.Missing && member(n, "principal").Kind() == strictjson.Missing {
		b.wrongKey(answersAt, `add "principal": whose questions it answers`,
			`a token with "answers" and without a principal answers for nobody`)
	}
}

// reachable reports profiles that tokens name and nobody has. It is no error: another file may bring them.
func (b *builder) reachable() {
	for _, n := range b.namedProfiles {
		if b.find(n.Text()) == nil {
			hint := "define it, or remove it here"
			if near := typos.Nearest(n.Text(), b.profileNames()); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			b.doubt(b.place(n.Offset()), len(n.Text())+2, hint, "there is no profile %q, so the token is good for nothing there", n.Text())
		}
	}
}

func (b *builder) origin(n strictjson.Value, what string) {
	text, ok := b.text(n, what)
	if !ok {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path+u.RawQuery+u.Fragment != "" || u.User != nil {
		b.wrong(n, "write it as browsers send it: scheme, host and port, and no path", "%.80q is no origin such as https://codemode.example.com", text)
	}
}

// console reads where people answer, and who they are: false, an address, or an object.
func (b *builder) console(n strictjson.Value) {
	switch n.Kind() {
	case strictjson.False:
		return
	case strictjson.True:
		b.wrong(n, `write an address, such as "127.0.0.1:7391"`, `"console": true says too little`)
		return
	case strictjson.String:
		b.address(n)
		return
	case strictjson.Object:
	default:
		b.wrong(n, `write false, an address such as "127.0.0.1:7391", or an object`, `"console" must be false, a string or an object, this is %s`, n.Kind())
		return
	}
	b.object(n, `"console"`, []field{
		{"address", b.address},
		{"origin", func(n strictjson.Value) { b.origin(n, `"origin"`) }},
		{"people", func(n strictjson.Value) {
			if n.Kind() != strictjson.Object {
				b.wrong(n, `write {"local:anna": {"answersFor": ["ci"]}}`, `"people" must be an object, this is %s`, n.Kind())
				return
			}
			b.unique(n)
			for child := range children(n) {
				if !principalName.MatchString(child.Key()) || len(child.Key()) > longestPrincipal {
					b.wrongKey(child, "write the principal that logs in, such as local:anna", "%.40q is no name of a principal", child.Key())
				}
				b.object(child, fmt.Sprintf("%q in \"people\"", child.Key()), []field{
					{"answersFor", func(n strictjson.Value) {
						for one := range b.elements(n, `"answersFor"`, true) {
							b.text(one, "a principal")
						}
					}},
					{"rules", func(n strictjson.Value) { b.boolean(n, `"rules"`) }},
				})
			}
		}},
		{"idle", func(n strictjson.Value) { b.duration(n, `"idle"`) }},
		{"life", func(n strictjson.Value) { b.duration(n, `"life"`) }},
	})
}

// address reads the address of a listener that only this machine can reach.
func (b *builder) address(n strictjson.Value) {
	const hint = `write a port, or an address such as "127.0.0.1:7391"`
	text, ok := b.text(n, "the address")
	if !ok {
		return
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port, err = net.SplitHostPort(net.JoinHostPort("", text))
	}
	if number, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || number > 65535 {
		b.wrong(n, hint, "%.80q is no address", text)
		return
	}
	if ip := net.ParseIP(host); host != "" && host != "localhost" && !ip.IsLoopback() {
		b.wrong(n, `take 127.0.0.1, put what adds TLS before it, and name it in "origin"`, "the page is served on this machine only, without TLS, and %.80q is reached from elsewhere", text)
	}
}

// store reads where the record is kept: the path of an SQLite file, the URL of a PostgreSQL database, or an object.
func (b *builder) store(n strictjson.Value) {
	switch n.Kind() {
	case strictjson.String:
		if text, ok := b.text(n, `"store"`); ok && !inEnvironment(text) {
			if likeURL.MatchString(text) {
				b.postgres(n, text)
			} else if bareWord.MatchString(text) {
				b.wrong(n, `write "postgres://user@host/database" for a PostgreSQL database, or a file as {"path": "codemode.db"}`, "%q is neither a file nor the URL of a database", text)
			} else {
				b.databaseFile(n, text)
			}
		}
		return
	case strictjson.Object:
	default:
		b.wrong(n, `write a file, "postgres://...", or an object`, `"store" must be an object or a string, this is %s`, n.Kind())
		return
	}
	url := member(n, "url")
	b.object(n, `"store"`, []field{
		{"path", func(n strictjson.Value) {
			text, ok := b.text(n, `"path"`)
			switch {
			case !ok || inEnvironment(text):
			case url.Kind() != strictjson.Missing:
				b.wrong(n, `remove one of "path" and "url"`, `"path" is for SQLite and "url" for PostgreSQL`)
			default:
				b.databaseFile(n, text)
			}
		}},
		{"url", func(n strictjson.Value) {
			if text, ok := b.text(n, `"url"`); ok && !inEnvironment(text) {
				b.postgres(n, text)
			}
		}},
		{"durability", func(n strictjson.Value) {
			if word, ok := b.word(n, `"durability"`, "full", "normal"); ok && word == "normal" && url.Kind() != strictjson.Missing {
				b.wrong(n, "remove it", "durability is the server's own business with PostgreSQL")
			}
		}},
		{"key", func(n strictjson.Value) { b.text(n, `"key"`) }},
		{"keep", func(n strictjson.Value) {
			const hint = `write it as "720h"`
			text, ok := b.text(n, `"keep"`)
			if d, err := time.ParseDuration(text); ok && (err != nil || d < 0) {
				b.wrong(n, hint, "%q is not a length of time", text)
			}
		}},
		{"collector", func(n strictjson.Value) { b.serverURL(n, `"collector"`) }},
		{"checkpoints", func(n strictjson.Value) {
			b.object(n, `"checkpoints"`, []field{
				{"file", func(n strictjson.Value) { b.text(n, `"file"`) }},
				{"webhook", func(n strictjson.Value) { b.serverURL(n, `"webhook"`) }},
				{"log", func(n strictjson.Value) { b.boolean(n, `"log"`) }},
			})
		}},
	})
}

func (b *builder) databaseFile(n strictjson.Value, text string) {
	switch {
	case keywords.MatchString(text):
		b.wrong(n, `write it as a URL: "postgres://user:password@host:port/database"`,
			"a connection string in keywords may hold a password, and would become the name of a file")
	case likeURL.MatchString(text):
		b.wrong(n, `"url" takes the URL of a PostgreSQL database`, "this is a URL, and would become the name of a file")
	}
}

func (b *builder) postgres(n strictjson.Value, text string) {
	if u, err := url.Parse(text); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" {
		b.wrong(n, "such as postgres://user@host:5432/database; a file of SQLite is written as its path alone", "the URL of a database has to begin with postgres://")
	}
}

func (b *builder) serverURL(n strictjson.Value, what string) {
	text, ok := b.text(n, what)
	if !ok || inEnvironment(text) {
		return
	}
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		b.wrong(n, "begin it with https:// or http://", "%s has to be the URL of a server", what)
	}
}

// responder reads how a terminal for answers is opened.
func (b *builder) responder(n strictjson.Value) {
	start := func(n strictjson.Value) { b.word(n, `"responder"`, "off", "hint", "auto", "tmux", "terminal") }
	if n.Kind() == strictjson.String {
		start(n)
		return
	}
	b.object(n, `"responder"`, []field{
		{"start", start},
		{"command", func(n strictjson.Value) {
			for child := range b.elements(n, `"command"`, false) {
				b.text(child, "a word of the command")
			}
		}},
	})
}

// ProblemAt is a problem with the value at a path of keys and indexes, such as "http", "tokens", 0, "token", in the file
// that it comes from. It is for what shows only where the configuration is used, such as a variable that is not set.
func (c *Config) ProblemAt(message, hint string, path ...any) Problem {
	for _, part := range c.parts {
		root, bad := parseFile(part.src)
		if bad != nil || part.Standing == Untrusted || part.Standing == Trusted {
			continue
		}
		n := root
		deepest, found := n, true
		for i, step := range path {
			var next strictjson.Value
			switch step := step.(type) {
			case string:
				next = member(n, step)
			case int:
				at := 0
				for child := range children(n) {
					if at == step {
						next = child
					}
					at++
				}
			}
			if next.Kind() == strictjson.Missing {
				found = i > 0 // the key is there, and the value below it is not
				break
			}
			n, deepest = next, next
		}
		if found {
			r := &reader{file: part.File, src: part.src}
			return r.problem(deepest.Offset(), deepest.End(), message, hint)
		}
	}
	return Problem{Position: Position{File: c.Path}, Message: message, Hint: hint}
}

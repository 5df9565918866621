package config

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

	"github.com/codemode-project/codemode/internal/settings"
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
	b.setting(n, to, settings.Source(n))
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
		b.Wrong(n, `the address is that of codemode serve --http; write {"tokens": [...]} to say who may come in`, `"http" must be an object, this is a string`)
		return
	}
	seen := map[string]int{}
	b.Object(n, `"http"`, []settings.Field{
		settings.Key("tokens", func(n strictjson.Value) {
			count := 0
			for child := range b.Elements(n, `"tokens"`, true) {
				if count++; count == maxTokens+1 {
					b.Wrong(child, "remove some", `"tokens" has more than %d entries`, maxTokens)
				}
				b.token(child, seen)
			}
		}),
		settings.Key("hosts", func(n strictjson.Value) {
			for child := range b.Elements(n, `"hosts"`, true) {
				h, ok := b.Text(child, "a host")
				if _, err := netip.ParseAddr(h); ok && err != nil && !hostName.MatchString(strings.ToLower(h)) {
					b.Wrong(child, `write it without scheme and port: "codemode.example.com"`, "%.80q is no name of a host", h)
				}
			}
		}),
		settings.Key("origins", func(n strictjson.Value) {
			for child := range b.Elements(n, `"origins"`, true) {
				b.origin(child, "an origin")
			}
		}),
	})
}

func (b *builder) token(n strictjson.Value, seen map[string]int) {
	var answersAt, profilesAt strictjson.Value
	ok := b.Object(n, "a token", []settings.Field{
		settings.Key("answers", func(n strictjson.Value) {
			if yes, _ := b.Boolean(n, `"answers"`); yes {
				answersAt = n
			}
		}),
		settings.Key("token", func(n strictjson.Value) {
			text, ok := b.Text(n, `"token"`)
			if !ok {
				return
			}
			digest, isDigest := strings.CutPrefix(text, "sha256:")
			switch sum, err := hex.DecodeString(digest); {
			case isDigest && (err != nil || len(sum) != 32):
				b.Wrong(n, "printf %s \"$TOKEN\" | sha256sum prints them, without a line break in the token", `after "sha256:" there have to be 64 hexadecimal digits`)
			case !isDigest && !inVariable.MatchString(text):
				b.Wrong(n, `write "${VARIABLE}", or "sha256:" and its digest`, "a token does not stand in the file itself")
			}
			if line := seen[strings.ToLower(text)]; line != 0 {
				b.Wrong(n, fmt.Sprintf("it is on line %d already: keep one of the two", line), "the same token twice")
			} else {
				seen[strings.ToLower(text)] = b.Position(n.Offset()).Line
			}
		}),
		settings.Key("principal", func(n strictjson.Value) {
			name, ok := b.Text(n, `"principal"`)
			if ok && (len(name) > longestPrincipal || !principalName.MatchString(name)) {
				b.Wrong(n, fmt.Sprintf("it has letters, digits and ._:@+- and is at most %d bytes long", longestPrincipal), "%.40q is no name of a principal", name)
			}
		}),
		settings.Key("profiles", func(n strictjson.Value) {
			profilesAt = n
			if n.Kind() == strictjson.Array && n.Len() == 0 {
				b.Wrong(n, `leave "profiles" out to allow all`, "with an empty list of profiles the token is good for nothing")
				return
			}
			for child := range b.Elements(n, `"profiles"`, true) {
				if _, named := b.profileNamed(child, "an entry of \"profiles\""); named.Kind() != strictjson.Missing {
					b.namedProfiles = append(b.namedProfiles, named)
				}
			}
		}),
	})
	if ok && settings.Member(n, "token").Kind() == strictjson.Missing {
		b.Wrong(n, `add "token": "${VARIABLE}"`, "an entry without a token")
	}
	if answersAt.Kind() != strictjson.Missing && profilesAt.Kind() != strictjson.Missing {
		b.WrongKey(profilesAt, "remove it, or add another token for programs",
			`a token with "answers" runs no program, so it has no profiles`)
	}
	if ok && answersAt.Kind() != strictjson.Missing && settings.Member(n, "principal").Kind() == strictjson.Missing {
		b.WrongKey(answersAt, `add "principal": whose questions it answers`,
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
			b.Warn(b.Position(n.Offset()), len(n.Text())+2, hint, "there is no profile %q, so the token is good for nothing there", n.Text())
		}
	}
}

func (b *builder) origin(n strictjson.Value, what string) {
	text, ok := b.Text(n, what)
	if !ok {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path+u.RawQuery+u.Fragment != "" || u.User != nil {
		b.Wrong(n, "write it as browsers send it: scheme, host and port, and no path", "%.80q is no origin such as https://codemode.example.com", text)
	}
}

// console reads where people answer, and who they are: false, an address, or an object.
func (b *builder) console(n strictjson.Value) {
	switch n.Kind() {
	case strictjson.False:
		return
	case strictjson.True:
		b.Wrong(n, `write an address, such as "127.0.0.1:7391"`, `"console": true says too little`)
		return
	case strictjson.String:
		b.address(n)
		return
	case strictjson.Object:
	default:
		b.Wrong(n, `write false, an address such as "127.0.0.1:7391", or an object`, `"console" must be false, a string or an object, this is %s`, n.Kind())
		return
	}
	b.Object(n, `"console"`, []settings.Field{
		settings.Key("address", b.address),
		settings.Key("origin", func(n strictjson.Value) { b.origin(n, `"origin"`) }),
		settings.Key("people", func(n strictjson.Value) {
			if n.Kind() != strictjson.Object {
				b.Wrong(n, `write {"local:anna": {"answersFor": ["ci"]}}`, `"people" must be an object, this is %s`, n.Kind())
				return
			}
			b.Unique(n)
			for child := range settings.Children(n) {
				if !principalName.MatchString(child.Key()) || len(child.Key()) > longestPrincipal {
					b.WrongKey(child, "write the principal that logs in, such as local:anna", "%.40q is no name of a principal", child.Key())
				}
				b.Object(child, fmt.Sprintf("%q in \"people\"", child.Key()), []settings.Field{
					settings.Key("answersFor", func(n strictjson.Value) {
						for one := range b.Elements(n, `"answersFor"`, true) {
							b.Text(one, "a principal")
						}
					}),
					settings.Key("rules", func(n strictjson.Value) { b.Boolean(n, `"rules"`) }),
				})
			}
		}),
		settings.Key("idle", func(n strictjson.Value) { b.Duration(n, `"idle"`) }),
		settings.Key("life", func(n strictjson.Value) { b.Duration(n, `"life"`) }),
	})
}

// address reads the address of a listener that only this machine can reach.
func (b *builder) address(n strictjson.Value) {
	const hint = `write a port, or an address such as "127.0.0.1:7391"`
	text, ok := b.Text(n, "the address")
	if !ok {
		return
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port, err = net.SplitHostPort(net.JoinHostPort("", text))
	}
	if number, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || number > 65535 {
		b.Wrong(n, hint, "%.80q is no address", text)
		return
	}
	if ip := net.ParseIP(host); host != "" && host != "localhost" && !ip.IsLoopback() {
		b.Wrong(n, `take 127.0.0.1, put what adds TLS before it, and name it in "origin"`, "the page is served on this machine only, without TLS, and %.80q is reached from elsewhere", text)
	}
}

// store reads where the record is kept: the path of an SQLite file, the URL of a PostgreSQL database, or an object.
func (b *builder) store(n strictjson.Value) {
	switch n.Kind() {
	case strictjson.String:
		if text, ok := b.Text(n, `"store"`); ok && !inEnvironment(text) {
			if likeURL.MatchString(text) {
				b.postgres(n, text)
			} else if bareWord.MatchString(text) {
				b.Wrong(n, `write "postgres://user@host/database" for a PostgreSQL database, or a file as {"path": "codemode.db"}`, "%q is neither a file nor the URL of a database", text)
			} else {
				b.databaseFile(n, text)
			}
		}
		return
	case strictjson.Object:
	default:
		b.Wrong(n, `write a file, "postgres://...", or an object`, `"store" must be an object or a string, this is %s`, n.Kind())
		return
	}
	url := settings.Member(n, "url")
	b.Object(n, `"store"`, []settings.Field{
		settings.Key("path", func(n strictjson.Value) {
			text, ok := b.Text(n, `"path"`)
			switch {
			case !ok || inEnvironment(text):
			case url.Kind() != strictjson.Missing:
				b.Wrong(n, `remove one of "path" and "url"`, `"path" is for SQLite and "url" for PostgreSQL`)
			default:
				b.databaseFile(n, text)
			}
		}),
		settings.Key("url", func(n strictjson.Value) {
			if text, ok := b.Text(n, `"url"`); ok && !inEnvironment(text) {
				b.postgres(n, text)
			}
		}),
		settings.Key("durability", func(n strictjson.Value) {
			if word, ok := b.Word(n, `"durability"`, "full", "normal"); ok && word == "normal" && url.Kind() != strictjson.Missing {
				b.Wrong(n, "remove it", "durability is the server's own business with PostgreSQL")
			}
		}),
		settings.Key("key", func(n strictjson.Value) { b.Text(n, `"key"`) }),
		settings.Key("keep", func(n strictjson.Value) {
			const hint = `write it as "720h"`
			text, ok := b.Text(n, `"keep"`)
			if d, err := time.ParseDuration(text); ok && (err != nil || d < 0) {
				b.Wrong(n, hint, "%q is not a length of time", text)
			}
		}),
		settings.Key("collector", func(n strictjson.Value) { b.serverURL(n, `"collector"`) }),
		settings.Key("checkpoints", func(n strictjson.Value) {
			b.Object(n, `"checkpoints"`, []settings.Field{
				settings.Key("file", func(n strictjson.Value) { b.Text(n, `"file"`) }),
				settings.Key("webhook", func(n strictjson.Value) { b.serverURL(n, `"webhook"`) }),
				settings.Key("log", func(n strictjson.Value) { b.Boolean(n, `"log"`) }),
			})
		}),
	})
}

func (b *builder) databaseFile(n strictjson.Value, text string) {
	switch {
	case keywords.MatchString(text):
		b.Wrong(n, `write it as a URL: "postgres://user:password@host:port/database"`,
			"a connection string in keywords may hold a password, and would become the name of a file")
	case likeURL.MatchString(text):
		b.Wrong(n, `"url" takes the URL of a PostgreSQL database`, "this is a URL, and would become the name of a file")
	}
}

func (b *builder) postgres(n strictjson.Value, text string) {
	if u, err := url.Parse(text); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" {
		b.Wrong(n, "such as postgres://user@host:5432/database; a file of SQLite is written as its path alone", "the URL of a database has to begin with postgres://")
	}
}

func (b *builder) serverURL(n strictjson.Value, what string) {
	text, ok := b.Text(n, what)
	if !ok || inEnvironment(text) {
		return
	}
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		b.Wrong(n, "begin it with https:// or http://", "%s has to be the URL of a server", what)
	}
}

// responder reads how a terminal for answers is opened.
func (b *builder) responder(n strictjson.Value) {
	start := func(n strictjson.Value) { b.Word(n, `"responder"`, "off", "hint", "auto", "tmux", "terminal") }
	if n.Kind() == strictjson.String {
		start(n)
		return
	}
	b.Object(n, `"responder"`, []settings.Field{
		settings.Key("start", start),
		settings.Key("command", func(n strictjson.Value) {
			for child := range b.Elements(n, `"command"`, false) {
				b.Text(child, "a word of the command")
			}
		}),
	})
}

// ProblemAt is a problem with the value at a path of keys and indexes, such as "http", "tokens", 0, "token", in the file
// that it comes from. It is for what shows only where the configuration is used, such as a variable that is not set.
func (c *Config) ProblemAt(message, hint string, path ...any) settings.Problem {
	for _, part := range c.parts {
		root, bad := settings.ParseFile(part.src)
		if bad != nil || part.Standing == Untrusted || part.Standing == Trusted {
			continue
		}
		n := root
		deepest, found := n, true
		for i, step := range path {
			var next strictjson.Value
			switch step := step.(type) {
			case string:
				next = settings.Member(n, step)
			case int:
				at := 0
				for child := range settings.Children(n) {
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
			r := &settings.Reader{File: part.File, Src: part.src}
			return r.ProblemAt(deepest.Offset(), deepest.End(), message, hint)
		}
	}
	return settings.Problem{Position: settings.Position{File: c.Path}, Message: message, Hint: hint}
}

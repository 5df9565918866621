package config

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/config/issuers"
	"github.com/codemode-project/codemode/internal/config/notifications"
	"github.com/codemode-project/codemode/internal/config/signin"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Console is the key "console": the page on which people answer, and who they are. It is false, an address such as
// "127.0.0.1:7391", or
//
//	{ "address": "127.0.0.1:7391",       // absent: only beside "codemode serve --http"
//	  "origin": "https://codemode.example", // where browsers find it, if something stands before it
//	  "people": {
//	    "local:anna": { "answersFor": ["ci"] },          // beside herself
//	    "ben": { "answersFor": ["*"], "rules": false } },
//	  "signIn": { "name": "acme", "issuer": "https://login.example.com", ... },
//	  "idle": "30m", "life": "12h" }
type Console struct {
	Off        bool
	Address    string
	Origin     string
	People     map[string]Person // by the principals that log in
	SignIn     *signin.Settings  // at an identity provider; nil lets people in by links alone
	Idle, Life time.Duration     // of a login; 0 leaves it to the page
}

// A Person may log in, in addition to the user who started the process.
type Person struct {
	// AnswersFor lists the principals that they answer for besides themselves; * is all. Nil, an absent key, means
	// nobody else, except that the user who started the process answers for all.
	AnswersFor []string
	// Rules lets them see and change the configuration, and with it the commands that this process starts.
	Rules bool
}

func (b *builder) console(n strictjson.Value) (c Console) {
	switch n.Kind() {
	case strictjson.False:
		c.Off = true
	case strictjson.True:
		b.Wrong(n, `write an address, such as "127.0.0.1:7391"`, `"console": true does not say where the page is`)
	case strictjson.String:
		c.Address = b.address(n)
	case strictjson.Object:
		b.Object(n, `"console"`, []settings.Field{
			settings.Key("address", func(n strictjson.Value) { c.Address = b.address(n) }),
			settings.Key("origin", func(n strictjson.Value) { c.Origin = b.origin(n, `"origin"`) }),
			settings.Key("people", func(n strictjson.Value) { c.People = b.people(n) }),
			settings.Key("signIn", func(n strictjson.Value) { c.SignIn = signin.Read(b.Reader, n) }),
			settings.Key("idle", func(n strictjson.Value) { c.Idle = b.Duration(n, `"idle"`) }),
			settings.Key("life", func(n strictjson.Value) { c.Life = b.Duration(n, `"life"`) }),
		})
	default:
		b.Wrong(n, `write false, an address such as "127.0.0.1:7391", or an object`,
			`"console" must be false, a string or an object, this is %s`, n.Kind())
	}
	return c
}

// finishSignIn reports names of people who sign in that others could have too.
func (b *builder) finishSignIn() {
	if b.config.Console == nil || b.config.Console.SignIn == nil || len(b.Problems) > 0 {
		return
	}
	var oauth *issuers.Settings
	var answering, ruling []string
	if h := b.config.http; h != nil {
		oauth = h.OAuth
		for _, t := range h.Tokens {
			if t.Answers {
				answering = append(answering, t.Principal)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.config.Console.People)) {
		if b.config.Console.People[name].Rules {
			ruling = append(ruling, name)
		}
	}
	b.Problems = append(b.Problems, b.config.Console.SignIn.Conflicts(oauth, answering, ruling)...)
}

func (b *builder) people(n strictjson.Value) map[string]Person {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write {"local:anna": {"answersFor": ["ci"]}}`, `"people" must be an object, this is %s`, n.Kind())
		return nil
	}
	b.Unique(n)
	people := map[string]Person{}
	for name, child := range n.Members() {
		if !validPrincipal(name) {
			b.WrongKey(child, "write the principal that logs in, such as local:anna", "%.40q is not the name of a principal",
				name)
		}
		var p Person
		b.Object(child, fmt.Sprintf("%q in \"people\"", name), []settings.Field{
			settings.Key("answersFor", func(n strictjson.Value) {
				p.AnswersFor = []string{}
				for one := range b.Elements(n, `"answersFor"`, true) {
					principal, _ := b.Text(one, "a principal")
					p.AnswersFor = append(p.AnswersFor, principal)
				}
			}),
			settings.Key("rules", func(n strictjson.Value) { p.Rules, _ = b.Boolean(n, `"rules"`) }),
		})
		people[name] = p
	}
	return people
}

// ConsolePath is the path of the page beside MCP over HTTP.
const ConsolePath = "/console"

// Notified returns the key "notifications" with the address of the page: what it says itself, else what "console" says,
// with the path that the page has beside MCP over HTTP; nil if nobody is told of questions.
func (c *Config) Notified(path string) *notifications.Notifications {
	if c == nil || c.Notifications == nil {
		return nil
	}
	n := *c.Notifications
	if n.Page == "" && c.Console != nil && c.Console.Origin != "" {
		if n.Page = c.Console.Origin; c.Console.Address == "" {
			n.Page += path
		}
	}
	return &n
}

func (b *builder) notifications(n strictjson.Value) notifications.Notifications {
	return notifications.Read(b.Reader, n, func(n strictjson.Value) (string, bool) {
		name, named := b.profileNamed(n, "an entry of \"profiles\"")
		if named.Kind() == strictjson.Missing {
			return "", false
		}
		b.notifiedProfiles = append(b.notifiedProfiles, named)
		return name, true
	})
}

// address reads the address of a listener that only this machine can reach.
func (b *builder) address(n strictjson.Value) string {
	text, host, _, ok := b.hostAndPort(n, "127.0.0.1:7391")
	if !ok {
		return ""
	}
	if ip := net.ParseIP(host); host != "" && host != "localhost" && !ip.IsLoopback() {
		b.Wrong(n, `take 127.0.0.1, put what adds TLS before it, and name it in "origin"`,
			"the page is served on this machine only, without TLS, and %.80q is reached from elsewhere", text)
	}
	return text
}

// Responder is the key "responder": how to open a terminal for answers. It is a word or an object.
type Responder struct {
	Start   string   // off, hint, auto, tmux or terminal; "" if the file does not say
	Command []string // opens a terminal
}

func (b *builder) responder(n strictjson.Value) (r Responder) {
	start := func(n strictjson.Value) {
		r.Start, _ = b.Word(n, `"responder"`, "off", "hint", "auto", "tmux", "terminal")
	}
	if n.Kind() == strictjson.String {
		start(n)
		return r
	}
	b.Object(n, `"responder"`, []settings.Field{
		settings.Key("start", start),
		settings.Key("command", func(n strictjson.Value) {
			for child := range b.Elements(n, `"command"`, false) {
				word, _ := b.Text(child, "a word of the command")
				r.Command = append(r.Command, word)
			}
		}),
	})
	return r
}

package notifications

import (
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Notifications is the key as written in a file.
type Notifications struct {
	Page         string // address of the page on which people answer; "" leaves it to the process
	Destinations []*Destination
}

// A Kind is a way to reach people.
type Kind string

const (
	Webhook Kind = "webhook" // a signed request, as Standard Webhooks describes it
	Ntfy    Kind = "ntfy"    // a topic of an ntfy server
	Slack   Kind = "slack"   // an incoming webhook of Slack, or of what takes the same
	Mail    Kind = "smtp"
)

var kinds = []Kind{Webhook, Ntfy, Slack, Mail}

// A Destination is one place where people are told.
type Destination struct {
	Name string
	Kind Kind

	Profiles  []string      // whose questions it gets; nil is all
	Risk      call.Risk     // the lowest; "" is all
	Delay     time.Duration // how long a question waits for an answer first
	Seated    bool          // it is told although somebody is there to answer
	PerMinute int           // most messages
	Arguments bool          // messages have the arguments of calls, and the words of programs

	From string   // of mail
	To   []string // of mail

	address, secret, token, user, password variables.Text
}

// Wants reports whether the destination gets a question.
func (d *Destination) Wants(profile string, risk call.Risk) bool {
	return (d.Profiles == nil || slices.Contains(d.Profiles, profile)) && risk.Compare(d.Risk) >= 0
}

const (
	usualDelay     = 10 * time.Second
	longestDelay   = time.Hour
	usualPerMinute = 6
	mostPerMinute  = 600
	// most limits the destinations, and the recipients of a mail.
	most = 100
)

// Read reads the key. profile reads the name of a profile.
func Read(r *settings.Reader, n strictjson.Value, profile func(n strictjson.Value) (string, bool)) Notifications {
	var all Notifications
	r.Object(n, `"notifications"`, []settings.Field{
		settings.Key("page", func(n strictjson.Value) { all.Page = page(r, n) }),
		settings.Key("destinations", func(n strictjson.Value) {
			if n.Kind() != strictjson.Object {
				r.Wrong(n, `write {"team": {"slack": "${SLACK_WEBHOOK}"}}`, `"destinations" must be an object, this is %s`,
					n.Kind())
				return
			}
			r.Unique(n)
			if n.Len() > most {
				r.Wrong(n, "remove some", `"destinations" has more than %d entries`, most)
				return
			}
			for child := range settings.Children(n) {
				if !validName(child.Key()) {
					r.WrongKey(child, "take letters, digits, - and _, 64 at most", "%.40q is no name for a destination", child.Key())
				}
				all.Destinations = append(all.Destinations, destination(r, child, profile))
			}
		}),
	})
	return all
}

func validName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// page reads the address of the page. Links append to it.
func page(r *settings.Reader, n strictjson.Value) string {
	text, ok := r.Text(n, `"page"`)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		r.Wrong(n, `write the whole address, such as "https://codemode.example/console"`,
			`"page" must be an address that begins with https:// or http://`)
	case u.User != nil:
		r.Wrong(n, "remove what stands before the @", `"page" must not contain a password: everybody who is notified gets it`)
	case u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(text, "?#"):
		r.Wrong(n, "end it before the ? or #", `"page" must not have a query or a fragment: a link with a login would let `+
			"everybody in who is notified")
	}
	return strings.TrimSuffix(text, "/")
}

func destination(r *settings.Reader, n strictjson.Value, profile func(n strictjson.Value) (string, bool)) *Destination {
	d := &Destination{Name: n.Key(), Delay: usualDelay, PerMinute: usualPerMinute}
	what := fmt.Sprintf("%q in \"destinations\"", n.Key())
	var fields []settings.Field
	for _, kind := range kinds {
		fields = append(fields, settings.Key(string(kind), func(n strictjson.Value) {
			if d.Kind != "" {
				r.WrongKey(n, "make two destinations of it", "%s has both %q and %q", what, d.Kind, kind)
			}
			d.Kind = kind
			d.address = variables.ReadText(r, n, fmt.Sprintf("%q", kind), addressCheck(kind))
		}))
	}
	text := func(name string, to *variables.Text, check func(string) (message, hint string)) settings.Field {
		return settings.Key(name, func(n strictjson.Value) {
			*to = variables.ReadText(r, n, fmt.Sprintf("%q", name), check)
			if to.Written != "" && !strings.Contains(to.Written, "${") && name != "user" {
				r.Wrong(n, `write "${VARIABLE}", "${cmd:...}" or "${file:...}"`, "%q must not stand in the file itself", name)
			}
		})
	}
	fields = append(fields, text("secret", &d.secret, secretCheck), text("token", &d.token, headerCheck(`"token"`)),
		text("user", &d.user, nil), text("password", &d.password, nil),
		settings.Key("from", func(n strictjson.Value) { d.From = mailAddress(r, n, `"from"`) }),
		settings.Key("to", func(n strictjson.Value) {
			r.OneOrMore(n, `"to"`, func(n strictjson.Value, _ string) {
				if len(d.To) == most {
					r.Wrong(n, "remove some", `"to" has more than %d addresses`, most)
				}
				d.To = append(d.To, mailAddress(r, n, "an address"))
			})
		}))
	ok := r.Object(n, what, append(fields, d.choosing(r, profile)...))
	if ok {
		d.complete(r, n, what)
	}
	return d
}

// choosing are the keys that say which questions a destination gets, and when.
func (d *Destination) choosing(r *settings.Reader, profile func(n strictjson.Value) (string, bool)) []settings.Field {
	return []settings.Field{
		settings.Key("profiles", func(n strictjson.Value) {
			d.Profiles = []string{}
			for child := range r.Elements(n, `"profiles"`, false) {
				if name, ok := profile(child); ok {
					d.Profiles = append(d.Profiles, name)
				}
			}
		}),
		settings.Key("risk", func(n strictjson.Value) {
			word, _ := r.Word(n, `"risk"`, string(call.Low), string(call.Medium), string(call.High), string(call.Critical))
			d.Risk = call.Risk(word)
		}),
		settings.Key("delay", func(n strictjson.Value) {
			if d.Delay = r.DurationFrom(n, `"delay"`, 0); d.Delay > longestDelay {
				r.Wrong(n, "write 1h or less", `"delay" must be at most %v`, longestDelay)
			}
		}),
		settings.Key("seated", func(n strictjson.Value) { d.Seated, _ = r.Boolean(n, `"seated"`) }),
		settings.Key("perMinute", func(n strictjson.Value) {
			if d.PerMinute = int(r.Whole(n, `"perMinute"`, 1)); d.PerMinute > mostPerMinute {
				r.Wrong(n, "", `"perMinute" must be at most %d`, mostPerMinute)
			}
		}),
		settings.Key("arguments", func(n strictjson.Value) { d.Arguments, _ = r.Boolean(n, `"arguments"`) }),
	}
}

// complete reports keys that are missing, or that another kind has.
func (d *Destination) complete(r *settings.Reader, n strictjson.Value, what string) {
	if d.Kind == "" {
		r.WrongKey(n, `add "webhook", "ntfy", "slack" or "smtp" with an address`, "%s has no address", what)
		return
	}
	for key, kind := range map[string]Kind{
		"secret": Webhook, "token": Ntfy, "user": Mail, "password": Mail, "from": Mail, "to": Mail,
	} {
		if at := settings.Member(n, key); at.Kind() != strictjson.Missing && kind != d.Kind {
			r.WrongKey(at, "remove it", "%q belongs to %q, and this is %q", key, kind, d.Kind)
		}
	}
	needs := func(key, hint string) {
		if settings.Member(n, key).Kind() == strictjson.Missing {
			r.WrongKey(n, hint, "%s needs %q", what, key)
		}
	}
	switch d.Kind {
	case Webhook:
		needs("secret", `add "secret": "${VARIABLE}", which holds what this prints: echo "whsec_$(openssl rand -base64 32)"`)
	case Mail:
		needs("from", `add "from": "codemode@example.com"`)
		needs("to", `add "to": ["anna@example.com"]`)
	}
	hasUser := settings.Member(n, "user").Kind() != strictjson.Missing
	if hasUser != (settings.Member(n, "password").Kind() != strictjson.Missing) {
		r.WrongKey(n, "add the other one", `%s has one of "user" and "password"`, what)
	}
}

func mailAddress(r *settings.Reader, n strictjson.Value, what string) string {
	text, ok := r.Text(n, what)
	if !ok {
		return ""
	}
	if a, err := mail.ParseAddress(text); err != nil || a.Name != "" || a.Address != text {
		r.Wrong(n, `write the address alone: "anna@example.com"`, "%s must be the address of a mailbox", what)
	}
	return text
}

// addressCheck checks where messages go. Only this machine is reached without TLS.
func addressCheck(kind Kind) func(text string) (message, hint string) {
	return func(text string) (message, hint string) {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			return fmt.Sprintf("%q must be an address", kind), addressHints[kind]
		}
		if kind == Mail {
			more := u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery+u.Fragment != ""
			if more || u.Scheme != "smtp" && u.Scheme != "smtps" {
				return `"smtp" must be smtp:// or smtps:// with a host, and a port where it is an unusual one`, addressHints[kind]
			}
			return "", ""
		}
		switch {
		case u.Scheme != "https" && u.Scheme != "http":
			return fmt.Sprintf("%q must begin with https://", kind), addressHints[kind]
		case u.Scheme == "http" && !Loopback(u.Hostname()):
			return fmt.Sprintf("%q must begin with https://: on the way others could read the messages", kind),
				"http:// is for this machine, such as 127.0.0.1"
		case u.User != nil || u.Fragment != "":
			return fmt.Sprintf("%q must have no user and no fragment", kind), addressHints[kind]
		case kind == Ntfy && (strings.Trim(u.Path, "/") == "" || u.RawQuery != ""):
			return `"ntfy" must be the address of a topic`, addressHints[kind]
		}
		return "", ""
	}
}

var addressHints = map[Kind]string{
	Webhook: `such as "https://pager.example/codemode"`,
	Ntfy:    `such as "https://ntfy.sh/our-topic", and "token" for a topic that needs one`,
	Slack:   `such as "https://hooks.slack.com/services/..."`,
	Mail:    `such as "smtp://mail.example:587"; "user" and "password" are keys of their own`,
}

// Loopback reports whether a host is this machine by its name.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func headerCheck(what string) func(text string) (message, hint string) {
	return func(text string) (message, hint string) {
		if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
			return what + " has a character that no token has", ""
		}
		return "", ""
	}
}

package process

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Notifications is the key "notifications": where people are told that a question of a program waits for them. Package
// notify sends the messages.
type Notifications struct {
	// The address of the page, for the link in messages. If left out, console.origin, or the address of the page that the
	// process serves.
	Page string `key:"page" form:"link"`
	// Who is told, by a name for the log.
	Destinations []*Destination `key:"destinations" by:"destination" max:"100" like:"write {'team': {'slack': '${URL}'}}"`
}

// Check takes the slash from the end of the page's address: links append to it.
func (x *Notifications) Check(*settings.Reader, strictjson.Value, string) {
	x.Page = strings.TrimSuffix(x.Page, "/")
}

// A DestinationKind is a way to reach people.
type DestinationKind string

const (
	Webhook DestinationKind = "webhook" // a signed request, as Standard Webhooks describes it
	Ntfy    DestinationKind = "ntfy"    // a topic of an ntfy server
	Slack   DestinationKind = "slack"   // an incoming webhook of Slack, or of what takes the same
	Mail    DestinationKind = "smtp"
)

// A Destination is one place where people are told.
type Destination struct {
	Name string          `key:"*"`
	Kind DestinationKind // which of the addresses it has

	Webhook address `key:"webhook"` // The address of a server that takes requests signed as Standard Webhooks describes.
	// Signs the requests of "webhook": whsec_ and 24 to 64 bytes in base64, in a variable, a command or a file.
	Secret settings.Secret `key:"secret" form:"whsec"`
	Ntfy   address         `key:"ntfy"` // The address of a topic, such as https://ntfy.sh/our-topic.
	// For a topic of "ntfy" that needs one, in a variable, a command or a file.
	Token settings.Secret `key:"token" form:"token"`
	// The address of an incoming webhook of Slack, or of Mattermost and others that take the same.
	Slack address `key:"slack"`
	// A mail server: smtp://HOST:PORT with STARTTLS, which only a server of this machine may lack, or smtps://HOST:PORT.
	SMTP     address         `key:"smtp"`
	User     settings.Text   `key:"user"`                // Logs in at the mail server.
	Password settings.Secret `key:"password"`            // Of that user, in a variable, a command or a file.
	From     string          `key:"from" form:"mailbox"` // The sender of the mail: an address alone.
	// The recipients of the mail: one address, or a list.
	To []string `key:"to" form:"mailbox" single:"yes" min:"1" max:"100" each:"an address"`

	Profiles []string `key:"profiles" form:"named" min:"1"` // Only questions of these profiles; all if left out.
	// Only questions of this risk or a higher one; all if left out.
	Risk call.Risk `key:"risk" words:"low medium high critical"`
	// How long a question waits for an answer before people are told, at most 1h; 10s if left out.
	Delay time.Duration `key:"delay" usual:"10s" min:"0" max:"1h"`
	// They are told although somebody is on the page, or in a terminal, who may answer.
	Seated bool `key:"seated"`
	// The most messages in a minute; 6 if left out. What is beyond it becomes one message, later.
	PerMinute int `key:"perMinute" usual:"6" max:"600"`
	// Messages have the arguments of calls, and the words of programs, as lists of questions show them: cut, and with
	// secrets masked.
	Arguments bool `key:"arguments"`
}

// Schema is what its JSON Schema has besides the keys.
func (Destination) Schema() string {
	return `"oneOf": [{"required": ["webhook", "secret"]}, {"required": ["ntfy"]}, {"required": ["slack"]},
		{"required": ["smtp", "from", "to"]}], "dependentRequired": {"user": ["password"], "password": ["user"]}`
}

// Wants reports whether the destination gets a question.
func (d *Destination) Wants(profile string, risk call.Risk) bool {
	return (d.Profiles == nil || slices.Contains(d.Profiles, profile)) && risk.Compare(d.Risk) >= 0
}

// address is the one that it has.
func (d *Destination) address() *settings.Text {
	return map[DestinationKind]*settings.Text{
		Webhook: &d.Webhook.Text, Ntfy: &d.Ntfy.Text, Slack: &d.Slack.Text, Mail: &d.SMTP.Text,
	}[d.Kind]
}

// Check finds the kind, and reports keys that are missing, or that another kind has.
func (d *Destination) Check(r *settings.Reader, n strictjson.Value, what string) {
	for name, child := range n.Members() {
		kind := DestinationKind(name)
		if kind != Webhook && kind != Ntfy && kind != Slack && kind != Mail || kind == d.Kind {
			continue
		}
		if d.Kind != "" {
			r.WrongKey(child, "make two destinations of it", "%s has both %q and %q", what, d.Kind, kind)
		}
		d.Kind = kind
	}
	if d.Kind == "" {
		r.WrongKey(n, `add "webhook", "ntfy", "slack" or "smtp" with an address`, "%s has no address", what)
		return
	}
	for key, kind := range map[string]DestinationKind{
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

// An address is where messages of the kind go that its key names.
type address struct{ settings.Text }

// ReadKey reads the value of a key.
func (a *address) ReadKey(r *settings.Reader, n strictjson.Value, what string, s *settings.Spec) {
	a.Text = settings.ReadText(r, n, what, addressCheck(DestinationKind(s.Name)))
}

// addressCheck checks where messages go. Only this machine is reached without TLS.
func addressCheck(kind DestinationKind) func(text string) (message, hint string) {
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
		case u.Scheme == "http" && !settings.OnThisMachine(u.Hostname()):
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

var addressHints = map[DestinationKind]string{
	Webhook: `such as "https://pager.example/codemode"`,
	Ntfy:    `such as "https://ntfy.sh/our-topic", and "token" for a topic that needs one`,
	Slack:   `such as "https://hooks.slack.com/services/..."`,
	Mail:    `such as "smtp://mail.example:587"; "user" and "password" are keys of their own`,
}

// A Target is a destination with its secrets.
type Target struct {
	*Destination
	Address        string
	Secret         []byte // signs what a webhook gets
	Token          string // of ntfy; "" is none
	User, Password string // of the mail server; "" is none
}

// Target looks the secrets up. The error is [settings.Problems].
func (d *Destination) Target(env settings.Lookup) (*Target, error) {
	var wrong settings.Problems
	t := &Target{Destination: d, Address: d.address().Value(env, &wrong), Token: d.Token.Value(env, &wrong),
		User: d.User.Value(env, &wrong), Password: d.Password.Value(env, &wrong)}
	t.Secret, _ = settings.SigningSecret(d.Secret.Value(env, &wrong))
	if len(wrong) > 0 {
		return nil, wrong
	}
	return t, nil
}

// Hide replaces the secrets of the target in a text.
func (t *Target) Hide(text string) string {
	for _, secret := range []string{t.Address, t.Token, t.Password} {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

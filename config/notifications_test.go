package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/settings"
)

func TestNotifications(t *testing.T) {
	c := parse(t, `{
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {}, "q": {}}},
		"notifications": {
			"page": "https://codemode.example/console/",
			"destinations": {
				"team": {"slack": "${SLACK}", "profiles": ["p", "q"], "risk": "high"},
				"phone": {"ntfy": "https://ntfy.example/topic", "token": "${TOKEN}", "delay": "0s", "seated": true, "perMinute": 1},
				"pager": {"webhook": "http://127.0.0.1:9/x", "secret": "${KEY}", "arguments": true},
				"mail": {"smtp": "smtp://mail.example:587", "user": "u", "password": "${PASSWORD}", "from": "a@b.example", "to": "c@d.example"}}}}`)
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"SLACK": "https://hooks.example/s", "TOKEN": "tk_1", "PASSWORD": "p",
			"KEY": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}[name]
		return v, ok
	}
	n := c.Notified(ConsolePath)
	if n.Page != "https://codemode.example/console" || len(n.Destinations) != 4 {
		t.Fatalf("got %+v", n)
	}
	team, phone, pager, mail := n.Destinations[0], n.Destinations[1], n.Destinations[2], n.Destinations[3]
	if team.Kind != process.Slack || team.Delay != 10*time.Second || team.PerMinute != 6 || team.Seated || team.Arguments {
		t.Errorf("the usual settings are %+v", team)
	}
	if phone.Delay != 0 || !phone.Seated || phone.PerMinute != 1 || !pager.Arguments || !slices.Equal(mail.To, []string{"c@d.example"}) {
		t.Errorf("got %+v %+v %+v", phone, pager, mail)
	}
	for _, row := range []struct {
		profile string
		risk    call.Risk
		wants   bool
	}{{"p", call.High, true}, {"q", call.Critical, true}, {"p", call.Medium, false}, {"p", "", false}, {"p", "strange", true},
		{"r", call.High, false}, {"", call.High, false}} {
		if got := team.Wants(row.profile, row.risk); got != row.wants {
			t.Errorf("a question of %q with risk %q: %v", row.profile, row.risk, got)
		}
		if !phone.Wants(row.profile, row.risk) {
			t.Errorf("a destination without limits does not want %q, %q", row.profile, row.risk)
		}
	}
	for _, d := range n.Destinations {
		target, err := d.Target(env)
		must(t, err)
		if target.Address == "" || d == phone && target.Token != "tk_1" || d == pager && len(target.Secret) != 24 ||
			d == mail && target.Password != "p" {
			t.Errorf("%s: got %+v", d.Name, target)
		}
		if _, err := d.Target(settings.Unread(func(string) (string, bool) { return "", false })); err == nil {
			t.Errorf("%s: an unset variable is no problem", d.Name)
		}
	}
}

func TestProblemsOfNotifications(t *testing.T) {
	destination := func(text string) string { return `{"destinations": {"a": ` + text + `}}` }
	for _, row := range []struct{ text, want string }{
		{`[]`, `1:19: "notifications" must be an object`},
		{`{"destination": {}}`, `1:20: unknown key "destination" in "notifications"`},
		{`{"page": "codemode.example"}`, `1:28: "page" must be an address`},
		{`{"page": "https://u:p@codemode.example/"}`, `must not contain a password`},
		{`{"page": "https://codemode.example/login?token=x"}`, `must not have a query or a fragment`},
		{`{"page": "https://codemode.example/login#x"}`, `must not have a query or a fragment`},
		{`{"destinations": []}`, `"destinations" must be an object`},
		{`{"destinations": {"a b": {"slack": "${X}"}}}`, `1:37: "a b" is no name for a destination`},
		{`{"destinations": {"a": {"slack": "${X}"}, "a": {"slack": "${X}"}}}`, `1:61: the key "a" is twice`},
		{destination(`{}`), `1:37: "a" in "destinations" has no address`},
		{destination(`{"slack": "${X}", "ntfy": "${X}"}`), `"a" in "destinations" has both "slack" and "ntfy"`},
		{destination(`{"slack": "${X}", "secrets": "${X}"}`), `unknown key "secrets"`},
		{destination(`{"slack": "${X}", "token": "${X}"}`), `"token" belongs to "ntfy", and this is "slack"`},
		{destination(`{"webhook": "https://h/"}`), `"a" in "destinations" needs "secret"`},
		{destination(`{"webhook": "https://h/", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`), `"secret" must not stand in the file itself`},
		{destination(`{"ntfy": "https://h/topic", "token": "tk"}`), `"token" must not stand in the file itself`},
		{destination(`{"ntfy": "https://h/"}`), `must be the address of a topic`},
		{destination(`{"ntfy": "topic"}`), `1:51: "ntfy" must be an address`},
		{destination(`{"slack": "http://hooks.example/x"}`), `"slack" must begin with https://: on the way`},
		{destination(`{"slack": "http://127.0.0.1.evil.example/x"}`), `must begin with https://`},
		{destination(`{"slack": "http://0.0.0.0/x"}`), `must begin with https://`},
		{destination(`{"slack": "file:///etc/passwd"}`), `"slack" must be an address`},
		{destination(`{"slack": "gopher://h/x"}`), `"slack" must begin with https://`},
		{destination(`{"slack": "https://u:p@h/x"}`), `must have no user`},
		{destination(`{"smtp": "mail.example"}`), `"smtp" must be an address`},
		{destination(`{"smtp": "https://mail.example", "from": "a@b.c", "to": "a@b.c"}`), `"smtp" must be smtp://`},
		{destination(`{"smtp": "smtp://u:p@mail.example", "from": "a@b.c", "to": "a@b.c"}`), `"smtp" must be smtp://`},
		{destination(`{"smtp": "smtp://mail.example", "to": "a@b.c"}`), `needs "from"`},
		{destination(`{"smtp": "smtp://mail.example", "from": "a@b.c"}`), `needs "to"`},
		{destination(`{"smtp": "smtp://mail.example", "from": "a@b.c", "to": []}`), `"to" must not be empty`},
		{destination(`{"smtp": "smtp://mail.example", "from": "A <a@b.c>", "to": "a@b.c"}`), `"from" must be the address of a mailbox`},
		{destination(`{"smtp": "smtp://mail.example", "from": "a@b.c", "to": ["a@b.c\r\nBcc: x@y.z"]}`), `must be the address of a mailbox`},
		{destination(`{"smtp": "smtp://mail.example", "from": "a@b.c", "to": "a@b.c", "user": "u"}`), `has one of "user" and "password"`},
		{destination(`{"slack": "${X}", "profiles": []}`), `"profiles" must not be empty`},
		{destination(`{"slack": "${X}", "risk": "hgih"}`), `"risk" must be "low", "medium", "high" or "critical"`},
		{destination(`{"slack": "${X}", "delay": "2h"}`), `"delay" must be at most 1h`},
		{destination(`{"slack": "${X}", "delay": "-1s"}`), `must not be negative`},
		{destination(`{"slack": "${X}", "perMinute": 0}`), `must be at least 1`},
		{destination(`{"slack": "${X}", "perMinute": 1000}`), `must be at most 600`},
		{destination(`{"slack": "${cmd:./x}"}`), `"slack": the command of ${cmd:...} must be`},
	} {
		text := `{"notifications": ` + row.text + `}`
		_, err := Parse("codemode.json", []byte(text))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, row.want)
		}
	}
	c := parse(t, `{"notifications": {"destinations": {"a": {"slack": "https://h/x", "profiles": ["nowhere"]}}}}`)
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Message, "nobody is notified") {
		t.Errorf("an unknown profile: %v", c.Warnings)
	}
}

// The address of the page comes from "console" where "notifications" does not say it. A project's file has no say.
func TestWhereThePageIs(t *testing.T) {
	const to = `"notifications": {"destinations": {"a": {"slack": "https://h/x"}}}`
	for _, row := range [][2]string{
		{`{` + to + `}`, ""},
		{`{` + to + `, "console": "127.0.0.1:7391"}`, ""},
		{`{` + to + `, "console": {"origin": "https://c.example"}}`, "https://c.example/console"},
		{`{` + to + `, "console": {"origin": "https://c.example", "address": "127.0.0.1:7391"}}`, "https://c.example"},
	} {
		if got := parse(t, row[0]).Notified(ConsolePath).Page; got != row[1] {
			t.Errorf("%s: got %q, want %q", row[0], got, row[1])
		}
	}
	for _, standing := range []Standing{Untrusted, Trusted} {
		c, err := ParseAll(nil, Source{File: "user.json", Data: []byte(`{}`), Standing: User},
			Source{File: "project.json", Data: []byte(`{` + to + `}`), Standing: standing})
		must(t, err)
		if c.Notified(ConsolePath) != nil || len(c.Warnings) != 1 {
			t.Errorf("a %s notifies: %v", standing, c.Warnings)
		}
	}
	var none *Config
	if none.Notified(ConsolePath) != nil || parse(t, `{}`).Notified(ConsolePath) != nil {
		t.Error("without the key somebody is notified")
	}
}

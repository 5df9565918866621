package serve

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/responder"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/checktest"
)

// Who may do what by the key "console". Package config tests which values are valid.
func TestConsoleConfiguration(t *testing.T) {
	cfg, err := config.Parse("c.json", []byte(`{"console": {"people": {"ben": {"answersFor": ["ci", "anna"]},
		"eve": {"answersFor": ["*"], "rules": true}}}}`))
	checktest.OK(t, err)
	c := pageConfig(*cfg.Console)
	p := &page{config: c}
	for _, test := range []struct {
		person, principal string
		want              bool
	}{
		{"ben", "ci", true}, {"ben", "anna", true}, {"ben", "", false}, {"ben", "eve", false}, {"eve", "ben", true},
		{"eve", "", true},
		{launch.Owner(), "", true}, {launch.Owner(), "ci", true}, {"nobody", "", false}, {"", "ci", false}, {"", "", false},
	} {
		if got := p.config.people().May(test.person, test.principal); got != test.want {
			t.Errorf("%q may answer for %q: %v", test.person, test.principal, got)
		}
	}
	said := pageConfig{People: map[string]config.Person{launch.Owner(): {AnswersFor: []string{"ci"}}}}
	if me, may := launch.Owner(), said.people().May; !may(me, "ci") || !may(me, "") || !may(me, me) || may(me, "anna") {
		t.Error("whoever started the process answers for others than the configuration says")
	}
	if p.admin("ben") || !p.admin("eve") || !p.admin(launch.Owner()) {
		t.Error("others look after the rules than should")
	}
	if _, all := p.config.people().Sees("ben"); all {
		t.Error("ben sees everything")
	}

	var set launch.Settings
	if _, err := newPage(pageConfig{}, &set, cli.Streams{}, "0.0.0.0:7391", false); err == nil ||
		!strings.Contains(err.Error(), "this machine only") {
		t.Errorf("W03: the page on every network: %v", err)
	}
	set.Config = configFile(t, `{"console": "0.0.0.0:7391"}`)
	if files, err := set.Files(); err != nil {
		t.Error(err)
	} else if _, err := files.Load(); err == nil || !strings.Contains(err.Error(), "this machine only") {
		t.Errorf("W03: a file with the page on every network: %v", err)
	}
	// for pages of other processes
	if p, err := newPage(pageConfig{Off: true}, &set, cli.Streams{}, "", true); p != nil || err != nil ||
		len(set.Channels) != 1 {
		t.Errorf("switched off: %v %v", p, err)
	}
}

// Who signs in answers for all, or for whom their entry says, and nobody else has their names: neither a token nor a
// link.
func TestPeopleWhoSignIn(t *testing.T) {
	cfg, err := config.Parse("c.json", []byte(`{"console": {
		"people": {"acme:ben": {"answersFor": ["ci"]}, "acme:eve": {"answersFor": []}, "dan": {"answersFor": ["*"]}},
		"signIn": {"name": "acme", "issuer": "https://login.example.com", "client": "page", "roles": {"approver": ["x"]}}}}`))
	checktest.OK(t, err)
	p := &page{config: pageConfig(*cfg.Console)}
	for _, test := range []struct {
		person, principal string
		answers, sees     bool
	}{
		{"acme:ann", "ci", true, true}, {"acme:ann", "", true, true}, {"acme:ann", "acme:ben", true, true},
		{"acme:ben", "ci", true, false}, {"acme:ben", "acme:ben", true, false}, {"acme:ben", "acme:ann", false, false},
		{"acme:ben", "", false, false}, {"acme:eve", "ci", false, false}, {"acme:eve", "acme:eve", true, false},
		{"acmes:ann", "ci", false, false}, {"acme", "ci", false, false},
	} {
		if got := p.config.people().May(test.person, test.principal); got != test.answers {
			t.Errorf("%q may answer for %q: %v", test.person, test.principal, got)
		}
		if _, all := p.config.people().Sees(test.person); all != test.sees {
			t.Errorf("%q sees all: %v", test.person, all)
		}
	}
	if p.admin("acme:ann") {
		t.Error("a name is enough to change the rules")
	}
	for as, want := range map[string]string{
		`{"as": "acme:ben"}`: `signs in on the page`, `{"as": "acme:new"}`: `signs in on the page`,
		`{"as": "acmes:ben"}`: `has no person called`,
	} {
		if got := p.answerTo(t, as); !strings.Contains(got, want) {
			t.Errorf("a link for %s: %s", as, got)
		}
	}
}

// answerTo is what a page answers to codemode console.
func (p *page) answerTo(t *testing.T, request string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cm") // sockets have short paths
	checktest.OK(t, err)
	defer os.RemoveAll(dir)
	listener, err := terminal.ListenPrivate(dir)
	checktest.OK(t, err)
	defer listener.Close()
	done := make(chan error, 1)
	go func() {
		c, err := listener.Accept()
		if err == nil {
			defer c.Close()
			err = p.giveLink(c)
		}
		done <- err
	}()
	c, err := net.Dial("unix", listener.Addr().String())
	checktest.OK(t, err)
	defer c.Close()
	if _, err := fmt.Fprintln(c, request); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	checktest.OK(t, errors.Join(err, <-done))
	return string(text)
}

// One rule says who answers for whom, on the page and in a terminal.
func TestTheTerminalAnswersForWhomThePageDoes(t *testing.T) {
	for _, people := range []string{`{}`, `{"ben": {"answersFor": ["ci"]}, "eve": {"answersFor": ["*"]}}`,
		fmt.Sprintf(`{%q: {"answersFor": ["ci"]}}`, launch.Owner())} {
		state, err := os.MkdirTemp("", "cm") // sockets have short paths
		checktest.OK(t, err)
		defer os.RemoveAll(state)
		set := launch.Settings{State: state, Config: configFile(t, `{"console": {"people": `+people+`}}`)}
		cfg, err := readStart(&set)
		c := pageOf(cfg)
		checktest.OK(t, err)
		defer responder.Await(&set, c.mayAnswer, false, slog.New(slog.DiscardHandler)).Close()
		page, err := newPage(c, &set, cli.Streams{}, "127.0.0.1:0", false)
		if err != nil || len(set.Channels) < 2 {
			t.Fatalf("%d channels, %v", len(set.Channels), err)
		}
		terminal := set.Channels[0].(*approvals.Queue)
		for _, person := range []string{launch.Owner(), "ben", "eve", "nobody"} {
			for _, principal := range []string{"", launch.Owner(), "ci", "anna"} {
				if there, here := page.queue.May(person, principal), terminal.May(person, principal); there != here {
					t.Errorf("people %s: %q answers for %q on the page: %v, in a terminal: %v", people, person, principal, there, here)
				}
			}
		}
		if own := launch.Owner(); terminal.May(own, "anna") != !strings.Contains(people, own) || !terminal.May(own, "ci") {
			t.Errorf("people %s: in a terminal whoever started the process answers for anna: %v, for ci: %v", people,
				terminal.May(own, "anna"), terminal.May(own, "ci"))
		}
	}
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "codemode.json")
	checktest.Write(t, path, text)
	return path
}

// The page names the command that prints the codes of this person.
func TestTheCommandForACode(t *testing.T) {
	for person, want := range map[string]string{
		launch.Owner(): "codemode console --confirm",
		"acme:ben":     "codemode console --confirm --as acme:ben",
		"Ben O'Neil":   `codemode console --confirm --as 'Ben O'\''Neil'`,
		"ben@acme.com": "codemode console --confirm --as ben@acme.com",
	} {
		if got := confirmCommand(&launch.Settings{}, person); got != want {
			t.Errorf("%s: %s, want %s", person, got, want)
		}
		tenant := &launch.Settings{State: "/srv/codemode/tenants/a b"} // in another folder, as each tenant is
		if got := confirmCommand(tenant, person); got != want+" --state '/srv/codemode/tenants/a b'" {
			t.Errorf("%s of a tenant: %s", person, got)
		}
	}
	t.Setenv(launch.StateVariable, t.TempDir()) // of this process, and not of the terminal that a person opens
	if got := confirmCommand(&launch.Settings{}, launch.Owner()); !strings.HasSuffix(got,
		" --state "+os.Getenv(launch.StateVariable)) {
		t.Errorf("with the variable: %s", got)
	}
}

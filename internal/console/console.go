package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/console/accounts"
	"github.com/codemode-project/codemode/internal/console/links"
	"github.com/codemode-project/codemode/internal/console/records"
	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/console/servers"
	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// ChannelName is the channel of answers from the page in the record and in "channels" of a profile.
const ChannelName = "web"

const (
	// defaultIdle is the lifetime of a session without an open page.
	defaultIdle = 30 * time.Minute
	// defaultLife is the maximum lifetime of a session.
	defaultLife = 12 * time.Hour
)

// Options say what the page shows, and to whom. A nil field removes its part of the page.
type Options struct {
	// Queue holds the questions. It is required, and belongs to this page alone: each open page has a seat at it. A
	// queue of approvals.NewStrongQueue may approve calls of critical risk, because people log in before they have a
	// seat.
	Queue *approvals.Queue
	// ConfirmCommand returns the command that prints the codes for a person's changes. Nil is that of the person who
	// started the process.
	ConfirmCommand func(person string) string
	// Origins are the addresses of the page as browsers know it, such as http://127.0.0.1:7391. The page refuses a
	// request to another host, or from a page of another origin. Login links lead to the first one.
	Origins []string
	// Path is where the page is below its origin, such as /console; "" is at the top.
	Path string

	// May reports whether a person may see and answer questions for another principal. Everybody may answer for
	// themselves. Nil allows nobody else.
	May func(person, principal string) bool
	// Sees lists the principals that a person may see entries and grants of, or reports that it is all. Nil is only the
	// person.
	Sees func(person string) (principals []string, all bool)
	// Admin reports whether the person of a login link may see and change the rules. Nil is nobody.
	Admin func(person string) bool

	// SignIn lets people in at an identity provider, beside login links. What they may do is what their roles say; Admin
	// is not asked about them. They allow each call of critical risk after a new sign-in. Nil lets nobody in that way.
	SignIn *signin.Provider

	// Bearer returns the person of a bearer token, for requests without a session, or the status and the reason to
	// refuse the request with. The page calls it for each request, and repeatedly while a stream of events is open. Nil
	// refuses all tokens.
	Bearer func(r *http.Request, token string) (person string, status int, why string)
	// Vouched reports whether the configuration lets a person answer for another principal: a person's token approves
	// calls of critical risk only for those principals. Nil is none.
	Vouched func(person, principal string) bool

	Record records.Record       // history
	Runs   Runs                 // in progress
	Grants approvals.GrantStore // permissions that last longer than one call
	Rules  Rules                // files, overlays, sessions and proposals

	// Book shows the rules as tables, and what they would decide. It needs Rules.
	Book *rules.Book

	// Sessions are those in which programs go on where others ended. People see and change those of the principals whose
	// entries they see.
	Sessions Sessions

	// Servers are shown to people who see the entries of all principals, or change the rules.
	Servers servers.Source
	// Accounts are those of people at upstream servers.
	Accounts accounts.Upstreams

	// Note records what people do here: logins, revoked grants, changed rules. An action that it cannot record does not
	// happen.
	Note func(ctx context.Context, e call.Entry) error

	Idle, Life time.Duration // of a session; 0 are half an hour without an open page, and half a day in all
	Log        *slog.Logger  // nil discards
}

// A Console is the page. Many goroutines may call its methods.
type Console struct {
	options  Options
	queue    *approvals.Queue
	log      *slog.Logger
	cookie   string // its name without prefix
	links    links.Links
	logins   logins
	shown    shown
	accounts accounts.Flows
	patient  time.Duration // how long a stream's reader may take to accept a write
	ends     audit.Ends
	handler  http.Handler
	done     chan struct{} // closed by Close
	close    sync.Once
}

// What the page does, by subject.
type (
	door         struct{ *Console } // lets people in, and asks for a fresh proof of who they are
	questions    struct{ *Console } // that wait for answers
	replies      struct{ *Console } // the answers that people give
	rulePages    struct{ *Console }
	recordPages  struct{ *Console } // of the record and its grants
	accountPages struct{ *Console } // of a person at servers
)

// New makes a page. It starts nothing.
func New(o Options) (*Console, error) {
	if o.Queue == nil || len(o.Origins) == 0 {
		return nil, errors.New("a console needs a queue and at least one origin")
	}
	for _, origin := range o.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path+u.RawQuery+u.Fragment != "" ||
			u.User != nil {
			return nil, fmt.Errorf("the origin %q is not like http://127.0.0.1:7391", origin)
		}
	}
	if o.Path != "" && (!strings.HasPrefix(o.Path, "/") || strings.HasSuffix(o.Path, "/") ||
		strings.ContainsAny(o.Path, "{}%?# ")) {
		return nil, fmt.Errorf("the path %q is not like /console", o.Path)
	}
	if o.Idle < 0 || o.Life < 0 {
		return nil, errors.New("the idle time and the life of a session cannot be negative")
	}
	o.Idle = cmp.Or(o.Idle, defaultIdle)
	o.Life = cmp.Or(o.Life, defaultLife)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Origins = slices.Clone(o.Origins)
	c := &Console{options: o, queue: o.Queue, log: o.Log, cookie: cookieName(o.Origins[0] + o.Path),
		done: make(chan struct{}), patient: writeWait}
	if o.Record != nil {
		c.ends.Entries = o.Record.Entries
	}
	c.accounts.Upstreams = o.Accounts
	c.logins.init(c)
	c.handler = c.guard(c.routes())
	return c, nil
}

// Handler serves the page. Middleware before it must not change Host, Origin and Sec-Fetch-Site.
func (c *Console) Handler() http.Handler { return c.handler }

// Close ends every session and every stream of events. Callers may call it twice.
func (c *Console) Close() {
	c.close.Do(func() {
		close(c.done)
		c.logins.close()
	})
}

// may reports whether a person may see and answer questions for a principal.
func (c *Console) may(person, principal string) bool {
	return person == principal || c.options.May != nil && c.options.May(person, principal)
}

func (c *Console) admin(person string) bool {
	return c.options.Rules != nil && c.options.Admin != nil && c.options.Admin(person)
}

// changesRules reports whether the person of a session may see and change the rules.
func (c *Console) changesRules(s *session) bool {
	if s.signedIn {
		return c.options.Rules != nil && s.roles.Has(signin.Admin)
	}
	return c.admin(s.person)
}

// sees lists the principals with entries and grants that a person may see; "" stands for everybody.
func (c *Console) sees(person string) []string {
	if c.options.Sees == nil {
		return []string{person}
	}
	principals, all := c.options.Sees(person)
	if all {
		return []string{""}
	}
	if !slices.Contains(principals, person) {
		principals = append(slices.Clone(principals), person)
	}
	return slices.DeleteFunc(principals, func(p string) bool { return p == "" })
}

// noteRefused records a refused attempt. The refusal holds even if recording it fails.
func (c *Console) noteRefused(ctx context.Context, e call.Entry) {
	e.Kind, e.State, e.Client = audit.Access, "refused", "console"
	if err := c.note(ctx, e); err != nil {
		c.log.Warn("a refused attempt was not recorded", "error", err)
	}
}

// note writes an entry about what a person does.
func (c *Console) note(ctx context.Context, e call.Entry) error {
	if c.options.Note == nil {
		return nil
	}
	if err := c.options.Note(ctx, e); err != nil {
		c.log.Error("recording an entry of the console failed", "kind", e.Kind, "state", e.State, "error", err)
		return errors.New("nothing was done, since it could not be recorded")
	}
	return nil
}

// The pages of what runs, and of what programs use.
type (
	runPages     struct{ *Console }
	sessionPages struct{ *Console }
	serverPages  struct{ *Console }
)

package console

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
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
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/sessions"
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
	// ClientMetadata is the document with which authorization servers of upstream servers know this codemode. Everybody
	// may read it.
	ClientMetadata []byte

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
	roles    map[string]signin.Roles // of the people who open a page, by its path
	done     chan struct{}           // closed by Close
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
	runPages     struct{ *Console } // of what runs
	sessionPages struct{ *Console } // of what programs leave to later ones
	serverPages  struct{ *Console } // of what programs use
)

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

// confirmCommand prints the codes for the changes of a person.
func (c *Console) confirmCommand(person string) string {
	if c.options.ConfirmCommand == nil {
		return "codemode console --confirm"
	}
	return c.options.ConfirmCommand(person)
}

// seesServers reports whether a person may see the servers: they belong to no principal.
func (c *Console) seesServers(s *session) bool {
	return c.options.Servers != nil && (slices.Contains(c.sees(s.person), "") || c.changesRules(s))
}

// mayChangeRules refuses people without permission to see and change the rules.
func (c *Console) mayChangeRules(s *session) error {
	if c.changesRules(s) {
		return nil
	}
	return refuse(http.StatusForbidden, "only administrators see and change the rules")
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

// provider is the name of the identity provider, "" without one.
func (c *Console) provider() string {
	if c.options.SignIn == nil {
		return ""
	}
	return c.options.SignIn.Name()
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

// sessionPrefix precedes the key of a session in a path.
const sessionPrefix = "/s/"

// sessionPath is the prefix of all paths of a session.
func (c *Console) sessionPath(key string) string { return c.options.Path + sessionPrefix + key }

// split separates a path of the page into the key of a session, "" if there is none, and the path within the session.
func (c *Console) split(p string) (key, rest string) {
	rest = strings.TrimPrefix(p, c.options.Path)
	if inside, ok := strings.CutPrefix(rest, sessionPrefix); ok {
		key, rest, _ = strings.Cut(inside, "/")
		return key, "/" + rest
	}
	return "", rest
}

// base is the prefix of the page's paths for the client of a request.
func (c *Console) base(r *http.Request) string {
	if key := keyOf(r); key != "" {
		return c.sessionPath(key)
	}
	return c.options.Path
}

// keyValue is the name of the path value that holds the key of the session.
const keyValue = "session"

func keyOf(r *http.Request) string { return r.PathValue(keyValue) }

// Rules are what an administrator sees and changes. Many goroutines may call its methods. The page shows their errors.
type Rules interface {
	rules.Disk
	// Propose writes a rule into a file as a comment, for review, and returns the file's name.
	Propose(ctx context.Context, p Proposal) (file string, err error)
	// NewSession makes a session for a role.
	NewSession(role string, life time.Duration) (id string, expires time.Time, err error)
	// Roles are those that sessions can be made for.
	Roles() []Role
	// RoleSessions lists the sessions for roles that have not ended.
	RoleSessions(ctx context.Context) ([]RoleSession, error)
	// EndRoleSession ends a session of RoleSessions by its ID, and says for which role it was.
	EndRoleSession(ctx context.Context, id string) (role string, err error)
}

// A Role is one that overlays name.
type Role struct {
	Name string `json:"name"`
	Can  string `json:"can"` // a sentence: what programs may do in a session for it, and what narrows them
}

// A RoleSession is a session that was made for a role. Nobody enters it with its ID, which is a fingerprint.
type RoleSession struct {
	ID      string    `json:"id"`
	Role    string    `json:"role"`
	Expires time.Time `json:"expires"`
}

// Effects are Rules that can predict what a proposal would change.
type Effects interface {
	Rules
	// Effect says in lines what the accepted proposal would change in recent calls. An error refuses the proposal.
	Effect(ctx context.Context, p Proposal) (lines []string, err error)
}

// A Proposal is a rule that a person would like to have.
type Proposal struct {
	Profile, Tool string
	Args          json.RawMessage // with these arguments and no others; nil is any
	List          string          // allowlist or asklist; "" is allowlist
	By, Why       string
}

// Runs are the runs in progress. Many goroutines may call its methods.
type Runs interface {
	// Running lists those in this process, and those that ended a moment ago.
	Running() []runs.Running
	// Elsewhere lists those that the store has and this process does not.
	Elsewhere(ctx context.Context) ([]runs.Running, error)
	// Watch notifies of each change of Running, without waiting for the receiver, until stop is called.
	Watch() (changed <-chan struct{}, stop func())
}

// Sessions are the sessions in which programs go on where others ended. Many goroutines may call its methods.
type Sessions interface {
	// Sessions are those of every principal.
	Sessions(ctx context.Context) (*sessions.Sessions, error)
	// ChangeSession makes a change that a person wants, and records it with that person. It says what was done, in a
	// sentence; a sentence with an error says that the record lacks it.
	ChangeSession(ctx context.Context, person string, c SessionChange) (done string, err error)
}

// A SessionChange is what a person wants of the session of a name that a principal has.
type SessionChange struct {
	Action          string // fork, rollback or delete
	Principal, Name string
	Version         int64  // of a fork or a rollback; 0 is the current one
	As              string // the name of the fork
}

package console

import (
	"cmp"
	"context"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"net/http"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/console/editor"
	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/console/text"
	"github.com/codemode-project/codemode/internal/record/audit"
)

type rulesView struct {
	frame
	Files   []rules.File
	Stale   string
	Problem string
	Marks   string // the places of Problem in Text, for the editor
	Path    string // of the file being changed
	Text    string
	Why     string
	Lives   []string
	roleSessions

	Profiles []rules.Summary
	Book     bool

	Profile string // from a link
	Tools   []string
	Program string
}

// lives are the possible lifetimes of a session for a role.
var lives = []struct {
	name string
	life time.Duration
}{{"10 minutes", 10 * time.Minute}, {"1 hour", time.Hour}, {"1 day", 24 * time.Hour}}

// mostLinked is how many tools a link may suggest.
const mostLinked = 20

func (c rulePages) rulesView(r *http.Request, s *session) *rulesView {
	v := &rulesView{frame: c.frame(r, s, "rules", "Rules")}
	v.Files, v.Stale = c.options.Rules.Files()
	for i, f := range v.Files {
		if f.Editable {
			v.Files[i].Text = text.InText(strings.TrimPrefix(f.Text, rules.BOM))
		}
	}
	if c.options.Book != nil {
		v.Book, v.Profiles = true, c.options.Book.Profiles()
	}
	v.roleSessions = c.roleSessions(r.Context())
	for _, l := range lives {
		v.Lives = append(v.Lives, l.name)
	}
	query := r.URL.Query() // anybody may have written the link
	v.Profile, v.Program = query.Get("profile"), query.Get("program")
	for _, tool := range query["allow"] {
		if rules.MayLink(v.Profile) && rules.MayLink(tool) && len(v.Tools) < mostLinked {
			v.Tools = append(v.Tools, tool)
		}
	}
	return v
}

func (c rulePages) showRules(w http.ResponseWriter, r *http.Request, s *session) error {
	if err := c.mayChangeRules(s); err != nil {
		return err
	}
	return c.render(w, "rules", c.rulesView(r, s))
}

// fileOf returns the file that a form writes, with its new text.
func fileOf(r *http.Request) (path string, text []byte) {
	return r.PostForm.Get("path"), []byte(r.PostForm.Get("text"))
}

// againRules shows the rules with the outcome of a request: a problem, or the change. It keeps the text of the form.
func (c rulePages) againRules(w http.ResponseWriter, r *http.Request, s *session, done string, problem error) error {
	path, written := fileOf(r)
	v := c.rulesView(r, s)
	v.Path, v.Text, v.Why = path, text.InText(string(written)), r.PostForm.Get("why")
	if problem != nil {
		v.Problem, v.Marks = problem.Error(), editor.Marks(problem, path)
		w.WriteHeader(http.StatusUnprocessableEntity)
	} else {
		v.Notices = append(v.Notices, notice{Text: done})
	}
	return c.render(w, "rules", v)
}

func (c rulePages) validateRules(w http.ResponseWriter, r *http.Request, s *session) error {
	if err := c.mayChangeRules(s); err != nil {
		return err
	}
	path, text := fileOf(r)
	return c.againRules(w, r, s, "The text has no problems. It is not saved yet.", c.options.Rules.Check(path, text))
}

// saveRules writes a file.
func (c rulePages) saveRules(w http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	if err := c.mayChangeRules(s); err != nil {
		return nil, err
	}
	path, text := fileOf(r)
	ch, err := c.saves(s, &rules.Saving{Path: path, Digest: r.PostForm.Get("digest"), Text: string(text),
		Why: r.PostForm.Get("why")})
	if err != nil {
		return nil, c.againRules(w, r, s, "", err)
	}
	return ch, nil
}

// saves is the change that writes a file. Its text may start servers, and so run any command.
func (c rulePages) saves(s *session, x *rules.Saving) (*change, error) {
	if err := c.rulePages().Prepare(x); err != nil {
		return nil, err
	}
	ch := &change{what: "write the file " + word(x.Path) + ", because " + word(x.Why),
		detail: changedLines(x.Before, x.Text)}
	detail := "the file " + x.Path + " is written on the page, after a proof, because " + x.Why
	ch.do = func(w http.ResponseWriter, r *http.Request) error {
		err := c.note(r.Context(), call.Entry{Kind: audit.Policy, State: "edited", Principal: s.person,
			Client: "console", Detail: detail})
		if err == nil {
			err = c.options.Rules.Save(r.Context(), x.Path, x.Digest, []byte(x.Text))
		}
		const done = "Saved. The rules hold from the next call on."
		switch {
		case err != nil && isAPI(r):
			return unprocessable(err)
		case err != nil:
			return c.againRules(w, r, s, "", err)
		case isAPI(r):
			return writeJSON(w, http.StatusOK, map[string]any{"ok": true, "said": done})
		}
		return c.redirect(w, r, s, "/rules", false, done)
	}
	return ch, nil
}

func (c rulePages) apiSave(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	var x rules.Saving
	if err := c.mayUseBook(s); err != nil {
		return nil, err
	}
	if err := readJSON(r, &x); err != nil {
		return nil, err
	}
	ch, err := c.saves(s, &x)
	return ch, unprocessable(err)
}

// refuseRules says why a change of the rules is not made.
func (c rulePages) refuseRules(w http.ResponseWriter, r *http.Request, s *session, problem error) error {
	if isAPI(r) {
		return unprocessable(problem)
	}
	return c.againRules(w, r, s, "", problem)
}

// proposeRule writes a comment into a file.
func (c rulePages) proposeRule(w http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	if err := c.mayChangeRules(s); err != nil {
		return nil, err
	}
	form := r.PostForm.Get
	said := struct {
		Profile string `json:"profile"`
		Tool    string `json:"tool"`
		List    string `json:"list"`
		Why     string `json:"why"`
	}{form("profile"), form("tool"), form("list"), form("why")}
	if isAPI(r) {
		if err := readJSON(r, &said); err != nil {
			return nil, err
		}
	}
	p := Proposal{Profile: said.Profile, Tool: said.Tool, List: said.List, By: s.person, Why: said.Why}
	ch, err := c.proposing(r.Context(), &p)
	if err != nil {
		return nil, c.refuseRules(w, r, s, err)
	}
	ch.do = func(w http.ResponseWriter, r *http.Request) error {
		said, err := c.propose(r.Context(), &p)
		if err != nil {
			return c.refuseRules(w, r, s, err)
		}
		return c.acknowledge(w, r, s, "/rules", said)
	}
	return ch, nil
}

// proposing is the change that a proposal makes: everything that it would write, and its effect on recent calls.
func (c rulePages) proposing(ctx context.Context, p *Proposal) (*change, error) {
	args := "any arguments"
	if p.Args != nil {
		args = "exactly the arguments below"
	}
	ch := &change{what: word(fmt.Sprintf("write a comment into your file that proposes a rule "+
		"for the %s of the profile %s, with %s", cmp.Or(p.List, "allowlist"), p.Profile, args))}
	add := func(what string, lines ...string) {
		for _, line := range lines {
			ch.detail = append(ch.detail, fmt.Sprintf("%-11s", what)+inLine(line))
			what = ""
		}
	}
	add("tool:", linesOf(p.Tool)...)
	if p.Args != nil {
		add("arguments:", linesOf(text.Editable(p.Args))...)
	}
	if p.Why != "" {
		add("reason:", linesOf(p.Why)...)
	}
	if rules, ok := c.options.Rules.(Effects); ok {
		lines, err := rules.Effect(ctx, *p)
		if err != nil {
			return nil, err
		}
		add("effect:", lines...)
	}
	return ch, nil
}

// propose writes a proposal into a file, for review, and says so.
func (c *Console) propose(ctx context.Context, p *Proposal) (said string, err error) {
	file, err := c.options.Rules.Propose(ctx, *p)
	return "A rule was proposed in " + word(file) + ". It decides nothing until somebody removes its comment signs.", err
}

func linesOf(text string) []string { return strings.Split(lineEnds.Replace(text), "\n") }

// makeSession makes a session for a role.
func (c rulePages) makeSession(w http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	if err := c.mayChangeRules(s); err != nil {
		return nil, err
	}
	said := struct {
		Role string `json:"role"`
		Life string `json:"life"` // the name of one of lives
	}{r.PostForm.Get("role"), r.PostForm.Get("life")}
	if isAPI(r) {
		if err := readJSON(r, &said); err != nil {
			return nil, err
		}
	}
	role, life := said.Role, time.Duration(0)
	for _, l := range lives {
		if l.name == said.Life {
			life = l.life
		}
	}
	if life == 0 {
		return nil, c.refuseRules(w, r, s, fmt.Errorf("a session lasts %s, %s or %s", lives[0].name, lives[1].name,
			lives[2].name))
	}
	ch := &change{what: fmt.Sprintf("make a session for the role %s, for %s", word(role), said.Life)}
	ch.do = func(w http.ResponseWriter, r *http.Request) error {
		err := c.note(r.Context(), call.Entry{
			Kind: audit.Policy, State: "session", Principal: s.person, Role: role, Client: "console",
			Detail: "a session for a role was made, for " + said.Life + ", after a proof",
		})
		var id string
		var ends time.Time
		if err == nil {
			id, ends, err = c.options.Rules.NewSession(role, life)
		}
		switch {
		case err != nil:
			return c.refuseRules(w, r, s, err)
		case isAPI(r):
			return writeJSON(w, http.StatusOK, map[string]any{"ok": true, "session": id, "expires": ends})
		}
		return c.againRules(w, r, s,
			fmt.Sprintf("The session %s for the role %s lasts until %s. It is shown once: give it to the person "+
				"who starts the server (codemode serve --session) or connects to it. %s This page lists and ends such "+
				"sessions.", id, word(role), ends.Local().Format(time.DateTime), c.restricts(role)), nil)
	}
	return ch, nil
}

// roleSessions is the response to GET /api/rules/sessions.
type roleSessions struct {
	Roles []Role        `json:"roles"`
	Made  []RoleSession `json:"sessions"`
	// Unread says why the sessions are not listed, "" if they are.
	Unread string `json:"unread,omitempty"`
}

func (c rulePages) roleSessions(ctx context.Context) (all roleSessions) {
	var err error
	all.Roles = c.options.Rules.Roles()
	if all.Made, err = c.options.Rules.RoleSessions(ctx); err != nil {
		c.log.Warn("the sessions for roles cannot be listed", "error", err)
		all.Unread = "the sessions that were made cannot be listed: the store cannot be read"
	}
	all.Roles, all.Made = append([]Role{}, all.Roles...), append([]RoleSession{}, all.Made...)
	return all
}

func (c rulePages) apiRoleSessions(w http.ResponseWriter, r *http.Request, s *session) error {
	if err := c.mayChangeRules(s); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, c.roleSessions(r.Context()))
}

// endRoleSession ends a session for a role. That narrows, so it needs no proof.
func (c rulePages) endRoleSession(w http.ResponseWriter, r *http.Request, s *session) error {
	if err := c.mayChangeRules(s); err != nil {
		return err
	}
	said := struct {
		ID string `json:"id"`
	}{r.PostForm.Get("id")}
	if isAPI(r) {
		if err := readJSON(r, &said); err != nil {
			return err
		}
	}
	role, err := c.options.Rules.EndRoleSession(r.Context(), said.ID)
	if err != nil {
		return c.refuseRules(w, r, s, err)
	}
	text := "The session for the role " + word(role) + " has ended. No program runs in it any more."
	if err := c.note(r.Context(), call.Entry{Kind: audit.Policy, State: "session", Principal: s.person, Role: role,
		Client: "console", Detail: "a session for a role was ended"}); err != nil {
		text += " The record does not say so, because it cannot be written."
	}
	return c.acknowledge(w, r, s, "/rules", text)
}

// restricts says what a session for a role can do.
func (c rulePages) restricts(role string) string {
	for _, one := range c.options.Rules.Roles() {
		if one.Name == role {
			return one.Can
		}
	}
	return ""
}

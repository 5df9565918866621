package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/console/text"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// An Answered is the body of POST /api/answer, and with Propose of POST /api/answer/propose. Only decision "allow" is a
// yes, and only "deny" is a person's no.
type Answered struct {
	ID       string          `json:"id"`
	Digest   string          `json:"digest"`             // of the question as shown
	Decision string          `json:"decision"`           // allow or deny
	Reason   string          `json:"reason,omitempty"`   // for the program
	Code     string          `json:"code,omitempty"`     // with a yes, where needsCode says so
	Whole    bool            `json:"whole,omitempty"`    // the person has seen the whole question
	Scope    call.Scope      `json:"scope,omitempty"`    // one of the offers; "" is this call
	Uses     int             `json:"uses,omitempty"`     // with a scope: for how many calls; 0 is the offered number
	Length   string          `json:"length,omitempty"`   // with a scope: for how long, such as 15m; "" is as offered
	Args     json.RawMessage `json:"args,omitempty"`     // other arguments to allow instead
	Propose  string          `json:"propose,omitempty"`  // a rule for such calls; wants a fresh proof
	Selected []int           `json:"selected,omitempty"` // to an inquiry
	Text     string          `json:"text,omitempty"`     // to an inquiry
	// Wait is how long to wait for the outcome of the call, such as "10s"; "" does not.
	Wait string `json:"wait,omitempty"`

	problem string // why the form is unreadable; "" if it is readable
}

// Proposals that can accompany a yes: a rule for calls with these arguments, or with any.
const (
	ProposeExact = "exact"
	ProposeAny   = "any"
)

// errNoProposal refuses a proposal with an answer that does not allow one.
const errNoProposal = "a rule is proposed with a yes to the call as it is, for exact arguments or for any"

// proposes reports whether an answer proposes a rule.
func (a *Answered) proposes() bool {
	return a.Decision == "allow" && (a.Propose == ProposeExact || a.Propose == ProposeAny) && a.Args == nil
}

// longestWait is how long a front end may wait for a call; formWait is how long the page waits for calls that a form
// allowed.
const longestWait, formWait = 20 * time.Second, 2 * time.Second

// give passes one answer to the queue. proved says that the request was proven, so that the answer may propose a rule.
func (c replies) give(r *http.Request, s *session, said *Answered, proved bool) Result {
	ctx := r.Context()
	fail := func(status int, why string) Result { return Result{ID: said.ID, Error: why, status: status} }
	switch {
	case said.Propose != "" && !proved:
		return fail(http.StatusForbidden, "proposing a rule needs a fresh proof: send the answer to answer/propose")
	case said.problem != "":
		return fail(http.StatusUnprocessableEntity, said.problem)
	}
	a := questions(c).find(s, said.ID)
	if a == nil {
		return fail(http.StatusNotFound, c.goneBecause(ctx, s, said.ID))
	}
	reply, wait, err := said.reply()
	if err != nil {
		return fail(http.StatusUnprocessableEntity, err.Error())
	}
	if said.Whole {
		if _, err := s.seat.Show(prompt.RenderOptions{}, a.request.ID); err != nil {
			return fail(http.StatusConflict, c.goneBecause(ctx, s, said.ID))
		}
	}
	var proof *freshProof
	if reply.Allowed && s.needsSignIn(a.request) {
		if proof = s.useProof(a.ID, said.Digest, c.logins.now()); proof == nil {
			return Result{ID: said.ID, status: http.StatusForbidden, SignIn: c.base(r) + provePath + a.ID,
				Error: fmt.Sprintf("a yes to this call needs a new sign-in with %s, for this question as it is shown: open it, "+
					"and follow the link there", word(c.provider()))}
		}
		reply.Proof = call.ProofSignIn
	}
	s.leaves(a.ID)
	if err = s.seat.Answer(a.request.ID, said.Digest, said.Code, reply); err != nil {
		s.returnProof(proof)
	}
	switch {
	case err == nil:
	case errors.Is(err, approvals.ErrTaken):
		s.lists(a)
		return fail(http.StatusConflict, c.goneBecause(ctx, s, said.ID))
	case errors.Is(err, approvals.ErrOwn), errors.Is(err, approvals.ErrOwnCritical),
		errors.Is(err, approvals.ErrNotVouched):
		why := err.Error()
		if errors.Is(err, approvals.ErrOwn) {
			why = "who asks for a call may not answer for it"
		}
		r := a.request
		c.noteRefused(ctx, call.Entry{
			Principal: s.person, Run: r.Run, Call: r.Call, Profile: r.Profile, Server: r.Server, Tool: r.Name, Detail: why,
		})
		return fail(http.StatusForbidden, word(err.Error()))
	default:
		wrong := fail(http.StatusUnprocessableEntity, word(err.Error()))
		if place, ok := errors.AsType[placed](err); ok {
			wrong.Pointer = place.Pointer()
		}
		return wrong
	}
	done := Result{ID: said.ID, OK: true, status: http.StatusOK, about: a.request}
	if reply.Allowed && c.recorded(a.request) {
		done.asked = a.request
	}
	if said.Args != nil { // the person changed the arguments
		changed := *a.request
		changed.Args = said.Args
		done.about, done.edited = &changed, true
	}
	if said.Propose != "" {
		if done.Note, err = c.propose(ctx, c.proposal(s, a, said.Propose == ProposeExact)); err != nil {
			done.Note = "The call is allowed; the rule could not be proposed: " + word(err.Error())
		}
	}
	if wait > 0 && c.recorded(a.request) {
		c.await(ctx, a.request, min(wait, longestWait), &done)
	}
	return done
}

// reply converts the answer for the queue, and returns how long to wait for the outcome.
func (said *Answered) reply() (reply call.Answer, wait time.Duration, err error) {
	reply = call.Answer{Reason: said.Reason, Typed: true, Uses: said.Uses}
	length, long := time.ParseDuration(cmp.Or(said.Length, "0s"))
	wait, err = time.ParseDuration(cmp.Or(said.Wait, "0s"))
	switch {
	case said.Decision != "allow" && said.Decision != "deny":
		return reply, 0, errors.New("the decision is neither allow nor deny")
	case long != nil || length < 0:
		return reply, 0, errors.New("length is not a length of time such as 15m")
	case (said.Uses != 0 || length != 0) && (said.Decision == "deny" || said.Scope == "" || said.Scope == call.Once):
		return reply, 0, errors.New("uses and length go with an answer that is remembered: name its scope")
	case err != nil || wait < 0:
		return reply, 0, errors.New("wait is not a length of time such as 10s")
	case said.Propose != "" && !said.proposes():
		return reply, 0, errors.New(errNoProposal)
	}
	reply.Length = length
	if said.Decision == "allow" {
		reply.Allowed, reply.Scope, reply.Args = true, said.Scope, said.Args
		reply.Selected, reply.Text = said.Selected, said.Text
	}
	return reply, wait, nil
}

// A placed error locates a problem in the arguments.
type placed interface {
	error
	Pointer() string
}

// proposal makes a rule for calls like this one.
func (c replies) proposal(s *session, a *asked, exact bool) *Proposal {
	p := &Proposal{
		Profile: a.request.Profile, Tool: a.request.Name, By: s.person, Why: "allowed on the page, and wanted always",
	}
	if exact {
		p.Args = a.request.Args
	}
	return p
}

// await waits for the end of a call.
func (c replies) await(ctx context.Context, r *prompt.Request, wait time.Duration, done *Result) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	go func() {
		select {
		case <-c.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	e, err := c.ends.Wait(ctx, r.Run, r.Call, r.Time)
	if err != nil {
		return // it has not ended yet, or the record is unreadable
	}
	done.tell(e)
}

// readAnswer reads an answer in JSON.
func readAnswer(r *http.Request) (*Answered, error) {
	if mediaType(r) != "application/json" {
		return nil, errNotJSON
	}
	said := &Answered{}
	return said, readJSON(r, said)
}

func (c replies) apiAnswer(w http.ResponseWriter, r *http.Request, s *session) error {
	said, err := readAnswer(r)
	if err != nil {
		return err
	}
	done := c.give(r, s, said, false)
	return writeJSON(w, done.status, done)
}

// apiAnswerAndPropose is apiAnswer for an answer that proposes a rule.
func (c replies) apiAnswerAndPropose(w http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	said, err := readAnswer(r)
	if err != nil {
		return nil, err
	}
	return c.withProposal(r, s, said, func(w http.ResponseWriter, r *http.Request) error {
		done := c.give(r, s, said, true)
		return writeJSON(w, done.status, done)
	})
}

// answerForm accepts the pages' forms, except proposals.
func (c replies) answerForm(w http.ResponseWriter, r *http.Request, s *session) error {
	return c.giveForm(w, r, s, false)
}

// answerAndPropose is answerForm for an answer that proposes a rule.
func (c replies) answerAndPropose(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	all := answersOf(r)
	if len(all) != 1 || all[0].problem != "" {
		return nil, refuse(http.StatusUnprocessableEntity, "a rule is proposed with the answer to one question")
	}
	return c.withProposal(r, s, all[0], func(w http.ResponseWriter, r *http.Request) error {
		return c.giveForm(w, r, s, true)
	})
}

// withProposal is the change that an answer with a proposal makes.
func (c replies) withProposal(
	r *http.Request, s *session, said *Answered, do func(http.ResponseWriter, *http.Request) error,
) (*change, error) {
	a := questions(c).find(s, said.ID)
	if a == nil {
		return nil, refuse(http.StatusNotFound, errGone)
	}
	if err := c.mayChangeRules(s); err != nil {
		return nil, err
	}
	switch {
	case a.Kind != "call" || !said.proposes():
		return nil, refuse(http.StatusUnprocessableEntity, errNoProposal)
	case s.needsSignIn(a.request):
		return nil, refuse(http.StatusUnprocessableEntity,
			"no rule is proposed with the answer to a call of critical risk: allow the call by itself")
	}
	ch, err := rulePages(c).proposing(r.Context(), c.proposal(s, a, said.Propose == ProposeExact))
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "the rule cannot be proposed: "+word(err.Error()))
	}
	ch.what, ch.do = "allow the call "+a.Summary+" once, and "+ch.what, do
	return ch, nil
}

// answersOf reads the forms of the pages: one answer, or the same to several questions.
func answersOf(r *http.Request) (all []*Answered) {
	form := r.PostForm
	for _, q := range form["q"] { // "ID digest"
		id, digest, _ := strings.Cut(q, " ")
		said := &Answered{
			ID: id, Digest: digest, Reason: form.Get("reason"), Code: form.Get("code"), Whole: form.Get("whole") == "1",
			Text: form.Get("text"),
		}
		decision, scope, _ := strings.Cut(form.Get("decision"), " ")
		if said.Decision = decision; decision == "allow" {
			said.readScope(scope, form)
		}
		for _, n := range form["selected"] {
			if i, err := strconv.Atoi(n); err == nil {
				said.Selected = append(said.Selected, i)
			}
		}
		all = append(all, said)
	}
	return all
}

// readScope reads the extras of a yes in a form: its scope, a proposal, or other arguments.
func (said *Answered) readScope(scope string, form url.Values) {
	switch kind, what, _ := strings.Cut(scope, ":"); kind {
	case "propose":
		if said.Propose = what; what == "" {
			said.problem = errNoProposal
		}
	case "edited":
		said.Args = json.RawMessage(form.Get("args"))
		if at, why := strictjson.Problem(string(said.Args)); at != "" {
			said.problem = "the arguments are not JSON: " + at + ": " + word(why)
		}
	default:
		said.Scope, said.Length = call.Scope(scope), form.Get("length")
		if uses := form.Get("uses"); uses != "" {
			n, err := strconv.Atoi(uses)
			if said.Uses = n; err != nil || n < 1 {
				said.problem = "the number of calls is not a number such as 10"
			}
		}
	}
}

// giveForm gives the answers of a form, and says how the calls ended.
func (c replies) giveForm(w http.ResponseWriter, r *http.Request, s *session, proved bool) error {
	form := r.PostForm
	fromWhole := form.Get("from") == "whole" // on the page of one question: the browser goes back to the list
	var results []Result
	for _, said := range answersOf(r) {
		results = append(results, c.give(r, s, said, proved))
	}
	if len(results) == 0 {
		results = []Result{{Error: "nothing is selected", status: http.StatusUnprocessableEntity}}
	}
	waiting, cancel := context.WithTimeout(r.Context(), formWait)
	defer cancel()
	for i := range results {
		// The script of the list shows later how a call ended. Other pages lead to the list, with a notice that says
		// it.
		if x := &results[i]; x.asked != nil && x.Outcome == "" && (!wantsJSON(r) || fromWhole) {
			c.await(waiting, x.asked, formWait, x)
		}
	}
	s.keepAnswered(results, strings.HasPrefix(form.Get("decision"), "allow"), c.logins.now())
	if !wantsJSON(r) {
		return c.afterForm(w, r, s, results)
	}
	if !fromWhole {
		for i := range results {
			results[i].asked = nil
		}
	}
	status := http.StatusOK
	if len(results) == 1 {
		status = results[0].status
	}
	said := summary(results, form.Get("decision"))
	answer := map[string]any{"results": results, "said": said}
	if status == http.StatusOK && fromWhole {
		answer["next"] = c.base(r) + "/" + s.say(false, said)
	}
	return writeJSON(w, status, answer)
}

// afterForm shows a browser without the script the page after its answers: the list, or the form again with the
// person's text.
func (c replies) afterForm(w http.ResponseWriter, r *http.Request, s *session, results []Result) error {
	form := r.PostForm
	if len(results) == 1 && !results[0].OK {
		if a := questions(c).find(s, results[0].ID); a != nil {
			v := questions(c).whole(r, s, a)
			v.Problem, v.Reason = results[0].Error, word(form.Get("reason"))
			if args := form.Get("args"); args != "" && v.Ask.Editable {
				v.Args, v.Edit = text.InText(args), true
			}
			w.WriteHeader(results[0].status)
			return c.render(w, "ask", v)
		}
	}
	bad := slices.ContainsFunc(results, func(x Result) bool { return !x.OK })
	return c.redirect(w, r, s, "/", bad, summary(results, form.Get("decision")))
}

// summary describes in a few words the effect of the answers.
func summary(results []Result, decision string) string {
	done := 0
	var others []string
	for _, x := range results {
		if x.OK {
			done++
		}
		for _, text := range []string{x.became(), x.Error, x.Note} {
			if text != "" && !slices.Contains(others, text) {
				others = append(others, text)
			}
		}
	}
	what := "Denied"
	switch inquiry := slices.ContainsFunc(results, func(x Result) bool {
		return x.about != nil &&
			x.about.Inquiry != nil
	}); {
	case inquiry:
		what = "Sent"
	case strings.HasPrefix(decision, "allow"):
		what = "Allowed"
	}
	var parts []string
	switch {
	case done == 1:
		parts = append(parts, what+".")
	case done > 1:
		parts = append(parts, fmt.Sprintf("%s %d calls.", what, done))
	}
	if failed := len(results) - done; failed > 0 && len(results) > 1 {
		parts = append(parts, fmt.Sprintf("%d not answered:", failed))
	}
	for _, text := range others {
		parts = append(parts, strings.ToUpper(text[:1])+strings.TrimSuffix(text[1:], ".")+".")
	}
	return strings.Join(parts, " ")
}

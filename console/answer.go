package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/call"
)

// errGone is what is said of a question that is answered, over, or never was this person's.
const errGone = "this question is answered already, or its time is over"

// An Answered is what POST /api/answer takes, and with Propose POST /api/answer/propose. Only decision "allow" is a yes,
// and only "deny" is a person's no.
type Answered struct {
	ID       string          `json:"id"`
	Digest   string          `json:"digest"`             // as it was shown
	Decision string          `json:"decision"`           // allow or deny
	Reason   string          `json:"reason,omitempty"`   // the program is told
	Code     string          `json:"code,omitempty"`     // with a yes, where needsCode says so
	Whole    bool            `json:"whole,omitempty"`    // the person has seen the question whole
	Scope    call.Scope      `json:"scope,omitempty"`    // one of the offers; "" is this call
	Uses     int             `json:"uses,omitempty"`     // with a scope: for how many calls; 0 is what is offered
	Length   string          `json:"length,omitempty"`   // with a scope: for how long, such as 15m; "" is what is offered
	Args     json.RawMessage `json:"args,omitempty"`     // other arguments to allow instead
	Propose  string          `json:"propose,omitempty"`  // a rule for such calls; wants a fresh proof
	Selected []int           `json:"selected,omitempty"` // to an inquiry
	Text     string          `json:"text,omitempty"`     // to an inquiry
	// Wait is how long to wait for what becomes of the call, such as "10s"; "" does not.
	Wait string `json:"wait,omitempty"`
}

// Proposals that can go with a yes: a rule for calls with these arguments, or with any.
const (
	ProposeExact = "exact"
	ProposeAny   = "any"
)

// errNoProposal is what is said of an answer with which no rule can be proposed.
const errNoProposal = "a rule is proposed with a yes to the call as it is, for exact arguments or for any"

// proposes reports whether an answer proposes a rule.
func (a *Answered) proposes() bool {
	return a.Decision == "allow" && (a.Propose == ProposeExact || a.Propose == ProposeAny) && a.Args == nil
}

// A Result is what POST /api/answer gives.
type Result struct {
	ID    string `json:"id"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Note  string `json:"note,omitempty"` // what else was done
	// Pointer is the place in other arguments that Error is about, as a JSON Pointer; absent is all of them.
	Pointer string `json:"pointer,omitempty"`

	// Outcome is how the call ended, as the record has it, if it was waited for: ok, error, refused, unknown.
	Outcome string          `json:"outcome,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"` // what the call gave, with secrets masked
	Why     string          `json:"why,omitempty"`   // it did not give a value: a sentence, made visible

	status  int
	inquiry bool            // it was no call
	about   *prompt.Request // what was answered; nil if it was not
	edited  bool            // with other arguments than the program's
	asked   *prompt.Request // the same, of a call that was allowed and that the record tells the end of
}

// longestWait is how long a front end may wait for a call, formWait how long the page waits for those that it has allowed.
const longestWait, formWait = 20 * time.Second, 2 * time.Second

// became says in a few words what became of a call that was allowed; "" is not known yet.
func (r *Result) became() string {
	if r.asked == nil {
		return ""
	}
	switch name := prompt.Heading(r.asked); r.Outcome {
	case "":
		return "under way: " + name
	case audit.OK:
		return "done: " + name
	default:
		return fmt.Sprintf("not done (%s): %s: %s", r.Outcome, name, cmp.Or(r.Why, "the record says no more"))
	}
}

// give gives one answer, for somebody who may.
func (c *Console) give(ctx context.Context, s *session, said *Answered) Result {
	fail := func(status int, format string, args ...any) Result {
		return Result{ID: said.ID, Error: fmt.Sprintf(format, args...), status: status}
	}
	a := c.find(s, said.ID)
	if a == nil {
		return fail(http.StatusNotFound, errGone)
	}
	reply := call.Answer{Reason: said.Reason, Typed: true}
	switch said.Decision {
	case "deny":
	case "allow":
		reply.Allowed, reply.Scope, reply.Args, reply.Selected, reply.Text = true, said.Scope, said.Args, said.Selected, said.Text
	default:
		return fail(http.StatusUnprocessableEntity, "the decision is neither allow nor deny")
	}
	var long error
	reply.Uses = said.Uses
	reply.Length, long = time.ParseDuration(cmp.Or(said.Length, "0s"))
	wait, err := time.ParseDuration(cmp.Or(said.Wait, "0s"))
	switch {
	case long != nil || reply.Length < 0:
		return fail(http.StatusUnprocessableEntity, "length is not a length of time such as 15m")
	case (reply.Uses != 0 || reply.Length != 0) && (reply.Scope == "" || reply.Scope == call.Once):
		return fail(http.StatusUnprocessableEntity, "uses and length go with an answer that is remembered: name its scope")
	case err != nil || wait < 0:
		return fail(http.StatusUnprocessableEntity, "wait is not a length of time such as 10s")
	case said.Propose != "" && !said.proposes():
		return fail(http.StatusUnprocessableEntity, errNoProposal)
	}
	if said.Whole {
		if _, err := s.seat.Show(a.request.ID, prompt.RenderOptions{}); err != nil {
			return fail(http.StatusConflict, errGone)
		}
	}
	err = s.seat.Answer(a.request.ID, said.Digest, said.Code, reply)
	switch {
	case err == nil:
	case errors.Is(err, approvals.ErrTaken):
		return fail(http.StatusConflict, errGone)
	case errors.Is(err, approvals.ErrOwn):
		c.noteRefused(ctx, s, a, "who asks for a call may not answer for it")
		return fail(http.StatusForbidden, "%s", prompt.Words(err.Error()))
	case errors.Is(err, approvals.ErrOwnCritical), errors.Is(err, approvals.ErrNotVouched):
		c.noteRefused(ctx, s, a, err.Error())
		return fail(http.StatusForbidden, "%s", prompt.Words(err.Error()))
	default:
		wrong := fail(http.StatusUnprocessableEntity, "%s", prompt.Words(err.Error()))
		if place, ok := errors.AsType[placed](err); ok {
			wrong.Pointer = place.Pointer()
		}
		return wrong
	}
	done := Result{ID: said.ID, OK: true, status: http.StatusOK, inquiry: a.Inquiry != nil, about: a.request}
	isCall := !done.inquiry && !a.request.Ahead
	if reply.Allowed && c.options.Record != nil && a.request.Run != "" && isCall {
		done.asked = a.request
	}
	if said.Args != nil { // what was answered is the call with these
		changed := *a.request
		changed.Args = said.Args
		done.about, done.edited = &changed, true
	}
	if said.Propose != "" {
		done.Note = c.propose(ctx, s, a, said.Propose == ProposeExact)
	}
	if wait > 0 {
		c.await(ctx, a.request, min(wait, longestWait), &done)
	}
	return done
}

// A placed error says where in arguments something is wrong.
type placed interface {
	error
	Pointer() string
}

// noteRefused records that somebody tried to answer what somebody else has to.
func (c *Console) noteRefused(ctx context.Context, s *session, a *asked, why string) {
	r := a.request
	err := c.note(ctx, audit.Entry{
		Kind: audit.Access, State: "refused", Client: "console", Principal: s.person, Run: r.Run, Call: r.Call, Profile: r.Profile, Server: r.Server, Tool: r.Name,
		Detail: why,
	})
	if err != nil {
		c.log.Warn("a refused answer was not recorded", "error", err)
	}
}

// proposal is a rule for calls like this one.
func (c *Console) proposal(s *session, a *asked, exact bool) *Proposal {
	p := &Proposal{
		Profile: a.request.Profile, Tool: a.request.Name, By: s.person, Why: "allowed on the page, and wanted always",
	}
	if exact {
		p.Args = a.request.Args
	}
	return p
}

// propose writes a rule for calls like this one into a file, for review.
func (c *Console) propose(ctx context.Context, s *session, a *asked, exact bool) string {
	file, err := c.options.Rules.Propose(ctx, *c.proposal(s, a, exact))
	if err != nil {
		return "The call is allowed; the rule could not be proposed: " + prompt.Words(err.Error())
	}
	return "A rule was proposed in " + word(file) + ". It decides nothing until somebody takes its comment signs away."
}

// await waits for the end of a call.
func (c *Console) await(ctx context.Context, r *prompt.Request, wait time.Duration, done *Result) {
	if c.options.Record == nil || r.Run == "" || r.Inquiry != nil || r.Ahead {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	go func() {
		select {
		case <-c.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	e, err := c.ends.Wait(ctx, r.Run, r.Call)
	if err != nil {
		return // it has not ended yet, or nobody can tell
	}
	done.tell(e)
}

// readAnswer reads an answer that comes as JSON; where it cannot, it says so to the client.
func (c *Console) readAnswer(w http.ResponseWriter, r *http.Request) (said *Answered, ok bool) {
	if mediaType(r) != "application/json" {
		c.fail(w, r, http.StatusUnsupportedMediaType, "send JSON")
		return nil, false
	}
	said = &Answered{}
	if err := readJSON(r, said); err != nil {
		c.fail(w, r, http.StatusBadRequest, err.Error())
		return nil, false
	}
	return said, true
}

func (c *Console) apiAnswer(w http.ResponseWriter, r *http.Request, s *session) {
	said, ok := c.readAnswer(w, r)
	if !ok {
		return
	}
	done := Result{ID: said.ID, Error: errProposes, status: http.StatusForbidden}
	if said.Propose == "" {
		done = c.give(r.Context(), s, said)
	}
	writeJSON(w, done.status, done)
}

// errProposes is what is said of an answer with a rule where answers come that need no proof.
const errProposes = "a rule is proposed with a fresh proof of the person: send the answer to answer/propose"

// apiAnswerAndPropose is apiAnswer for an answer that proposes a rule.
func (c *Console) apiAnswerAndPropose(w http.ResponseWriter, r *http.Request, s *session) *change {
	said, ok := c.readAnswer(w, r)
	if !ok {
		return nil
	}
	return c.withProposal(w, r, s, said, func(w http.ResponseWriter, r *http.Request) {
		done := c.give(r.Context(), s, said)
		writeJSON(w, done.status, done)
	})
}

// answerAndPropose is answerForm for an answer that proposes a rule.
func (c *Console) answerAndPropose(w http.ResponseWriter, r *http.Request, s *session) *change {
	all := answersOf(r)
	if len(all) != 1 || all[0].said == nil {
		c.fail(w, r, http.StatusUnprocessableEntity, "a rule is proposed with the answer to one question")
		return nil
	}
	return c.withProposal(w, r, s, all[0].said, func(w http.ResponseWriter, r *http.Request) {
		c.giveForm(w, r, s, all)
	})
}

// withProposal is the change that an answer makes which proposes a rule.
func (c *Console) withProposal(
	w http.ResponseWriter, r *http.Request, s *session, said *Answered, do http.HandlerFunc,
) *change {
	a := c.find(s, said.ID)
	switch {
	case a == nil:
		c.fail(w, r, http.StatusNotFound, errGone)
		return nil
	case !c.changesRules(w, r, s):
		return nil
	case a.Inquiry != nil || a.request.Ahead || !said.proposes():
		c.fail(w, r, http.StatusUnprocessableEntity, errNoProposal)
		return nil
	}
	p := c.proposal(s, a, said.Propose == ProposeExact)
	ch, err := c.proposing(r.Context(), p)
	if err != nil {
		c.fail(w, r, http.StatusUnprocessableEntity, "the rule cannot be proposed: "+prompt.Words(err.Error()))
		return nil
	}
	ch.what, ch.do = "allow the call "+a.Summary+" once, and "+ch.what, do
	return ch
}

// A formAnswer is an answer as a form sends it; said is nil if it cannot be read.
type formAnswer struct {
	said *Answered
	bad  Result
}

// answersOf reads what the forms of the pages send: one answer, or the same to several questions.
func answersOf(r *http.Request) (all []formAnswer) {
	form := r.PostForm
	for _, q := range form["q"] { // "ID digest"
		id, digest, _ := strings.Cut(q, " ")
		said := &Answered{
			ID: id, Digest: digest, Reason: form.Get("reason"), Code: form.Get("code"), Whole: form.Get("whole") == "1",
			Text: form.Get("text"),
		}
		decision, scope, _ := strings.Cut(form.Get("decision"), " ")
		if said.Decision = decision; decision == "allow" {
			switch kind, what, _ := strings.Cut(scope, ":"); kind {
			case "propose":
				if said.Propose = what; what == "" {
					bad := Result{ID: id, Error: errNoProposal, status: http.StatusUnprocessableEntity}
					all = append(all, formAnswer{bad: bad})
					continue
				}
			case "edited":
				said.Args = json.RawMessage(form.Get("args"))
				if !json.Valid(said.Args) {
					why := "the arguments are not JSON: " + jsonProblem(said.Args)
					all = append(all, formAnswer{bad: Result{ID: id, Error: why, status: http.StatusUnprocessableEntity}})
					continue
				}
			default:
				said.Scope, said.Length = call.Scope(scope), form.Get("length")
				if uses := form.Get("uses"); uses != "" {
					n, err := strconv.Atoi(uses)
					if err != nil || n < 1 {
						why := "the number of calls is not a number such as 10"
						all = append(all, formAnswer{bad: Result{ID: id, Error: why, status: http.StatusUnprocessableEntity}})
						continue
					}
					said.Uses = n
				}
			}
		}
		for _, n := range form["selected"] {
			if i, err := strconv.Atoi(n); err == nil {
				said.Selected = append(said.Selected, i)
			}
		}
		all = append(all, formAnswer{said: said})
	}
	return all
}

// answerForm takes what the forms of the pages send, but for rules.
func (c *Console) answerForm(w http.ResponseWriter, r *http.Request, s *session) {
	all := answersOf(r)
	for i, x := range all {
		if x.said != nil && x.said.Propose != "" {
			all[i] = formAnswer{bad: Result{ID: x.said.ID, Error: errProposes, status: http.StatusForbidden}}
		}
	}
	c.giveForm(w, r, s, all)
}

// giveForm gives answers, and says what became of them.
func (c *Console) giveForm(w http.ResponseWriter, r *http.Request, s *session, all []formAnswer) {
	form := r.PostForm
	var results []Result
	for _, x := range all {
		if x.said == nil {
			results = append(results, x.bad)
			continue
		}
		results = append(results, c.give(r.Context(), s, x.said))
	}
	if len(results) == 0 {
		results = []Result{{Error: "nothing is selected", status: http.StatusUnprocessableEntity}}
	}
	waiting, cancel := context.WithTimeout(r.Context(), formWait)
	defer cancel()
	for i := range results {
		// The script of the list shows there what becomes of a call. A page that is left for the list says it on the way.
		if x := &results[i]; x.asked != nil && x.Outcome == "" && (!wantsJSON(r) || form.Get("from") == "whole") {
			c.await(waiting, x.asked, formWait, x)
		}
	}
	s.keepAnswered(results, strings.HasPrefix(form.Get("decision"), "allow"), c.rooms.now())
	if wantsJSON(r) && form.Get("from") != "whole" {
		for i := range results {
			results[i].asked = nil
		}
	}
	if wantsJSON(r) {
		status := http.StatusOK
		if len(results) == 1 {
			status = results[0].status
		}
		said := summary(results, form.Get("decision"))
		answer := map[string]any{"results": results, "said": said}
		if status == http.StatusOK && form.Get("from") == "whole" { // the page of this question is left for the list
			answer["next"] = c.base(r) + "/" + s.say(false, said)
		}
		writeJSON(w, status, answer)
		return
	}
	if len(results) == 1 && !results[0].OK {
		if a := c.find(s, results[0].ID); a != nil { // back to the form, with what was written there
			v := c.whole(r, s, a)
			v.Problem, v.Reason = results[0].Error, word(form.Get("reason"))
			if args := form.Get("args"); args != "" && v.Ask.Editable {
				v.Args, v.Edit = inText(args), true
			}
			w.WriteHeader(results[0].status)
			c.render(w, "ask", v)
			return
		}
	}
	said := s.say(slices.ContainsFunc(results, func(x Result) bool { return !x.OK }), summary(results, form.Get("decision")))
	http.Redirect(w, r, c.base(r)+"/"+said, http.StatusSeeOther)
}

// summary says in a few words what became of answers.
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
	switch inquiry := slices.ContainsFunc(results, func(x Result) bool { return x.inquiry }); {
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

func jsonProblem(args []byte) string {
	var v any
	err := json.Unmarshal(args, &v)
	var at *json.SyntaxError
	if errors.As(err, &at) {
		line := 1 + strings.Count(string(args[:min(int(at.Offset), len(args))]), "\n")
		return fmt.Sprintf("line %d: %s", line, prompt.Words(err.Error()))
	}
	if err == nil {
		return "it is empty"
	}
	return prompt.Words(err.Error())
}

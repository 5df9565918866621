package codemode_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// A recordedRun is what the record says of a run.
type recordedRun struct {
	id      string
	client  *client
	calls   map[int]*recordedCall
	ends    []*audit.Entry
	entries []*audit.Entry
	parked  bool
	resumed bool
}

// A recordedCall is what the record says of a call.
type recordedCall struct {
	run                    *recordedRun
	n                      int
	pending                []*audit.Entry
	answers, late          []*audit.Entry
	running, ends, refused []*audit.Entry
	questions              []*store.Approval // of the database, not of the record
}

// final is how a call ended, by the record; "" is that it says nothing of it.
func (c *recordedCall) final() string {
	switch {
	case len(c.ends) > 0:
		return c.ends[0].State
	case len(c.refused) > 0:
		return audit.Refused
	case len(c.running) > 0:
		return audit.Running
	case len(c.pending) > 0:
		return audit.Pending
	}
	return ""
}

// askedAgain reports whether the rules changed under a yes, so that people were asked another question.
func (c *recordedCall) askedAgain() bool {
	return slices.ContainsFunc(c.pending, func(e *audit.Entry) bool { return e.Reason == "policy_changed" })
}

func (c *recordedCall) String() string {
	text := fmt.Sprintf("run %s, call %d, which the record has as %s", c.run.id, c.n, cmp.Or(c.final(), "nothing"))
	if len(c.refused) > 0 {
		text += " (" + c.refused[0].Reason + ": " + c.refused[0].Detail + ")"
	}
	return text
}

// args are those that the call was made with, or was to be made with.
func (c *recordedCall) args() (tool string, args effectArgs, text string) {
	for _, e := range slices.Concat(c.running, c.refused, c.pending) {
		if e.Args != nil && e.Args.Redacted != nil {
			_ = json.Unmarshal(e.Args.Redacted, &args)
			return e.Tool, args, sorted(e.Args.Redacted)
		}
	}
	return "", args, ""
}

// sorted is JSON with its members in order.
func sorted(js []byte) string {
	var v any
	if err := json.Unmarshal(js, &v); err != nil {
		return string(js)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// check compares what the upstream did, what the record says, and what was told.
func (s *schedule) check() {
	defer s.up.forget(s.seed % 1e9)
	r, err := s.newReplica(false)
	if err != nil {
		s.wrong("looking at what is left: %v", err)
		return
	}
	db := s.database(r)
	if db == nil {
		return
	}
	s.awaitStore(db)
	runs := s.readRecord(db)
	for _, run := range runs {
		s.readQuestions(db, run)
		for _, c := range run.calls {
			s.oneCall(c)
		}
		s.oneRun(run)
	}
	if s.away {
		s.count("store: did not answer in time")
	}
	s.upstream(runs)
	s.answers(db, runs)
	for _, c := range s.clients {
		s.model(c, runs)
	}
	s.kept(r, runs)
	s.history(r, runs)
	s.terminate(r)
	s.verify()
	if len(s.problems) > 0 {
		for _, run := range runs {
			for _, e := range run.entries {
				s.note("%s, chain %d: %s %s call %d %s %s %s, %v", e.Time.Local().Format("05.000"), e.Chain, run.id,
					e.Kind, e.Call, e.State, e.Reason, e.Detail, e.DecidedBy)
			}
		}
	}
}

// awaitStore waits, on a machine whose disk stands still for a while, until the store answers.
func (s *schedule) awaitStore(db *store.DB) {
	for range 30 {
		if _, err := db.Approvals.Pending(s.ctx, ""); err == nil {
			return
		}
		s.away = true
	}
}

// Words for a store that did not answer in time, on a machine whose disk stands still for a while.
var storeWasAway = regexp.MustCompile(`did not answer in time|store of runs could not be asked|could not be kept`)

// readRecord reads what the record says of the runs.
func (s *schedule) readRecord(db *store.DB) map[string]*recordedRun {
	runs := map[string]*recordedRun{}
	err := audit.Entries(s.ctx, db, store.Query{}, func(e *audit.Entry) error {
		if e.Run == "" {
			return nil
		}
		run := runs[e.Run]
		if run == nil {
			run = &recordedRun{id: e.Run, calls: map[int]*recordedCall{}}
			runs[e.Run] = run
		}
		run.entries = append(run.entries, e)
		s.away = s.away || storeWasAway.MatchString(e.Detail)
		if n, ok := strings.CutPrefix(e.Session, "client "); ok {
			i, _ := strconv.Atoi(n)
			run.client = s.clients[i-1]
		}
		if e.Kind == audit.Run {
			switch e.State {
			case audit.Running:
			case audit.Parked:
				run.parked = true
			case "resumed":
				run.resumed = true
			default:
				run.ends = append(run.ends, e)
			}
		}
		if e.Call == 0 {
			return nil
		}
		c := run.calls[e.Call]
		if c == nil {
			c = &recordedCall{run: run, n: e.Call}
			run.calls[e.Call] = c
		}
		switch {
		case e.Kind == audit.Approval && e.State == call.Late:
			c.late = append(c.late, e)
		case e.Kind == audit.Approval:
			c.answers = append(c.answers, e)
		case e.Kind != audit.Call:
		case e.State == audit.Pending:
			c.pending = append(c.pending, e)
		case e.State == audit.Running:
			c.running = append(c.running, e)
		case e.State == audit.Refused:
			c.refused = append(c.refused, e)
		default:
			c.ends = append(c.ends, e)
		}
		return nil
	})
	if err != nil {
		s.wrong("reading the record: %v", err)
	}
	for _, run := range runs {
		if run.client == nil {
			s.wrong("run %s is nobody's", run.id)
			delete(runs, run.id)
		}
		if run.parked {
			s.count("run: parked")
		}
		if run.resumed {
			s.count("run: went on in another process")
		}
	}
	return runs
}

func (s *schedule) readQuestions(db *store.DB, run *recordedRun) {
	asked, err := db.Approvals.Of(s.ctx, run.id)
	if err != nil {
		s.wrong("reading questions: %v", err)
	}
	for _, a := range asked {
		if c := run.calls[a.Call]; c != nil {
			c.questions = append(c.questions, a)
		} else if a.Validated != nil && s.happened["restart: SIGKILL"] == 0 {
			s.wrong("call %d of run %s was answered, and the record has nothing of it", a.Call, run.id)
		}
	}
}

// cut reports whether something happened that ends calls or the entries about them anywhere.
func (s *schedule) cut(c *client) bool {
	return c.left || s.happened["restart: SIGKILL"]+s.happened["restart: SIGTERM"] > 0
}

// oneCall holds the entries of a call against each other, and against what people said.
func (s *schedule) oneCall(c *recordedCall) {
	tool, args, text := c.args()
	killed := s.happened["restart: SIGKILL"] > 0
	bad := func(format string, args ...any) { s.wrong("%v: "+format, append([]any{c}, args...)...) }
	switch final := c.final(); {
	case len(c.running) > 1, len(c.ends) > 1, len(c.refused) > 1, len(c.refused) > 0 && len(c.running)+len(c.ends) > 0:
		bad("it has %d beginnings, %d ends and %d refusals", len(c.running), len(c.ends), len(c.refused))
	case len(c.ends) > 0 && len(c.running) == 0 && final != audit.NotSent:
		bad("it has an end and no beginning")
	case final == "" && c.run.parked && len(c.late) > 0 && len(c.answers) == 0:
		s.count("call: asked about where the run had been left") // its program makes it anew where the run goes on
	case final == audit.Running, (final == audit.Pending || final == "") && !killed:
		bad("it has no end, and no process was killed")
	case final == audit.Unknown && args.How != "lost" && !s.cut(c.run.client) && c.run.ends[0].State == audit.OK:
		bad("nothing happened that would leave this open: %s", c.ends[0].Detail)
	case final == audit.OK && args.How == "fail", final == audit.Failed && args.How != "fail":
		bad("it was to be done so: %s", args.How)
	}
	for _, e := range c.refused {
		s.count("refused: " + e.Reason)
		switch e.Reason {
		case "policy_changed":
			if !s.policy.changed {
				bad("no policy changed")
			}
		case hostfns.ReasonCanceled:
			closed := slices.ContainsFunc(c.questions, func(a *store.Approval) bool { return slices.Contains(s.closed, a.ID) })
			if !closed && !s.cut(c.run.client) && !storeWasAway.MatchString(e.Detail) && len(c.run.ends) > 0 &&
				c.run.ends[0].State == audit.OK {
				bad("the run did not end before")
			}
		case call.CodeDeclined:
			if !s.saidFor(c, false) && !strings.Contains(e.Detail, "refused before in this run") {
				bad("nobody said no")
			}
		}
	}
	for _, e := range c.running {
		if e.Verdict != "ask" {
			if tool == "up__second" || tool == "up__third" {
				bad("nobody was asked")
			}
			continue
		}
		switch by := e.DecidedBy; by.How {
		case "person":
			s.allowedBy(c, e, text)
		case "grant":
			s.count("grant: used")
			s.grantedBy(c, e, killed)
		default:
			bad("%s decided", by.How)
		}
	}
}

// saidFor reports whether somebody said yes, or no, to a question about a call.
func (s *schedule) saidFor(c *recordedCall, yes bool) bool {
	return slices.ContainsFunc(c.questions, func(a *store.Approval) bool {
		return slices.ContainsFunc(s.said, func(x *said) bool { return x.id == a.ID && x.yes == yes })
	})
}

// allowedBy holds that exactly these arguments were allowed, once, by who the record says.
func (s *schedule) allowedBy(c *recordedCall, e *audit.Entry, text string) {
	used := 0
	for _, a := range c.questions {
		if a.UsedAt.IsZero() {
			continue
		}
		used++
		asked, err := approvals.ReadPending(&approvals.Pending{ID: a.ID, Run: a.Run, Call: a.Call,
			Principal: a.Principal, Digest: a.Digest, Question: a.Question, Expires: a.Expires})
		if err != nil || sorted(asked.Args) != text {
			s.wrong("%v: made with %s, allowed were %+v (%v)", c, text, asked, err)
			continue
		}
		if a.Validated == nil || !*a.Validated {
			s.wrong("%v: the answer was used, and was no yes", c)
		}
		if !slices.ContainsFunc(s.said, func(x *said) bool {
			if !x.yes || x.channel != e.DecidedBy.Channel {
				return false
			}
			if x.args == "" {
				return x.id == a.ID
			}
			return sorted([]byte(x.args)) == text && slices.ContainsFunc(c.questions,
				func(q *store.Approval) bool { return q.ID == x.id })
		}) {
			s.wrong("%v: nobody allowed %s over %s", c, text, e.DecidedBy.Channel)
		}
	}
	if used != 1 {
		s.wrong("%v: %d answers were used for it", c, used)
	}
	for _, was := range s.absences {
		if was.profile != c.run.client.profile {
			continue
		}
		for _, x := range s.said {
			in := func(t time.Time) bool { return t.After(was.known) && (was.back.IsZero() || t.Before(was.back)) }
			if x.yes && slices.ContainsFunc(c.questions, func(q *store.Approval) bool {
				return q.ID == x.id &&
					!q.AnsweredAt.Before(was.known)
			}) && in(x.at) && in(e.Time) {
				s.wrong("%v: it was allowed and sent when its profile was not there any more", c)
			}
		}
	}
}

// grantedBy holds that somebody had allowed more than a call, and that this one is among it.
func (s *schedule) grantedBy(c *recordedCall, e *audit.Entry, killed bool) {
	given := 0 // a plan is several grants, whose names begin alike
	for _, g := range c.run.entries {
		if g.Kind == audit.Approval && g.State == call.Allowed && strings.HasPrefix(e.DecidedBy.Grant,
			g.DecidedBy.Grant) && g.DecidedBy.Scope != "" {
			given++
		}
	}
	if given == 0 && !killed && !slices.ContainsFunc(s.said, func(x *said) bool {
		return x.yes &&
			x.scope == call.ForTime
	}) {
		s.wrong("%v: nobody gave the grant %s", c, e.DecidedBy.Grant)
	}
}

// oneRun holds that a run ended once, and that its end counts its calls as they are.
func (s *schedule) oneRun(run *recordedRun) {
	if len(run.ends) == 0 && s.happened["restart: SIGKILL"] == 0 || len(run.ends) > 1 {
		s.wrong("run %s ended %d times", run.id, len(run.ends))
	}
	for _, e := range run.ends {
		if strings.Contains(e.Detail, "the run ended while it waited for a person") {
			s.count("run: ended for want of its process")
		}
		data := struct{ Calls map[hostfns.State]int }{map[hostfns.State]int{}}
		_ = json.Unmarshal(e.Data, &data)
		if e.Reason == "abandoned" {
			continue // by whoever found that its process is gone, and knows of no calls
		}
		for n := range run.calls {
			if run.calls[n].final() == audit.OK {
				data.Calls[hostfns.Done]--
			}
		}
		if data.Calls[hostfns.Done] != 0 && data.Calls[hostfns.Done]+data.Calls[hostfns.Unknown] < 0 {
			s.wrong("run %s: its end counts %d calls fewer as done than the record has (%s)", run.id,
				-data.Calls[hostfns.Done], e.Data)
		}
	}
}

// upstream holds what was done against the record: each effect once, and of the calls that ended so.
func (s *schedule) upstream(runs map[string]*recordedRun) {
	did, sure, perhaps := map[string]int{}, map[string]int{}, map[string]int{}
	for _, x := range s.up.of(s.seed % 1e9) {
		did["up__"+x.tool+" "+sorted([]byte(x.args))]++
	}
	for _, run := range runs {
		for _, c := range run.calls {
			tool, _, text := c.args()
			switch c.final() {
			case audit.OK, audit.Failed:
				sure[tool+" "+text]++
			case audit.Unknown, audit.Running:
				perhaps[tool+" "+text]++
			}
		}
	}
	all := maps.Clone(did)
	maps.Copy(all, sure)
	for what := range all {
		if did[what] < sure[what] || did[what] > sure[what]+perhaps[what] {
			s.wrong("%s was done %d times; by the record %d times for certain and %d times perhaps", what, did[what],
				sure[what], perhaps[what])
		}
	}
}

// answers holds what people were told against the record.
func (s *schedule) answers(db *store.DB, runs map[string]*recordedRun) {
	for _, run := range runs {
		for _, c := range run.calls {
			for range c.late {
				s.happened["answer: late"]++
			}
			if c.askedAgain() {
				s.happened["call: asked again"]++
			}
		}
	}
	for _, x := range s.said {
		a, err := db.Approvals.Get(s.ctx, x.id)
		if err != nil {
			s.wrong("an answer to question %s, which the database does not have: %v", x.id, err)
			continue
		}
		c := &recordedCall{run: &recordedRun{id: a.Run}, n: a.Call}
		if run := runs[a.Run]; run != nil && run.calls[a.Call] != nil {
			c = run.calls[a.Call]
		} else if s.happened["restart: SIGKILL"] == 0 {
			s.wrong("%v: somebody answered", c)
			continue
		}
		final := c.final()
		happened := slices.Contains([]string{audit.OK, audit.Failed, audit.Unknown, audit.Running}, final)
		again := c.askedAgain() // under other rules; people are told that the call is pending once more
		if x.outcome != "" && x.outcome != final && !(again &&
			(x.outcome == audit.Pending || strings.HasPrefix(x.outcome, "asked again: "))) {
			s.wrong("%v: over %s it was told as %s", c, x.channel, x.outcome)
		}
		if (x.outcome == audit.OK || x.outcome == audit.Failed) && !x.told.IsZero() {
			_, _, text := c.args()
			if !slices.ContainsFunc(s.up.of(s.seed%1e9), func(e *effect) bool {
				return sorted([]byte(e.args)) == text && !e.ended.IsZero() && !e.ended.After(x.told)
			}) {
				s.wrong("%v: over %s it was told as %s before the upstream had done it", c, x.channel, x.outcome)
			}
			if x.value != nil && sorted(x.value) != text {
				s.wrong("%v: over %s it was told that it gave %s, and it was made with %s", c, x.channel, x.value, text)
			}
		}
		if !x.taken {
			continue
		}
		other := len(c.late) > 0 || slices.ContainsFunc(s.said, func(y *said) bool { return y != x && y.id == x.id })
		switch {
		case !x.yes && happened && !other:
			s.wrong("%v: over %s somebody was told that their no is taken; %s", c, x.channel, inTheBook(x, a))
		case !x.yes && !happened && final != audit.Refused && !other && s.happened["restart: SIGKILL"] == 0:
			s.wrong("%v: a no over %s is not recorded", c, x.channel)
		case s.away: // whether the answer was in time could not be found out
		case x.yes && final == audit.Refused && !other && !again &&
			slices.Contains([]string{call.CodeDeclined, call.CodeTimeout}, c.refused[0].Reason) &&
			!strings.Contains(c.refused[0].Detail, "a person allowed it"):
			s.wrong("%v: over %s somebody was told that their yes is taken; %s", c, x.channel, inTheBook(x, a))
		}
	}
}

// inTheBook is when an answer was given and what the book has of its question.
func inTheBook(x *said, a *store.Approval) string {
	const clock = "05.000"
	answered := "nobody answered"
	if a.Validated != nil {
		answered = fmt.Sprintf("%s answered %t at %s: %s", a.AnsweredBy, *a.Validated, a.AnsweredAt.Format(clock), a.Answer)
	}
	return fmt.Sprintf("it was given at %s; in the book %s, asked at %s, withdrawn at %s", x.at.Format(clock), answered,
		a.Created.Format(clock), a.Withdrawn.Format(clock))
}

// A toldCall is what a model was told of a call.
type toldCall struct{ state, reason string }

// agrees reports whether what was told of a call is what the record says.
func (t toldCall) agrees(c *recordedCall) bool {
	final, reason := "", ""
	if c != nil {
		if final = c.final(); len(c.refused) > 0 {
			reason = c.refused[0].Reason
		}
	}
	switch hostfns.State(t.state) {
	case hostfns.Done:
		return final == audit.OK
	case hostfns.Refused:
		unrecorded := (final == "" || final == audit.NotSent) && t.reason == call.CodeDenied // it could not be
		return final == audit.Refused && reason == t.reason || unrecorded
	case hostfns.Failed:
		return final == audit.Failed || final == audit.Refused && reason == t.reason
	case hostfns.Unknown:
		// nobody knew then
		return final == audit.Unknown || final == audit.OK || final == audit.Failed || final == audit.NotSent
	case hostfns.NotStarted:
		return final == "" || final == audit.Pending || final == audit.NotSent || final == audit.Refused &&
			reason == hostfns.ReasonCanceled
	}
	return false
}

// model holds what a client was told against the record, and against what its program was told.
func (s *schedule) model(c *client, runs map[string]*recordedRun) {
	if c.resp == nil {
		s.count("model: told nothing")
		return
	}
	run := runs[c.run]
	if run == nil {
		s.wrong("client %d was told of run %s, which the record does not have", c.n, c.run)
		return
	}
	text := c.resp.Text(c.err)
	told := s.toldIn(run, text, "the model")
	if len(c.resp.Calls) == 0 {
		return // the text was kept by another process
	}
	for _, report := range c.resp.Calls {
		t := toldCall{string(report.State), report.Reason}
		s.count("call: " + t.state)
		if !t.agrees(run.calls[report.Call]) {
			s.wrong("run %s, call %d: the model was told %+v, and %v", run.id, report.Call, report,
				run.calls[report.Call])
		}
		if in, ok := told[report.Call]; ok && in != t {
			s.wrong("run %s, call %d: told as %+v, and in the text as %+v", run.id, report.Call, t, in)
		}
		if was := run.calls[report.Call]; was != nil {
			changed := len(was.running) > 0 && was.running[0].Args.Executed != was.running[0].Args.Proposed
			if changed != (len(report.Changed) > 0) && report.State == hostfns.Done {
				s.wrong("%v: told as changed: %v, recorded as changed: %v", was, report.Changed, changed)
			}
		}
	}
	for n := range run.calls {
		if !slices.ContainsFunc(c.resp.Calls, func(r hostfns.Report) bool { return r.Call == n }) {
			s.wrong("%v: the model was not told of it", run.calls[n])
		}
	}
	s.program(c, run)
}

// program holds what the program was told of its calls against what its client was told.
func (s *schedule) program(c *client, run *recordedRun) {
	if c.err != nil {
		return
	}
	var value []struct {
		N                     int
		OK                    json.RawMessage
		Name, Reason, Outcome string
	}
	if err := json.Unmarshal(c.resp.Value, &value); err != nil {
		s.wrong("run %s: its value: %v", run.id, err)
		return
	}
	program, client := map[string]int{}, map[string]int{}
	for _, v := range value {
		state := toldCall{string(hostfns.Failed), v.Name}
		switch {
		case v.OK != nil:
			state = toldCall{string(hostfns.Done), sorted(v.OK)}
		case v.Name == hostfns.ToolCallDenied:
			state = toldCall{string(hostfns.Refused), v.Reason}
		case v.Name == "UpstreamError":
			state = toldCall{string(hostfns.Unknown), v.Outcome}
			if v.Outcome == "not_sent" {
				state.state = string(hostfns.NotStarted)
			}
		}
		program[fmt.Sprint(v.N, " ", state)]++
	}
	for _, report := range c.resp.Calls {
		was := run.calls[report.Call]
		if was == nil || len(was.running)+len(was.refused)+len(was.pending) == 0 {
			s.count("model: the record has no arguments, so its program is not asked")
			return // it could not be recorded, and was not made
		}
		_, args, text := was.args()
		state := toldCall{string(report.State), report.Reason}
		if report.State == hostfns.Done {
			state.reason = text
		}
		client[fmt.Sprint(args.N, " ", state)]++
	}
	if !maps.Equal(program, client) {
		s.wrong("run %s: the program was told %v, and who sent it %v", run.id, program, client)
	}
}

var (
	aTally = regexp.MustCompile(`(?m)^calls: (\d+) \(([^)]*)\)`)
	aLine  = regexp.MustCompile(`(?m)^  ([0-9][0-9, -]*)\. (\S+)(?: x\d+)? ` +
		`(done|refused|failed|unknown|not started)(.*)$`)
	aWhy = regexp.MustCompile(`\(([A-Za-z_]+)\)(?::|$)`)
)

// toldIn reads what a text says of calls, and holds it against the record.
func (s *schedule) toldIn(run *recordedRun, text, who string) map[int]toldCall {
	told := map[int]toldCall{}
	_, calls, _ := strings.Cut(text, "\ncalls:")
	for _, line := range aLine.FindAllStringSubmatch("calls:"+calls, -1) {
		t := toldCall{state: line[3]}
		if why := aWhy.FindStringSubmatch(line[4]); why != nil {
			t.reason = why[1]
		}
		for part := range strings.SplitSeq(line[1], ", ") {
			from, to, span := strings.Cut(part, "-")
			first, err := strconv.Atoi(from)
			last, err2 := first, error(nil)
			if span {
				last, err2 = strconv.Atoi(to)
			}
			if err := errors.Join(err, err2); err != nil {
				s.wrong("run %s: the numbers of %q: %v", run.id, line[0], err)
			}
			for n := first; n <= last; n++ {
				told[n] = t
			}
		}
	}
	for n, t := range told {
		if !t.agrees(run.calls[n]) {
			s.wrong("run %s, call %d: %s was told in words %+v, and %v", run.id, n, who, t, run.calls[n])
		}
	}
	if found := aTally.FindStringSubmatch("calls:" + calls); found != nil && len(told) > 0 {
		if n, _ := strconv.Atoi(found[1]); n != len(told) {
			s.wrong("run %s: %d calls are counted, and %d listed:\n%s", run.id, n, len(told), calls)
		}
	}
	return told
}

// kept holds what is kept of runs for clients that come back against the record.
func (s *schedule) kept(r *replica, runs map[string]*recordedRun) {
	for _, run := range runs {
		ended, err := r.e.Runs().Ended(s.ctx, run.id, "")
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			s.wrong("run %s: %v", run.id, err)
			continue
		}
		s.count("model: text kept for who comes back")
		s.toldIn(run, ended.Text, "who comes back")
		if c := run.client; c.resp != nil && c.run == run.id && c.resp.Text(c.err) != ended.Text {
			s.wrong("run %s: its client was told\n%s\nand who comes back is told\n%s", run.id, c.resp.Text(c.err),
				ended.Text)
		}
	}
}

// history holds what the page shows of the runs against the record.
func (s *schedule) history(r *replica, runs map[string]*recordedRun) {
	v := s.logIn(s.ctx, r, operator, s.newDice())
	if v == nil {
		s.wrong("the page cannot be opened")
		return
	}
	for _, run := range runs {
		var got struct{ Entries []json.RawMessage }
		if _, ok := v.json(s.ctx, "GET", "/api/entries?limit=1000&run="+run.id, nil, &got); !ok {
			s.wrong("run %s: the page has no history of it", run.id)
			continue
		}
		shown := map[string]bool{}
		for _, e := range got.Entries {
			shown[sorted(e)] = true
		}
		for _, e := range run.entries {
			if line := sorted(e.Line()); !shown[line] {
				s.wrong("run %s: the page does not show %s", run.id, line)
			} else {
				delete(shown, line)
			}
		}
		for line := range shown {
			s.wrong("run %s: the page shows %s, and the record does not have it", run.id, line)
		}
	}
}

// verify exports the record, and verifies the database, the file and the checkpoints beside them.
func (s *schedule) verify() {
	fail := func(err error) bool {
		if err != nil {
			s.wrong("verifying: %v", err)
		}
		return err != nil
	}
	key, err := audit.LoadKey(filepath.Join(s.dir, "record.key"))
	if fail(err) {
		return
	}
	public, err := audit.ParsePublic(key.Public())
	if fail(err) {
		return
	}
	db, err := store.Open(s.ctx, store.Options{Path: filepath.Join(s.dir, "codemode.db"), ReadOnly: true})
	if fail(err) {
		return
	}
	defer db.Close()
	v := &audit.Verifier{Keys: []note.Verifier{public}, Own: key}
	var beside []audit.Checkpoint
	f, err := os.Open(filepath.Join(s.dir, "checkpoints.jsonl"))
	if err == nil {
		beside, _, err = audit.ReadCheckpoints(f)
		f.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) && fail(err) {
		return
	}
	v.Beside("checkpoints.jsonl", beside)
	var file bytes.Buffer
	_, err = audit.Export(s.ctx, &file, db, key, audit.JSONL, store.Query{}, time.Now())
	if fail(cmp.Or(err, v.Database(s.ctx, "codemode.db", db))) || fail(v.File(s.ctx, "export.jsonl", &file)) {
		return
	}
	for _, p := range v.Finish().Problems {
		s.wrong("the record is not what was written: %v", p)
	}
}

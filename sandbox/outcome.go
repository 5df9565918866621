package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/sys"
)

// left collects the part of the result that every run has.
func (r *Run) left(g *guest) *Result {
	r.watch(g, nil, true)
	t := now()
	r.steps.count(g)
	res := &Result{Usage: Usage{CPU: r.cpu, Wall: r.wall.at(t), Memory: int64(g.mem.Size), Steps: r.steps.made}}
	r.mu.Lock()
	res.Usage.Calls = r.calls
	r.mu.Unlock()
	if p, err := g.shared.bytes(sharedConsole, sharedConsoleLen, r.limits.ConsoleBytes+5); err == nil && len(p) > 0 {
		res.Console, _ = readConsole(p)
	}
	res.ConsoleDropped = int(g.shared.uint32(sharedConsoleDropped))
	return res
}

// watch tells Program.Watch what is new. idle says that the program waits or has ended.
func (r *Run) watch(g *guest, made *Call, idle bool) {
	if p := &r.program; p.Watch == nil || !idle && p.Watching != nil && !p.Watching() {
		return
	}
	if lines := newLines(g, &r.printed, r.limits.ConsoleBytes); made != nil || len(lines) > 0 {
		r.program.Watch(lines, made)
	}
}

// newLines reads what the program printed beyond the first bytes of its console, and counts it as printed.
func newLines(g *guest, printed *uint32, most int) []Line {
	n := g.shared.uint32(sharedConsoleLen)
	if n <= *printed || uint64(n) > uint64(most)+5 {
		return nil
	}
	p, ok := g.module.Memory().Read(g.shared.uint32(sharedConsole), n)
	if !ok {
		return nil
	}
	lines, rest := readConsole(p[*printed:])
	*printed = n - uint32(len(rest))
	return lines
}

// finished reads the result of a run that ended by itself.
func (r *Run) finished(g *guest) (*Result, error) {
	res := r.left(g)
	res.Dropped.Timers = int(g.shared.uint32(sharedTimers))
	limit := r.limits.ResultBytes
	if s := g.shared.uint32(sharedStatus); s == statusThrew || s == statusRefused {
		limit = 1 << 20
	}
	out, err := g.shared.bytes(sharedOut, sharedOutLen, limit)
	if err != nil {
		return res, &Error{Kind: Crashed, Message: "the result of the guest is outside its memory", Err: err}
	}
	switch g.shared.uint32(sharedStatus) {
	case statusReturned:
		res.Value = out
		return res, nil
	case statusReturnedUndefined:
		return res, nil
	case statusTooLarge:
		return res, &Error{Kind: TooMuchOutput,
			Message: fmt.Sprintf("the result is larger than %d bytes of JSON: return less, or a part", r.limits.ResultBytes)}
	case statusRefused:
		return res, describe(out, Refused, &r.program)
	case statusThrew:
		if g.shared.uint32(sharedOutOfMemory) != 0 {
			return res, r.outOfMemory(g)
		}
		return res, r.threw(g, out)
	}
	return res, &Error{Kind: Crashed, Message: "the guest ended with an unknown status"}
}

// threw makes the error of a run that ended with an error that nobody handled.
func (r *Run) threw(g *guest, out []byte) *Error {
	e := describe(out, Threw, &r.program)
	if g.shared.uint32(sharedTooMany) != 0 && isTooManyCalls(out) {
		e.Kind, e.Name, e.Message = TooManyCalls, "", fmt.Sprintf("the program made more than %d calls", r.limits.Calls)
		e.Details = ""
	}
	if e.Call = int(g.shared.uint32(sharedThrownBy)); e.Call != 0 {
		e.Details = "" // the host's own properties; its message says it
	}
	if e.Note == unawaited && e.Call > 0 {
		e.Note = "nobody awaited this call"
	}
	if g.shared.uint32(sharedMain) == mainRuns && e.Note != "" {
		e.Note += "; the program waited for a promise that nothing could settle any more"
	}
	return e
}

// failed makes the error of a run that the host stopped, or that trapped. If the program itself had thrown, that stays
// the outcome. Only a canceled run is canceled whatever it did: its caller asks for that.
func (r *Run) failed(g *guest, cause error) (*Result, error) {
	res, e := r.stopped(g, cause)
	switch g.shared.uint32(sharedMain) {
	case mainReturned:
		e.Message = "the program had returned, but what it started had not ended: " + e.Message
	case mainThrew:
		out, err := g.shared.bytes(sharedOut, sharedOutLen, 1<<20)
		if err != nil {
			break
		}
		threw := r.threw(g, out)
		if e.Kind == Canceled {
			e.Note = "it had thrown " + threw.Error()
			break
		}
		threw.Note, threw.Stopped = "the rest of what it started was stopped: "+e.Message, true
		return res, threw
	}
	return res, e
}

// stopped is failed without a look at how the program itself ended.
func (r *Run) stopped(g *guest, cause error) (*Result, *Error) {
	res := r.left(g)
	if r.result != nil { // the guest has forgotten its console
		res.Console, res.ConsoleDropped = r.result.Console, r.result.ConsoleDropped
	}
	e := &Error{Kind: r.stop}
	switch {
	case r.stop == TimedOut:
		e.Message = fmt.Sprintf("the program ran longer than %v", r.limits.Wall)
		if r.cpu >= r.limits.CPU {
			e.Message = fmt.Sprintf("the program computed longer than %v", r.limits.CPU)
		}
		e.Pos = r.where(g)
	case r.stop == TooManySteps:
		e.Message = fmt.Sprintf("the program made more than %d steps", r.limits.Steps)
		e.Pos = r.where(g)
	case r.stop == Canceled:
		e.Message, e.Err = "the run was canceled", context.Cause(r.parent)
	case r.stop == Abandoned:
		e.Message = "the program waits for a promise that nothing can settle any more: no call is under way and no timer is set"
		if g.shared.uint32(sharedOutOfMemory) != 0 {
			return res, r.outOfMemory(g)
		}
	case errors.Is(cause, errNoRoom) || g.shared.uint32(sharedOutOfMemory) != 0:
		return res, r.outOfMemory(g)
	default:
		e.Kind, e.Err = Crashed, trapCause(cause)
		e.Message = "the interpreter crashed, most often from recursion that is too deep"
		e.Pos = r.where(g)
	}
	return res, e
}

// trapCause keeps the first line of wazero's message. The rest is a stack of the interpreter's functions, which is
// useless to readers.
func trapCause(err error) error {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return err
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line)
}

func (r *Run) outOfMemory(g *guest) *Error {
	if full := r.memory.full; full != nil {
		return &Error{Kind: OutOfMemory, Message: r.memory.isFull(), Err: full}
	}
	return &Error{Kind: OutOfMemory, Message: fmt.Sprintf("the program needs more than the %d MiB of memory it may have",
		g.mem.Limit>>20)}
}

// where asks a stopped guest for the program's position.
func (r *Run) where(g *guest) Position {
	if !g.waste {
		return Position{}
	}
	// cm_where polls like every function of the guest, and so needs a turn. If it does not end, the guest stops at its
	// next poll.
	g.enter()
	defer g.leave()
	where := g.module.ExportedFunction("cm_where")
	if where == nil || where.CallWithStack(g.ctx, g.stack[:]) != nil {
		return Position{}
	}
	return r.program.position(int(g.shared.uint32(sharedLine)), int(g.shared.uint32(sharedColumn)))
}

// position maps a guest's position to the author's text. For the guest, Source begins on the second line.
func (p *Program) position(line, column int) Position {
	if line--; line <= 0 {
		return Position{}
	}
	if p.Lookup != nil {
		line, column = p.Lookup(line, column)
	}
	return Position{Line: line, Column: column}
}

// A description is what the guest says of an exception. How is "" for what the program threw, "promise" for the reason
// of a promise that nobody handled, "timer" for what a timer's function threw, or the path of a promise in the result.
type description struct {
	Kind, Name, Message, Shown, Stack string
	How                               string
	Others                            []description
	More                              int
}

const unawaited = "nobody awaited the promise that was rejected with it"

// describe makes an Error of the exception that the guest reports.
func describe(out []byte, kind Kind, p *Program) *Error {
	var d description
	if err := json.Unmarshal(out, &d); err != nil {
		return &Error{Kind: kind, Message: "the program threw something that cannot be described"}
	}
	e := d.error(kind, p)
	switch d.How {
	case "":
	case "promise":
		e.Note = unawaited
	case "timer":
		e.Note = "the function of a timer threw it"
	default:
		e.Note = "the promise at " + cutText(d.How, 200) + " was rejected with it"
	}
	for _, other := range d.Others {
		e.Others = append(e.Others, other.error(kind, p))
	}
	e.More = d.More
	return e
}

func (d *description) error(kind Kind, p *Program) *Error {
	e := &Error{Kind: kind, Name: d.Name, Message: d.Message, Details: d.Shown}
	switch d.Name { // the host's own properties; its message says them
	case "ToolCallDeniedError", "ToolNotFoundError", "InvalidArgumentsError", "InvalidResultError", "ToolError",
		"UpstreamError", "LimitError":
		e.Details = ""
	}
	if d.Kind == "value" {
		e.Message = "the program threw " + cmp.Or(d.Shown, strconv.Quote(d.Message)) + ", which is not an Error"
		e.Details = ""
	}
	e.Stack, e.Pos = p.stack(d.Stack)
	return e
}

// isTooManyCalls says whether what the program threw is the error of a call beyond the limit. A program may catch that
// and throw another.
func isTooManyCalls(out []byte) bool {
	var d struct{ Name, Reason string }
	return json.Unmarshal(out, &d) == nil && d.Name == "ToolCallDeniedError" && d.Reason == "limit"
}

var place = regexp.MustCompile(`:(\d+):(\d+)\)?$`)

// fileName is the name of the program in stacks. In a session it has the program's number, so that a position in a
// function of an earlier program is not taken for one in this program.
func (p *Program) fileName() string {
	switch {
	case p.number > 0:
		return "program-" + strconv.Itoa(p.number) + cmp.Or(path.Ext(p.Name), ".js")
	case p.Name == "":
		return "program.js"
	}
	return p.Name
}

var earlierName = regexp.MustCompile(`\bprogram-([1-9]\d{0,8})\.\w+$`)

// earlier maps a position of an earlier program of the session, whose file name ends before. For the guest, each
// Source begins on the second line.
func (p *Program) earlier(before string, line, column int) Position {
	m := earlierName.FindStringSubmatch(before)
	if p.number == 0 || m == nil {
		return Position{}
	}
	n, _ := strconv.Atoi(m[1])
	if line--; line <= 0 || n >= p.number {
		return Position{}
	}
	if p.Earlier != nil {
		line, column = p.Earlier(n, line, column)
	}
	return Position{Line: line, Column: column}
}

// stack maps the positions of a JavaScript stack to the author's text, and omits frames outside the program and the
// earlier programs of its session.
func (p *Program) stack(s string) (string, Position) {
	name := p.fileName()
	var b strings.Builder
	var first Position
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		m := place.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		l, _ := strconv.Atoi(line[m[2]:m[3]])
		c, _ := strconv.Atoi(line[m[4]:m[5]])
		var pos Position
		if own := strings.HasSuffix(line[:m[0]], name); !own {
			pos = p.earlier(line[:m[0]], l, c)
		} else if pos = p.position(l, c); first.Line == 0 {
			first = pos
		}
		if pos.Line <= 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:%d:%d%s\n", line[:m[0]], pos.Line, pos.Column, line[m[5]:])
	}
	return b.String(), first
}

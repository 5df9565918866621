package reference

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
)

// classes are the exceptions of programs: when each is thrown, and the way out.
var classes = []struct{ name, when, way string }{
	{hostfns.ToolCallDenied, "A rule or a person refused the call. Nothing was sent.", "[Look at `reason`](#reasons)."},
	{hostfns.LimitClass, "A budget that programs share has no room. Nothing was sent. It is a `ToolCallDeniedError` too.",
		"Wait `retryAfter` seconds, or until `until`."},
	{"ToolNotFoundError", "No connected server has a tool of that name.",
		"Take a name of `nearest`, or look with `codemode.search_tools`. With the reason `withheld` the tool exists and " +
			"cannot be called: the message says why. With `name_collision` rename a server; with `failed` or `disabled` " +
			"its server could not be started, or is disabled."},
	{hostfns.InvalidArguments, "The arguments do not fit the tool's input schema. Nothing was sent.",
		"Mend what `path` points at: `expected` and `got` say how."},
	{"InvalidResultError", "The result does not fit the tool's output schema. The call was made.",
		"Do not repeat a call that writes. `outputValidation` sets whether results are checked."},
	{hostfns.ToolErrorClass, "The tool says that it failed; `content` is its answer.", "As the tool says."},
	{"UpstreamError", "The server gave no answer, or one that cannot be read.",
		"With the outcome `not_sent` try again, after `retryAfter` seconds if the server says so. With `unknown` the call may " +
			"have happened: look before you repeat it. `detail` has the server's words in an HTTP error. The reason " +
			"`starting` is a server that is not ready yet, `failed` one that is down. " +
			"With the reason `login_required` a person has to log in ([accounts](../accounts.md))."},
	{"InternalError", "The engine cannot go on, such as for lack of memory.", "Hold less at a time, or raise `memory`."},
}

// reasons are the values of ToolCallDeniedError.reason.
var reasons = []struct{ code, when, way string }{
	{call.CodeDenied, "a rule denies it, no rule allows it, or the profile was removed from the configuration while " +
		"the program ran",
		"`codemode explain PROFILE TOOL` shows the rule, and what would change the verdict."},
	{call.CodeDeclined, "a person refused it; a person's words are in `detail`", "Do as `detail` says. Do not repeat " +
		"the call."},
	{call.CodeNoApprover, "it has to be asked about, and no person answered. An answer that comes faster than a " +
		"person can " +
		"read counts as nobody's: a client that declines by itself, after 5 ms for example, gives `no_approver` and not " +
		"`elicitation_declined`. Without `minHuman` that is a refusal within 300 ms; with it, any answer that comes sooner",
		"Open the page (`codemode console`) or `codemode approvals`, and run the program again."},
	{call.CodeUnsupported, "it has to be asked about, and there is no means of asking",
		"`detail` says where a person can answer: with `codemode approvals` in another terminal, or on [the " +
			"page](../answering.md). A client with elicitation shows a form."},
	{call.CodeTimeout, "nobody answered in time", "Raise `ask.timeout`, or let people be [told](../notifications.md)."},
	{call.CodeCanceled, "the question was closed without an answer, or the run ended", "Run the program again."},
	{call.CodeBadArguments, "its arguments are no JSON that is taken, or a person changed them and they do not fit " +
		"the tool",
		"Mend what `detail` names."},
	{"policy_changed", "it was approved, and the rules deny it by now, or the tool or its server changed meanwhile",
		"Run the program again: the new rules decide."},
	{call.CodeLimit, "the run has used up a limit. As a `LimitError` it is one that all runs share, the `budget` of " +
		"that id, or `record` for [the share of the record](../operations.md#how-fast-the-record-grows): `until` says when " +
		"there is room again, and `retryAfter` in how many seconds. A call beyond `calls` throws at once, " +
		"without `detail`, so `.catch()` on it is too late: use `try` and `await`",
		"Make fewer calls, or raise [the limit](configuration.md#limits)."},
	{call.CodeTooMany, "the run has asked as often as it may", "Ask about fewer calls, or raise `asks` in [the " +
		"limits](configuration.md#limits)."},
	{call.CodeInvalid, "what came back is no decision", "Look at the channel that answered."},
}

// An end is a way in which a run ends without a result.
type end struct {
	kind      sandbox.Kind
	when, way string
}

var ends = []end{
	{sandbox.Threw, "the program threw an exception that it did not catch", "The message has line and column. " +
		"[Exceptions](#exceptions) says what calls throw."},
	{sandbox.TimedOut, "`cpu` or `wall` is used up; the time in which people think does not count",
		"Do less in one program, or raise [the limit](configuration.md#limits)."},
	{sandbox.OutOfMemory, "the program holds more than `memory`", "Keep parts of results, not all of them."},
	{sandbox.TooMuchOutput, "the returned value is larger than may be kept", "Return less, or raise `results.largest`."},
	{sandbox.TooManyCalls, "a call beyond `calls` was refused, and the program did not catch that", "Make fewer, or " +
		"raise the limit."},
	{sandbox.Canceled, "the client ended the request, or the process stops", "Run the program again, if it is still " +
		"wanted."},
	{sandbox.Abandoned, "the program waits for a promise that nothing settles any more", "Await only calls, timers " +
		"and what settles itself."},
	{sandbox.Refused, "the program did not start: it is too long, or not the body of a function", "The message says " +
		"which, and where."},
	{sandbox.TooManySteps, "a deterministic run made more steps than it may", "Do less, or raise `Steps`."},
	{sandbox.Crashed, "the engine broke. Nothing of the program is left, and no other run is touched", "Report it, " +
		"with the program."},
}

// Errors is the page of the ways in which a call and a run can fail.
func Errors() (string, error) {
	var b strings.Builder
	b.WriteString("# Errors\n\n" + generated +
		"A call that fails throws an exception, which the program can catch. A run that fails has no value; its reply " +
		"still lists\n" +
		"the calls that were made and how each ended. [Commands](commands.md#codemode-exit-codes) has the exit codes, and\n" +
		"[REST](../rest.md#times-and-errors) the errors of the page's API.\n\n## Exceptions\n\n")
	declared := exceptions()
	t := table{{"Class", "Properties", "When", "The way out"}}
	for _, c := range classes {
		properties, ok := declared[c.name]
		if !ok {
			return "", fmt.Errorf("no declaration of the exception %s", c.name)
		}
		delete(declared, c.name)
		t = append(t, []string{anchor(c.name) + code(c.name), properties, c.when, c.way})
	}
	for name := range declared {
		return "", fmt.Errorf("package reference does not say when %s is thrown", name)
	}
	b.WriteString(t.String())
	b.WriteString("\n## Reasons\n\nA call that is not made throws a `ToolCallDeniedError` with one of these as " +
		"`reason`. `detail` is a sentence.\n\n")
	t = table{{"`reason`", "When", "The way out"}}
	for _, r := range reasons {
		t = append(t, []string{anchor(r.code) + code(r.code), r.when, r.way})
	}
	b.WriteString(t.String())
	b.WriteString("\n`\"elicitationFallback\": \"allow\"` lets a call through only where no channel reaches anybody. " +
		"A refusal that came too\n" +
		"fast is no such case, so the call stays refused; nor is an unclear answer, a channel that failed, a risk of " +
		"high or\n" +
		"critical, or a rule that could not be judged.\n\n" +
		"A call of critical risk is approved on the page alone, or at the terminal of `codemode run`. The program is " +
		"told so,\n" +
		"and how a person gets there.\n")
	b.WriteString("\n## How a run ends\n\nOther ends than a value. The host decides them by what it saw, not by what " +
		"a program says.\n\n")
	t = table{{"End", "When", "The way out"}}
	for k := sandbox.Kind(0); !strings.HasPrefix(k.String(), "Kind("); k++ {
		if !slices.ContainsFunc(ends, func(e end) bool { return e.kind == k }) {
			return "", fmt.Errorf("package reference does not say when a run ends as %s", k)
		}
	}
	for _, e := range ends {
		t = append(t, []string{e.kind.String(), e.when, e.way})
	}
	b.WriteString(t.String())
	return b.String(), nil
}

// exceptions are the declared classes of exceptions, with their properties as a list.
func exceptions() map[string]string {
	class := regexp.MustCompile(`declare class (\w+) extends (\w*Error) \{([^}]*)\}`)
	property := regexp.MustCompile(`(\w+)\??: [^;]+`)
	of := map[string]string{}
	for _, c := range class.FindAllStringSubmatch(strings.Join(declarations(), "\n\n"), -1) {
		if c[1] == "DOMException" { // as in browsers
			continue
		}
		var names []string
		for _, p := range property.FindAllStringSubmatch(c[3], -1) {
			if name := code(p[1]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		of[c[1]] = strings.Join(names, ", ")
		if c[2] != "Error" {
			of[c[1]] = strings.TrimPrefix(of[c[1]]+", and those of "+code(c[2]), ", ")
		}
	}
	return of
}

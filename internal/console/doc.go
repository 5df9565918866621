// Package console is the web page for people: open questions, what programs did, grants, and the rules.
//
// The central type is the [Console]. It gets an [approvals.Queue]: it shows the queue's questions and takes the
// answers. It also gets the record, grants and rules that the page shows:
//
//	queue := approvals.NewStrongQueue(console.ChannelName)
//	c, err := console.New(console.Options{Queue: queue, Origins: []string{"http://127.0.0.1:7391"}})
//	go http.Serve(listener, c.Handler())
//	fmt.Fprintln(os.Stderr, c.Link("local:anna")) // opens the page, once
//
// The queue is one of the channels of an evaluator. It may approve calls of critical risk if people sign in
// ([Options.SignIn]).
//
// # Front ends
//
// The page is plain HTML that works without its script. Other front ends have the same as JSON, with the same login,
// which is under [Options.Path]:
//
//	POST /login         {"secret": "..."}: the part of a login link behind the #. Answers what GET /api/session does, and sets a cookie
//
// All other paths are under the "path" that the login answers, and want its cookie:
//
//	GET  /api/session   {"person", "path", "csrf", "expires"}
//	POST /api/logout    {}: ends the session
//	GET  /api/pending   {"pending": [...], "zone": "CET"}: the calls that this person may answer, oldest first; see [Asked]
//	GET  /api/pending/ID  one of them, whole: nothing cut, nothing masked, with the arguments to edit
//	GET  /api/events    a stream of events "pending", each with all that GET /api/pending gives, at the start and after
//	                    each change; and "running" when GET /api/running has changed, without data and at most
//	                    four times a second
//	POST /api/answer    one answer, see [Answered]; needs the header X-CSRF-Token and Content-Type: application/json
//	POST /api/answer/propose  an answer with "propose", which wants a proof
//	GET  /api/entries   {"entries": [...]}: the record, newest first, in pages; see [records.ReadFilter] for its filters
//	GET  /api/entries/events  a stream of entries, which goes on behind Last-Event-ID
//	GET  /api/running   {"runs": [...], "elsewhere": [...]}: the runs in progress, with their calls and consoles
//	GET  /api/sessions  {"sessions": [...]}: those of programs
//	GET  /api/sessions/ID  one of them: what it declares, and its versions
//	POST /api/sessions/ID/fork   {"version": 1, "as": "..."}; or ID/rollback with {"version": 1}, or ID/delete with {}
//	GET  /api/accounts  {"servers": [...]}: those that this person's programs reach with an account of their own
//	POST /api/accounts/connect     {"server": "..."}: the address to open in the browser that gets the cookie
//	POST /api/accounts/disconnect  {"server": "..."}
//	GET  /api/servers   {"servers": [...]}: the MCP servers, and their tools with new definitions
//	POST /api/servers/reconnect  {"server": "..."}
//	POST /api/servers/accept     {"tool": "...", "digest": "...", "why": "..."}, which wants a proof
//	GET  /api/grants    {"grants": [...]}: newest first
//	POST /api/grants/revoke  {"grant": "g_..."}
//
// A program that answers with a token ([Options.Bearer]) has /api/pending, /api/events, /api/answer, /api/entries, /api/entries/events and
// /api/grants without a path, a cookie and X-CSRF-Token, and nothing else.
//
// docs/rest.md and docs/openapi.json describe all of it.
//
// At first the page refuses a request that needs a proof, with 403 and "proof": "wanted". It accepts the same request,
// byte for byte, with the header X-Proof and the code that [Console.Confirm] gives for it. A yes to a call of critical
// risk is refused with 403 and "signIn": the path that leads a person to a new sign-in, after which the page takes the
// answer.
//
// An answer that does not count changes nothing: 404 when there is no such question for this person, or no longer, 409
// when somebody was faster, 422 when the arguments, the code or the scope are wrong, 403 when somebody else must
// answer. While a stream is open, and for a while after any other request, its person counts as present.
//
// # What a user may rely on
//
//   - A secret opens the page once, within a few minutes, and is in no log, no record and no request line: it stands
//     behind the # of the link, and the browser sends it in the body of a POST.
//   - A session has two halves: a path that nobody can guess, and a cookie below that path. Browsers do not separate
//     the cookies of different ports of a host, but send a cookie only below its path, and no other port knows that
//     path. Neither half opens anything without the other, and the process keeps only digests of both.
//   - A request that widens what programs may do, or starts something, needs a fresh proof: a code for that one request
//     of that one session. The person who started the process gets the code. Answering, revoking and reading need none.
//   - A yes to a call of critical risk needs a new sign-in of the person at [Options.SignIn], for this one question as
//     it is shown. Without a provider nobody allows such a call on the page.
//   - Wrong secrets and codes do not affect the right ones. They are too long to guess.
//   - A client without a session sees nothing. A session ends when no page was open for [Options.Idle], and after
//     [Options.Life] in any case.
//   - A token opens no session, and approves no call of critical risk.
//   - People see and answer only what they may answer for ([Options.May]). The page treats everything else as
//     nonexistent.
//   - No GET changes anything, nor does a request that another site could have made: the page checks Host, Origin,
//     Sec-Fetch-Site and a token. Pages run no script and load nothing except what comes with this package.
//   - Package approvals escapes text from programs and servers before the page escapes it for HTML.
//
// The page cannot keep out another program of the same user that obtains a login link; see docs/security.md.
package console

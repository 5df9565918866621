// Package console is the web page for people: what waits for their answer, what programs did, what was allowed, and the
// rules.
//
// The central type is the [Console]. It is given a [approvals.Queue], whose questions it shows and whose answers it
// takes, and the record, grants and rules as far as the page shows them:
//
//	queue := approvals.NewStrongQueue(console.ChannelName)
//	c, err := console.New(console.Options{Queue: queue, Origins: []string{"http://127.0.0.1:7391"}})
//	go http.Serve(listener, c.Handler())
//	fmt.Fprintln(os.Stderr, c.Link("local:anna")) // opens the page, once
//
// The queue is one of the channels of an evaluator. It may approve calls of critical risk, because people log in before
// they answer.
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
//	GET  /api/pending   {"pending": [...], "zone": "CET"}: the calls that this person may answer, oldest first; see [Asked]
//	GET  /api/pending/ID  one of them, whole: nothing cut, nothing masked, with the arguments to edit
//	GET  /api/events    a stream of events "pending", each with all that GET /api/pending gives, at the start and after each change
//	POST /api/answer    one answer, see [Answered]; needs the header X-CSRF-Token and Content-Type: application/json
//	POST /api/answer/propose  an answer with "propose", which wants a proof
//	GET  /api/entries   {"entries": [...]}: the record, newest first; ?run=, ?tool=, ?limit=
//	GET  /api/grants    {"grants": [...]}: newest first
//	POST /api/grants/revoke  {"grant": "g_..."}
//
// A program that answers with a token ([Options.Bearer]) has /api/pending, /api/events, /api/answer, /api/entries and
// /api/grants without a path, a cookie and X-CSRF-Token, and nothing else.
//
// docs/rest.md and docs/openapi.json describe all of it.
//
// The page refuses a request that wants a proof at first, with 403 and "proof": "wanted". It accepts the same request,
// byte for byte, with the header X-Proof and the code that [Console.Confirm] gives for it.
//
// An answer that does not count changes nothing: 404 when there is no such question for this person, or none any more,
// 409 when somebody was faster, 422 when the arguments, the code or the scope are wrong, 403 when somebody else has to
// answer. While a stream is open, and for a while after any other request, its person is there to be asked.
//
// # What a user may rely on
//
//   - A secret opens the page once, for a few minutes, and is in no log, no record and no request line: it stands
//     behind the # of the link, and goes over in the body of a POST.
//   - A session has two halves: a path that nobody can guess, and a cookie below that path. Browsers do not keep the
//     cookies of different ports of a host apart, but send them below their path alone, which no other port knows.
//     Neither half opens anything without the other, and the process keeps digests of both.
//   - What widens what programs may do, or starts something, wants a fresh proof: a code for that one request of that
//     one session, which goes to whoever started the process. Answering, revoking and looking want none.
//   - Wrong secrets and codes do not affect the right ones. They are too long to be guessed.
//   - A client without a session sees nothing. A session ends when no page was open for [Options.Idle], and after
//     [Options.Life] in any case.
//   - A token opens no session. It approves no call of critical risk of its own principal, and none of another one
//     unless [Options.Vouched] says so.
//   - A person sees and answers what they may answer for ([Options.May]), and for everything else it is as if it were
//     not there.
//   - Nothing is changed by a GET, nor by a request that another site could have made: Host, Origin, Sec-Fetch-Site and
//     a token are checked, and pages run no script and load nothing but what comes with this package.
//   - What comes from programs and servers is escaped by package approvals before it is escaped for HTML.
//
// What it cannot keep away is another program of the same user that gets hold of a login link; see docs/security.md.
package console

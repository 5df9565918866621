// Package approvals asks people about calls and returns their yes or no.
//
// The central type is the [Desk]. It takes one [prompt.Request] and the channels to people, asks over all of
// them at once, and turns the replies into one [Result], a [call.Answer] with what only the Desk knows:
//
//	var desk approvals.Desk
//	a := desk.Ask(ctx, &prompt.Request{
//		Server: "filesystem", Tool: "write_file", Name: "filesystem__write_file",
//		Profile: "supervised", Rule: "fs-write", Risk: call.Medium,
//		Args: json.RawMessage(`{"path":"notes/today.md"}`),
//	}, []approvals.Channel{terminal.New(os.Stdin, os.Stderr, terminal.Options{})}, approvals.Options{})
//	if !a.Allowed {
//		return errors.New(a.Detail)
//	}
//
// [Desk.AskAll] asks about simultaneous calls together: a channel that is a [Gatherer] shows them as one form, in which
// each has its own decision. Before the call is made, [Desk.Use] spends the yes, which is good once, and only for the
// call that was shown.
//
// A person may say yes for longer than one call, as far as the [prompt.Terms] of the request go. That is a
// [prompt.Grant], which a [GrantStore] keeps and [Granted] finds. A [Queue] is a channel to people elsewhere. Package
// terminal connects another terminal of this user to it.
//
// A service asks people in its own way with two kinds of channels. [Approver] makes one of a function that asks and
// returns the answer, such as that of a chat bot. A page is a Queue: everybody who has logged in gets a [Seat], Queue.May
// says whose questions they see, [Seat.Pending] lists these, [Seat.Show] gives the text to decide by, and
// [Seat.Answer] takes the decision:
//
//	page := approvals.NewStrongQueue("page")
//	page.May = func(by, principal string) bool { return by == principal } // the Principal of the run's Request
//	seat := page.Sit("anna")
//	for _, open := range seat.Pending() {
//		view, err := seat.Show(prompt.RenderOptions{}, open.Request.ID)
//	}
//	err := seat.Answer(id, digest, code, call.Answer{Allowed: true})
//
// The page sends ID and Digest of the Request along with the form, and the code that the person types to allow a call
// with a Risk that is Grave. The folder examples/webasks has such a page.
//
// What a user may rely on:
//
//   - Only a clear yes is a yes. Silence, a dismissed dialog, an empty form, an unknown word, an answer that came late,
//     a channel that crashed: all are a no.
//   - The Desk tells a person's no from an unanswered question: see [call.Answer.Code].
//   - A yes is bound to a digest of the call, its arguments, its tool, the profile, the run and the principal
//     ([prompt.Request.Bind]). If the call is another one by the time it is made, there is no yes for it. No yes is
//     used twice.
//   - A grant only answers questions: it overrides no denial and no rule that failed. It covers what its
//     words say ([prompt.Grant.Text]), and it expires.
//   - Every wait has an end, whether or not the channel honours its context.
//   - An answer is stored before anybody learns that it counts.
//   - The text shown comes from the bytes that will be sent, escaped and never stripped, and says when it is incomplete
//     ([prompt.Render]). Every channel shows the same text.
//
// An answer does not prove that a person gave it: a client may answer its own forms. [Options.MinHuman] catches the
// careless ones.
//
// Package profiles decides which calls need a question, and package server carries elicitations. This package knows
// neither. A new kind of channel is a new [Channel]: package terminal has two. An embedding program registers it in
// codemode.Options.Channels, and codemode serve in newPage and responder.Await.
package approvals

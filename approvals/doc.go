// Package approvals puts calls to people and brings back a yes or a no.
//
// The central type is the [Desk]. It is given one [prompt.Request] and the channels over which somebody may be reached,
// asks over all of them at once, and turns whatever comes back into one [Answer]:
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
// Calls of one moment go together, with [Desk.AskAll]: a channel that is a [Gatherer] shows them as one form, in which
// each has a decision of its own. Before the call is made [Desk.Use] takes the yes, which is good once, and for the
// call that was shown.
//
// A person may say yes for longer than one call, as far as the [prompt.Terms] of the request go. That is a
// [prompt.Grant], which a [GrantStore] keeps and [Granted] finds. A [Queue] is a channel to people elsewhere; package
// terminal takes it to another terminal of this user.
//
// What a user may rely on:
//
//   - Only a clear yes is a yes. Silence, a dismissed dialog, an empty form, an unknown word, an answer that came late, a
//     channel that crashed: all are a no.
//   - Nobody is said to have declined who was not asked. [Answer.Code] tells a person's no from an empty room.
//   - A yes is bound to a digest of the call, its arguments, its tool, the profile, the run and the principal ([prompt.Binding]). What
//     is another call by the time it is made has no yes, and no yes is used twice.
//   - A grant answers questions and nothing else: it lifts no denial, and no doubt about a rule. It covers what its words say
//     ([prompt.Grant.Text]), and it ends.
//   - Every wait has an end, whether or not the channel honours its context.
//   - What is shown comes from the bytes that will be sent, escaped and never stripped, and says when it is not all ([prompt.Render]).
//     Every channel shows the same text.
//
// What an answer does not prove is that a person gave it: a client may answer its own forms. [Options.MinHuman] catches
// the careless ones.
//
// Which calls need a question is decided in package profiles, how an elicitation travels in package server. This
// package knows neither.
package approvals

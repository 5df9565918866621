// Package profiles holds what people allow programs to do.
//
// A configuration file says it in rules over the names and arguments of tools. [Load]
// checks the whole file and reports everything that is wrong with it at once, each with
// file, line, column and a way out; a file with a problem is not used in part. What comes
// out is a [Config] with a [Profile] for every profile of the file, and neither changes
// ever after. Ask a profile with [Profile.Decide]: the answer depends on nothing but the
// profile and the call, and says which rules it rests on and where they stand:
//
//	c, err := profiles.Load("codemode.json")
//	...
//	d := c.Profile("supervised").Decide(profiles.Call{
//		Server: "github", Tool: "create_issue",
//		Args: json.RawMessage(`{"owner": "acme"}`),
//	})
//	fmt.Println(d.Verdict, d.Reasons[0].Pos, d.Reasons[0].Text)
//
// A caller may rely on this:
//
//   - Deny comes before ask, ask before allow, wherever in the file the rules stand. A rule
//     that cannot be judged (an argument is missing, or of another type) allows nothing,
//     and where it would have denied or asked, a person is asked.
//   - Deny and ask rules match widely: every name of a tool, text in any case and width.
//     Allow rules match narrowly: the canonical name, exact text. Inside "not" it is the
//     other way round.
//   - Adding a deny or ask rule never loosens a call. A child cannot shake off the deny and
//     ask rules of its parents. The floor, overlays, the managed file and files that nobody
//     trusts only ever make a verdict stricter.
//   - Arguments that two JSON decoders could read differently are not judged at all.
//
// Several files may hold together, see [ParseAll]: that of whoever runs the machine, the
// user's own, a project's, which only tightens until somebody trusts it. An [Overlay]
// narrows single sessions, callers or programs, see [Config.Narrowed].
//
// [WatchFiles] follows files while they are edited and keeps the last good state in force. Time,
// counters and what a run has read are part of the call. Asking people, remembering their
// answers and recording what happened are the business of other packages.
package profiles

// Package profiles holds what people allow programs to do.
//
// A configuration file says it in rules over the names and arguments of tools; package config makes a [Profile] of each
// profile of the file, which never changes after. Ask it with [Profile.Decide]: the answer depends on nothing but the
// profile and the call, and says which rules it rests on and where they stand:
//
//	c, err := config.Load("codemode.json")
//	...
//	d := c.Profile("supervised").Decide(profiles.Call{
//		Server: "github", Tool: "create_issue",
//		Args: call.Unread([]byte(`{"owner": "acme"}`)),
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
// Time, counters and what a run has read are part of the call. Reading files is the business of package config; asking
// people, remembering their answers and recording what happened are that of others.
package profiles

// Package profiles holds what people allow programs to do.
//
// A configuration file expresses this in rules over the names and arguments of tools. Package config makes a [Profile]
// of each profile of the file. A Profile never changes. Ask it with [Profile.Decide]: the answer depends only on the
// profile and the call, and names the deciding rules and their positions:
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
//   - Deny comes before ask, ask before allow, regardless of the rules' positions in the file. A rule that cannot be
//     evaluated (an argument is missing, or of another type) allows nothing. If it would have denied or asked, the
//     verdict is ask.
//   - Deny and ask rules match widely: every name of a tool, text in any case and width.
//     Allow rules match narrowly: the canonical name, exact text. Inside "not" it is the
//     other way round.
//   - Adding a deny or ask rule never loosens a call. A child cannot remove the deny and ask rules of its parents. The
//     floor, overlays, the managed file and untrusted files only make a verdict stricter.
//   - No rule evaluates arguments that two JSON decoders could read differently; the call is denied.
//
// Time, counters and what a run has read are part of the call. Package config reads files; other packages ask people,
// remember their answers and record events.
package profiles

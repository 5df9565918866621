// Package asking puts the questions of runs to people: about calls, about the plan of a program, and those that
// programs ask themselves. A [Prompter] asks for one run, over the channels that the profile lets be used, through the
// desk of package approvals. What people have allowed and what they are asked is kept in the store, so that it counts
// in every process.
package asking

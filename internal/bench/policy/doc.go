// Package policy runs hostile programs against somebody's profiles and the tools of their servers, and reports what the
// profiles let through.
//
// [Run] makes the programs from the tools and from the rules, and runs each one as every program runs: through
// analysis, the sandbox and the Gate, under the profile. Only the last step differs. No call reaches a server: a double
// answers it, with values that fit the schema of the tool, and notes what would have been sent.
//
// A [Finding] is a program with a call that the profile allowed without a question, against what its rules say
// elsewhere. Most attacks are pairs. A plain call, which the profile must refuse or ask about, shows what a rule means:
// reading /etc/passwd. A second call does the same in another way: reading /data/../etc/passwd. It is a finding if the
// profile allows the second call and not the first one. Where a profile allows the plain call too, it means to.
//
// Other attacks need no such pair: a tool that destroys, which only a pattern or the absence of a rule allows; what one
// tool reads, sent out by another; a thousand writes by one program; a question that nobody answers, or that one answer
// settles for all others.
package policy

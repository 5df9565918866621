// Package engine runs the attack suite against any engine that speaks the isolation protocol
// (docs/isolation-protocol.md), and compares engines.
//
// [Isolation] starts an engine as a process of its own, gives it the cases of a suite and questions whose answers it
// cannot know in advance, measures it from outside, and starts it again when it hangs or crashes. A [Report] has what
// it found, a [Scoreboard] has the reports of several engines.
package engine

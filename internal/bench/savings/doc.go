// Package savings measures what programs save against one tool call at a time, without a model: package tau2 has tasks
// with the calls that do each of them, and this package makes those calls in three ways.
//
//   - One at a time: the model sees the tools of the domain, makes each call, and reads each answer.
//   - One program: the model searches for tools, and one program makes all calls. [write] makes the program.
//   - Two programs: the first makes the calls that read and returns the whole answers, the second makes those that
//     write, with what the model took from the answers.
//
// All go over MCP, to a real server with a real profile. A way counts for a task only if it leaves the database as the
// calls one at a time do.
//
// One program can express a task if each value in the arguments is known before the program: it is in what the user
// says or in what the tool's declaration lists; or if the program can take it from the answer of an earlier call of its
// own. [knowledge] has the former, and [places] finds the latter.
package savings

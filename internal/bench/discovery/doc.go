// Package discovery measures what discovery and programs save a model, without one.
//
// [MeasureSavings] takes the airline and retail domains of tau2-bench, with the calls that do each task, and makes
// these calls in three ways:
//
//   - One at a time: the model sees the tools of the domain, makes each call, and reads each answer.
//   - One program: the model searches for tools, and one program makes all calls. [write] makes the program.
//   - Two programs: the first makes the calls that read and returns the whole answers, the second makes those that
//     write, with what the model took from the answers.
//
// All go over MCP, to a real server with a real profile. A way counts for a task only if it leaves the database as the
// calls one at a time do. The data are a checkout of tau2-bench on the user's disk: the database of a domain, its
// tasks, and the descriptions of its tools. None of it is in this repository. The tools themselves are Go, see
// [Domain]: each does to the database what the tool of its name does there.
//
// One program can express a task if each value in the arguments is known before the program: it is in what the user
// says or in what the tool's declaration lists; or if the program can take it from the answer of an earlier call of its
// own. [knowledge] has the former, and [places] finds the latter.
//
// [MeasureRecall] asks the search for tools plain questions: how often a right tool is the first answer, and how often
// it is among the first five. The questions are in this repository. The tools are those of public servers, whose words
// stay where they are: a file that anybody can make again, and whose SHA-256 is here. docs/savings.md says how.
package discovery

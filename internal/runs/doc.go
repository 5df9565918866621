// Package runs runs programs: each from its start to its end, over as many guests and processes as necessary.
//
// [Executor.Eval] reads a program, starts it in a guest, passes its calls through the Gate, and ends it. A run that
// waits only for people is parked: its guest is saved as an image, in the store where there is one. If its process has
// died, another one takes the run over when somebody has answered. A client can reattach to the run in any process.
package runs

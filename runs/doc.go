// Package runs runs programs: each from its start to its end, over as many guests and processes as it takes.
//
// [Executor.Eval] reads a program, starts it in a guest, puts its calls through the Gate, and ends it. A run that waits
// for nothing but people is parked: its guest is put away as an image, in the store where there is one. Another process
// takes it over when its own is gone and somebody has answered, and a client reattaches to it wherever it is.
package runs

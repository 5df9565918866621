// Package terminal asks people at this machine.
//
// [New] is a channel of package approvals that asks on the terminal from which the program was started. [Listen] serves
// the questions of a queue to other terminals of the same user, over a socket that only this user can reach. [Respond]
// is the other end of that socket.
package terminal

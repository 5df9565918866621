// Package condition reads and evaluates a rule's conditions on the arguments of a call ("when"). A condition that it
// cannot evaluate is neither true nor false: the three values and their order are Kleene's.
package condition

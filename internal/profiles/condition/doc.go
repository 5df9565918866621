// Package condition reads and evaluates a rule's conditions on the arguments of a call ("when"). A condition that it
// cannot evaluate is neither true nor false: the three values and their order are Kleene's. The names of the operators
// are in operatorparse.go, and what they say is in operators.go.
package condition

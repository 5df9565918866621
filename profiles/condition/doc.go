// Package condition reads and judges what a rule says about the arguments of a call ("when"). A condition that cannot
// be judged is neither true nor false: the three values and their order are Kleene's.
package condition

// Package match has what a rule matches: patterns over the names of tools, and over text in conditions, and conditions
// on the arguments of a call ("when").
//
// The grammar of a [Pattern] is that of doublestar without its separator; a pattern that is slow to match, or that
// means something else in another pattern language, is an error with its position.
//
// A [Condition] that cannot be evaluated is neither true nor false: the three values and their order are Kleene's. The
// names of the operators are in operatorparse.go, and what they say is in operators.go.
package match

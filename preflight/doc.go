// Package preflight reads programs before they run and says what they would do: [Checker.Check] decides the calls that a program's
// text shows as if they were made, and signs a token that says that the program was looked at. Nothing runs, and nobody is
// asked.
package preflight

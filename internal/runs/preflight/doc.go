// Package preflight reads programs before they run and says what they would do. [Checker.Check] decides each call that
// the text of a program shows, as if the program made it, and signs a token for the checked text. It runs nothing and
// asks nobody.
package preflight

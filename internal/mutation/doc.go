// Command mutation says how well the tests of a package notice mistakes in it, and
// which outcomes of its conditions no test has seen:
//
//	go run ./internal/mutation -package ./profiles -threshold 95
//
// A mutant is the package with one small mistake: a comparison turned round or off by
// one, "and" for "or", an operand or a statement left out, plus for minus. A mutant that
// a failing test betrays is killed; one that all tests pass on is alive, and is either a
// test that is missing or a mistake that makes no difference. The latter are listed in a
// file, each with the reason, and counted apart.
//
// All mutants are compiled into one test binary, which the environment variable MUTANT
// switches, so that each costs the time of a few tests and no build. Which tests reach
// which mutant is measured first; only these run, the quick ones before the slow ones.
// The package itself is not touched: the go command is handed the rewritten files with
// -overlay.
package main

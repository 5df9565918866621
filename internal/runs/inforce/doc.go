// Package inforce holds the rules in force, and decides by them.
//
// [Rules] hold the latest loaded configuration, as one immutable [State]. A [Policy] belongs to one run: it decides
// each call by the current profile, with the overlays for the principal of the run. Saved programs, the sessions that
// people make for a role, the limits of runs, and the [Budgets] of all runs come from the same State.
package inforce

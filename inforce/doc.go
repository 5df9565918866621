// Package inforce knows which rules are in force at each moment, and decides by them.
//
// [Rules] hold the configuration that was loaded last, as one immutable [State]. A [Policy] belongs to one run: it
// decides each call by the profile as it is then, with the overlays that hold for whoever runs it. Saved programs, the
// sessions that people make for a role, and the limits of runs come from the same State.
package inforce

// Package call holds the words of one tool call: what every part of codemode means by a tool's name, a risk, a verdict
// and the reasons of a decision.
//
// It has types and names only. It imports nothing of this module, and every package may import it, so that the parts
// that decide, ask, record and carry out a call speak of it in the same types.
package call

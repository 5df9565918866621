// Package call holds the vocabulary of one tool call: what every part of codemode means by a tool's name, a risk, a
// verdict and the reasons of a decision.
//
// It imports nothing of this module but internal/strictjson, and every package may import it, so that the parts that
// decide, ask, record and send a call share its types. The Gate reads [Arguments] once.
package call

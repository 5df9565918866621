// Package asking asks people the questions of runs: about calls, about the plan of a program, and questions that
// programs ask themselves. A [Prompter] asks for one run, over the channels that the profile permits, through the desk
// of package approvals. The store keeps the questions and the grants, so that they count in every process.
package asking

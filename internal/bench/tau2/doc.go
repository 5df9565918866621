// Package tau2 serves the airline and retail domains of tau2-bench over MCP, for the benchmark of what programs save.
//
// The data are a checkout of tau2-bench on the user's disk: the database of a domain, its tasks, and the descriptions
// of its tools. None of it is in this repository. The tools themselves are Go: each does to the database what the tool
// of its name does there.
//
//	d, err := tau2.Open("tau2-bench", "retail")
//	err = d.Server().Run(ctx, &mcp.StdioTransport{}) // or any other transport
//	text, err := d.Changes()                         // the records that calls have changed
//	d.Reset()                                        // all are as they were at first
package tau2

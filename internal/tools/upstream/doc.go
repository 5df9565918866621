// Package upstream connects to MCP servers and keeps them connected.
//
// A [Manager] gets [Server] values, which package config/servers reads from
// configuration files. It starts the servers in parallel, restarts
// those that die, reports the tools of each as they change, and sends calls:
//
//	m := upstream.NewManager(upstream.Options{ToolsChanged: catalogue.replace})
//	defer m.Close(ctx)
//	m.Set(servers)
//	err := m.Ready(ctx)
//	r, err := m.Call(ctx, "files", "read_text_file", args, upstream.CallOptions{})
//
// What callers may rely on:
//
//   - The package never repeats a call that the server may have acted on. If the connection
//     ends before the answer, the error says that the outcome is unknown ([Error.Unknown]).
//   - A server that prints noise, answers late or twice, or never answers disturbs no other server.
//   - Results keep the bytes of the wire: integers beyond 2^53 keep their digits.
//   - A child process gets a minimal environment, and dies with this process and with all
//     that it started ([Child]).
//   - A question of a server (elicitation) reaches the person who made the call, or nobody.
//     Where a server does not say which call that is, the question is passed on only while
//     all calls in flight there belong to one session. Sampling is not offered.
//   - The token of a login ([Manager.Login]) goes to the server it was issued for (package
//     login). No error, log or result shows it, nor the keys of the configuration.
//
// Package hostfns decides whether a call is allowed before it gets here. This
// package believes nothing that a server says about itself.
package upstream

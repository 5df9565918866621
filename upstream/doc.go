// Package upstream connects to MCP servers and keeps them connected.
//
// A [Manager] is given [Server] values, most of them read from people's
// configuration files by [ParseServer]. It starts them in parallel, restarts
// what dies, tells the tools of each as they change, and sends calls:
//
//	m := upstream.NewManager(upstream.Options{ToolsChanged: catalogue.replace})
//	defer m.Close(ctx)
//	m.Set(servers)
//	err := m.Ready(ctx)
//	r, err := m.Call(ctx, "files", "read_text_file", args, upstream.CallOptions{})
//
// What a caller may rely on:
//
//   - A call that may have been acted on is never sent again. If the connection ends
//     before the answer, the error says that the outcome is unknown ([Error.Unknown]).
//   - What a server prints, sends late, sends twice or never sends disturbs no other server.
//   - Results keep the bytes of the wire: integers beyond 2^53 keep their digits.
//   - A child process gets a minimal environment and dies with us, with all that it started.
//   - A question of a server (elicitation) reaches the person whose call it is about
//     or nobody. Where a server does not say which call that is, it is passed on only
//     while all calls in flight there are made for the same session. Sampling is not offered.
//   - What a login gave us ([Manager.Login]) is sent to the server it was given for, and
//     is in no error, log or result; nor are the keys of the configuration.
//
// Whether a call is allowed is decided before it gets here. The package
// believes nothing that a server says about itself.
package upstream

// Package servers reads the entries of mcpServers, as codemode and other MCP clients write them.
//
// [Read] turns one entry of a configuration file into a [Server], and reports every problem at its place in the file.
// [Parse] does the same for an entry outside of a file. The package understands the spellings of Claude, Cursor, VS
// Code, Copilot, Gemini CLI, OpenCode and Codex. Package upstream connects to the servers.
package servers

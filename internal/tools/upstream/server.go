package upstream

import (
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
)

// The transports that a [Server] can name.
const (
	Stdio     = servers.Stdio
	HTTP      = servers.HTTP
	SSE       = servers.SSE
	InProcess = servers.InProcess
	OpenAPI   = servers.OpenAPI
	CLI       = servers.CLI
)

// A Server says how to reach one MCP server, mostly from an entry of a configuration.
type Server struct {
	servers.Server
	BuiltIn *builtin.Server `json:"-"` // InProcess
}

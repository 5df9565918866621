package upstream

import (
	"net/http"
	"slices"
	"time"

	"github.com/codemode-project/codemode/upstream/builtin"
	"github.com/codemode-project/codemode/upstream/child"
	"github.com/codemode-project/codemode/upstream/login"
)

// A Transport is the way to reach a server. The zero value reaches none.
type Transport string

// The transports that a [Server] can name.
const (
	Stdio     Transport = "stdio"   // a child process of ours
	HTTP      Transport = "http"    // streamable HTTP, and SSE for servers that do not know it
	SSE       Transport = "sse"     // the HTTP transport of protocol 2024-11-05
	InProcess Transport = "builtin" // Go code in this process
)

// A Server says how to reach one MCP server, with all variables expanded.
type Server struct {
	Name      string
	Transport Transport

	Command string            // Stdio: looked up in the PATH the child will have
	Args    []string          // Stdio: no shell ever reads them
	Env     map[string]string // Stdio: added to the minimal environment of the child
	EnvFile string            // Stdio: a file of KEY=value lines, read at every start; Env wins over it
	Dir     string            // Stdio: "" is our own working directory

	URL     string      // HTTP and SSE
	Headers http.Header // HTTP and SSE: sent with every request to the URL's origin, and to no other

	OAuth *OAuth // HTTP and SSE: how to log in, see [Manager.Login]; nil discovers it

	SSEFirst bool // HTTP: the address says that SSE is likelier

	BuiltIn *builtin.Server `json:"-"` // InProcess

	Disabled bool   // listed in [Manager.Status], never started
	Problem  string // why it cannot be started, such as an unset variable; "" if it can be

	Include          []string      // the tools to take, by the name the server gives them; empty takes all
	Exclude          []string      // the tools to leave out; wins over Include
	TrustAnnotations bool          // the operator believes this server's hints; for package profiles
	Timeout          time.Duration // of one call; 0 leaves it to the caller
	StartTimeout     time.Duration // from the start until the tools are listed; 0 is one minute
}

// OAuth is what the configuration says about the login at a server.
type OAuth = login.Settings

// ChildVariable is in the environment of every process that a server is started as; see [child.Variable].
const ChildVariable = child.Variable

func loginCommand(server string) string { return login.Command(server) }

// includes reports whether the operator wants the tool with the server's name raw.
func (s *Server) includes(raw string) bool {
	return !slices.Contains(s.Exclude, raw) && (len(s.Include) == 0 || slices.Contains(s.Include, raw))
}

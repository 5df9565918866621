package servers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
)

// A Transport is the way to reach a server. The zero value reaches nothing.
type Transport string

// The transports that a [Server] can name.
const (
	Stdio     Transport = "stdio"   // a child process of ours
	HTTP      Transport = "http"    // streamable HTTP; falls back to SSE
	SSE       Transport = "sse"     // the HTTP transport of protocol 2024-11-05
	InProcess Transport = "builtin" // Go code in this process
	OpenAPI   Transport = "openapi" // an HTTP API with a description
	CLI       Transport = "cli"     // a program that each call starts
)

// ChildVariable is in the environment of every server process, and of its descendants. It keeps codemode from starting
// itself, and package upstream finds by it what a server has left behind.
const ChildVariable = "CODEMODE_CHILD"

// A Server says how to reach one MCP server, with all variables expanded.
type Server struct {
	Name      string
	Transport Transport

	Command string            // Stdio and CLI: looked up in the PATH the child will have
	Args    []string          // Stdio: no shell ever reads them
	Env     map[string]string // Stdio and CLI: added to the minimal environment of the child
	EnvFile string            // likewise: a file of KEY=value lines, read at every start; Env wins over it
	Dir     string            // likewise: "" is our own working directory

	URL     string      // HTTP and SSE
	Headers http.Header // HTTP and SSE: sent with every request to the URL's origin, and to no other

	OAuth *OAuth // HTTP and SSE: how to log in; nil finds out

	SSEFirst bool // HTTP: the address suggests SSE

	API *API // OpenAPI; URL is its base

	CLI *CommandLines // CLI

	Disabled bool   // listed, never started
	Problem  string // why it cannot be started, such as an unset variable; "" if it can

	Include          []string      // the tools to take, see [Server.Takes]; empty takes all
	Exclude          []string      // the tools to leave out; wins over Include
	TrustAnnotations bool          // the operator believes this server's hints; for the deciding code
	Timeout          time.Duration // of one call; 0 leaves it to the caller
	StartTimeout     time.Duration // from the start until the tools are listed; 0 is one minute
}

// Words returns the words of an entry, for whoever looks for files in them. Of a word with an argument it has the
// beginning.
func (s *Server) Words() []string {
	words := s.Args
	if s.CLI != nil {
		for _, l := range s.CLI.Tools {
			for _, w := range flat(l.Args) {
				if text, _ := w.Literal(); text != "" {
					words = append(words, text)
				}
			}
		}
	}
	return words
}

// OwnProcess reports whether the server is started on this machine.
func (s *Server) OwnProcess() bool { return s.Transport == Stdio || s.Transport == CLI }

// An OAuth is what the configuration says about logging in at a server over HTTP.
type OAuth struct {
	// AuthorizationURL and TokenURL are those of the authorization server. "" finds them out: MCP servers announce them.
	AuthorizationURL, TokenURL string `json:",omitempty"`

	ClientID     string // registered with the authorization server beforehand; "" is one of MetadataURL, or a new one
	ClientSecret string
	Scopes       []string // empty requests those that the server names
	Port         int      // of the address on this machine that a registered client returns to; 0 is any

	// MetadataURL is the address of a client metadata document. It is the client_id, without a registration, where
	// ClientID is "" and the authorization server supports such documents. "" is none. See [CheckMetadataURL].
	MetadataURL string

	// Per is who has a login: "" is everybody together, [Principal] each principal alone.
	Per string

	// Exchange gets tokens for the server in exchange for those of callers; nil does not.
	Exchange *Exchange
}

// An Exchange is how to exchange the access token of a caller for one for the server, at a token endpoint (RFC 8693).
type Exchange struct {
	TokenURL               string
	ClientID, ClientSecret string // "" as secret is a public client
	Audience, Resource     string // for which server; a Resource of "" is the address of the server
	Scopes                 []string
}

// An API says how to reach an HTTP API that a description in the form of OpenAPI makes a server.
type API struct {
	Description string // a path, or an address that begins with http:// or https://
	Base        string // what the paths of the description are appended to; "" is an error that names a proposal

	Key                *Key // an API key; nil is none
	Username, Password string
	Client             *ClientCredentials // nil: no tokens for a client

	AllowPrivate []string          // hosts and networks that may be reached although they are private
	Slashes      []string          // parameters of paths whose values may be several segments
	Effects      map[string]string // by tool, what a person says it does, in place of what its description shows
}

// A Key is an API key, in a header or in the query.
type Key struct {
	Name  string // "" is that of the description
	Query bool
	Value string
}

// ClientCredentials get tokens for codemode itself (RFC 6749, section 4.4).
type ClientCredentials struct {
	TokenURL, ClientID, ClientSecret, Audience string
	Scopes                                     []string
}

// Principal is the value of [OAuth.Per] for a server that each principal reaches with a login of its own.
const Principal = "principal"

// PerPrincipal reports whether each principal reaches the server with a token of its own, and nobody with another's.
func (o *OAuth) PerPrincipal() bool { return o != nil && (o.Per == Principal || o.Exchange != nil) }

// Takes reports whether the operator wants the tool that the server calls raw, and programs call name, without the
// server. Entries of Include and Exclude name a tool in either way. listed reports whether the server lists another
// tool with that raw name; nil lists none.
//
// An entry of Exclude is also about other spellings of the same name, so that a server cannot spell its way around it:
// "send_mail" leaves send-mail out too. Only an entry that is the raw name of another tool, "send-mail", is about that
// tool alone. An entry of Include takes another spelling if no tool has the raw name.
func (s *Server) Takes(raw, name string, listed func(raw string) bool) bool {
	spelled := func(entry string) bool {
		return entry == raw || entry == name ||
			call.Part(entry) == call.Part(raw) && entry != call.Part(entry) && (listed == nil || !listed(entry))
	}
	return !slices.ContainsFunc(s.Exclude, func(e string) bool { return spelled(e) || e == call.Part(raw) }) &&
		(len(s.Include) == 0 || slices.ContainsFunc(s.Include, spelled))
}

// maxName is longer than any name that a person would type.
const maxName = 64

// CheckName says what is wrong with the name of a server, and how to correct it. Both are "" for a good name.
func CheckName(name string) (hint, message string) {
	part := call.Part(name)
	switch {
	case name == "":
		return "give it a name: programs call codemode.<name>__<tool>", "the server has no name"
	case strings.Contains(part, call.Separator):
		return `"__" separates the server from the tool: use one "_"`,
			fmt.Sprintf("the server name %q has two underscores in a row for programs", name)
	case strings.HasSuffix(part, "_"):
		return `rules for "x" would be about "x_" too, whose tools are x___tool: remove the "_" at the end`,
			fmt.Sprintf("the server name %q ends in an underscore for programs", name)
	case len(name) > maxName:
		return "choose a shorter one", fmt.Sprintf("the server name is longer than %d bytes", maxName)
	}
	return "", ""
}

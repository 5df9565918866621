package server

// Path is where callers mount an [HTTP], with everything below it: Path/<profile> offers only that profile.
const Path = "/mcp"

// Protocol versions. Up to legacy, a server sends questions to its client during a call. From stateless on it ends the
// client's request with them, and there are no sessions.
const (
	stateless = "2026-07-28"
	legacy    = "2025-11-25"
)

var versions = []string{stateless, legacy, "2025-06-18", "2025-03-26", "2024-11-05"}

const sessionHeader = "Mcp-Session-Id"

// roleHeader names the session that a person made for a role; the client's programs run in it. Its id comes from
// [codemode.Evaluator.NewSession]; the protocol's session has an id of its own.
const roleHeader = "Codemode-Session"

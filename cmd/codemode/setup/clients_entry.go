package setup

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
)

// ourName is the name of codemode in the files of clients.
const ourName = "codemode"

// How long clients wait for a program that asks people.
const (
	personTimeout = 600     // in seconds
	personMillis  = 600_000 // in milliseconds
	// dayMillis is for Claude Code: without the key it waits 28 hours, or as long as MCP_TOOL_TIMEOUT says.
	dayMillis = 86_400_000
)

// waiting is an entry with the key that says how long the client waits for a call.
func waiting(entry func(start) []clientfile.Field, key string, value int) func(start) []clientfile.Field {
	return func(s start) []clientfile.Field {
		return append(entry(s), clientfile.Field{Key: key, Value: value})
	}
}

// typedEntry is a server with a type, as several clients write it.
func typedEntry(kind string) func(start) []clientfile.Field {
	return func(s start) []clientfile.Field {
		return append([]clientfile.Field{{Key: "type", Value: kind}}, plainEntry(s)...)
	}
}

// plainEntry is a server as most clients write it.
func plainEntry(s start) []clientfile.Field {
	return []clientfile.Field{{Key: "command", Value: s.command[0]}, {Key: "args", Value: s.command[1:]}}
}

// withEnv hands variables on by their names, for clients that hand on only some. One that is not set now is left out:
// the client would hand on how it is written.
func withEnv(fields []clientfile.Field, s start, before, after string) []clientfile.Field {
	if len(s.set) == 0 {
		return fields
	}
	env := map[string]string{}
	for _, name := range s.set {
		env[name] = before + name + after
	}
	return append(fields, clientfile.Field{Key: "env", Value: env})
}

func geminiEntry(s start) []clientfile.Field {
	return append(withEnv(plainEntry(s), s, "$", ""), clientfile.Field{Key: "timeout", Value: personMillis})
}

func codexEntry(s start) []clientfile.Field {
	fields := append(plainEntry(s), clientfile.Field{Key: "tool_timeout_sec", Value: personTimeout})
	if s.approved {
		fields = append(fields, clientfile.Field{Key: "default_tools_approval_mode", Value: "approve"})
	}
	if len(s.variables) > 0 {
		fields = append(fields, clientfile.Field{Key: "env_vars", Value: s.variables})
	}
	return fields
}

// kiloEntry is codemode in Kilo Code, and in OpenCode before 2.
func kiloEntry(s start) []clientfile.Field {
	return []clientfile.Field{{Key: "type", Value: "local"}, {Key: "command", Value: s.command},
		{Key: "enabled", Value: true}, {Key: "timeout", Value: personMillis}}
}

// openCodeEntry keeps OpenCode from running programs that call codemode's tools: those run programs themselves, which
// codemode would not offer to OpenCode 2 unasked. Below mcp.servers stand the entries of OpenCode 2. OpenCode 1 reads
// those too, and has one time-out for lists and calls.
func openCodeEntry(s start) []clientfile.Field {
	s.command = append(slices.Clone(s.command), "--surface", "programs")
	direct := clientfile.Field{Key: "codemode", Value: false}
	if len(s.keys) == 1 {
		return append(kiloEntry(s), direct)
	}
	return []clientfile.Field{{Key: "type", Value: "local"}, {Key: "command", Value: s.command},
		{Key: "timeout", Value: map[string]int{"catalog": personMillis, "execution": personMillis}}, direct}
}

func zedEntry(s start) []clientfile.Field {
	return append([]clientfile.Field{{Key: "source", Value: "custom"}}, plainEntry(s)...)
}

func copilotEntry(s start) []clientfile.Field {
	fields := append(typedEntry("local")(s), clientfile.Field{Key: "tools", Value: []string{"*"}})
	return withEnv(fields, s, "${", "}")
}

func gooseEntry(s start) []clientfile.Field {
	return []clientfile.Field{{Key: "type", Value: "stdio"}, {Key: "name", Value: s.name}, {Key: "enabled", Value: true},
		{Key: "cmd", Value: s.command[0]}, {Key: "args", Value: s.command[1:]}, {Key: "env_keys", Value: []string{}},
		{Key: "envs", Value: map[string]string{}}, {Key: "timeout", Value: personTimeout}}
}

// pasteText is what a person pastes into a file of the client, or types, so that it uses codemode.
func (c *mcpClient) pasteText(s start) (string, error) {
	s.keys = c.places[0].keys
	if c.command != nil {
		return c.command(s), nil
	}
	text, err := clientfile.Exchange(c.format, nil, c.places[0].keys, nil,
		[]clientfile.Entry{{Name: s.name, Fields: c.entry(s)}})
	return strings.TrimRight(string(text), "\n"), err
}

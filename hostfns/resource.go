package hostfns

import (
	"encoding/json"
	"fmt"
)

// ReadResource is the function that reads a resource of an upstream, such as
// one that a result links to:
//
//	await codemode.read_resource("docs", "file:///a.md")
//	await codemode.read_resource({server: "docs", uri: "file:///a.md"})
//
// It passes the Gate like any call. To policies, people and the record it is a
// call of the tool docs__read_resource, which the server does not list, with
// {"uri": "file:///a.md"}: the lists of a profile and its conditions on /uri
// hold for it, and an allowlist that does not match it denies it. The value is
// a handle, with the text in it if the resource is text.
const ReadResource = "read_resource"

// resource turns a call of [ReadResource] into that of the server's tool.
func (r *Run) resource(in Invocation) (Invocation, error) {
	wrong := func(path, expected string, got json.RawMessage) (Invocation, error) {
		return in, invalidArguments(ReadResource, &ArgumentError{Path: path, Expected: expected, Got: cut(string(got), 60)})
	}
	var args struct{ server, uri json.RawMessage }
	var both []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(in.Args, &both) == nil && len(both) == 2:
		args.server, args.uri = both[0], both[1]
	case json.Unmarshal(in.Args, &object) == nil && object != nil:
		args.server, args.uri = object["server"], object["uri"]
		for key, value := range object {
			if key != "server" && key != "uri" {
				return wrong("/"+key, "one of the keys server and uri", value)
			}
		}
	default:
		return wrong("", "a server and a URI: read_resource(server, uri)", in.Args)
	}
	var server, uri string
	if json.Unmarshal(args.server, &server) != nil || server == "" {
		return wrong("/server", "the name of a server", args.server)
	}
	if json.Unmarshal(args.uri, &uri) != nil || uri == "" {
		return wrong("/uri", "the URI of a resource", args.uri)
	}
	in.Name, in.resource = r.gate.deps.ResourceTool(server), true
	in.Args = append(append([]byte(`{"uri":`), args.uri...), '}')
	return in, nil
}

// taken says that a server has a tool of its own under the name by which its
// resources are decided about.
func taken(name string) *NotFoundError {
	return &NotFoundError{Name: name, Reason: "name_collision",
		Detail: fmt.Sprintf("the server has a tool of its own that is named like this: call codemode.%s(arguments)", name)}
}

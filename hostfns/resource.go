package hostfns

import (
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// ReadResource is the function that reads a resource of an upstream, such as one that a result links to:
//
//	await codemode.read_resource("docs", "file:///a.md")
//	await codemode.read_resource({server: "docs", uri: "file:///a.md"})
//
// It passes the Gate like any call. For policies, people and the record it is a call of the tool docs__read_resource,
// which the server does not list, with {"uri": "file:///a.md"}: the lists of a profile and its conditions on /uri apply
// to it, and an allowlist that does not match it denies it. The value is a handle, with the text in it if the resource
// is text.
const ReadResource = "read_resource"

// resource turns a call of [ReadResource] into a call of the server's tool.
func resource(in Invocation, toolOf func(server string) string) (Invocation, error) {
	wrong := func(path, expected, got string) (Invocation, error) {
		return in, invalidArguments(ReadResource, &ArgumentError{Path: path, Expected: expected, Got: cut(got, 60)})
	}
	tree, _ := call.Unread(in.Args).Tree()
	var server, uri strictjson.Value
	switch {
	case tree.Kind() == strictjson.Array && tree.Len() == 2:
		server, _ = tree.At("/0")
		uri, _ = tree.At("/1")
	case tree.Kind() == strictjson.Object && tree.Len() > 0:
		server, _ = tree.Member("server")
		uri, _ = tree.Member("uri")
		for key, value := range tree.Members() {
			if key != "server" && key != "uri" {
				return wrong("/"+key, "one of the keys server and uri", value.Source())
			}
		}
	default:
		return wrong("", "a server and a URI: read_resource(server, uri)", string(in.Args))
	}
	if server.Kind() != strictjson.String || server.Text() == "" {
		return wrong("/server", "the name of a server", server.Source())
	}
	if uri.Kind() != strictjson.String || uri.Text() == "" {
		return wrong("/uri", "the URI of a resource", uri.Source())
	}
	in.Name, in.resource = toolOf(server.Text()), true
	in.Args = json.RawMessage(`{"uri":` + uri.Source() + `}`)
	return in, nil
}

// taken makes the error for a server that has a tool of its own with the name that stands for reading its resources.
func taken(name string) *NotFoundError {
	return &NotFoundError{Name: name, Reason: "name_collision",
		Detail: fmt.Sprintf("the server has a tool of its own that is named like this: call codemode.%s(arguments)", name)}
}

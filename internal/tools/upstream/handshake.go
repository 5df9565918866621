package upstream

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pinned is the protocol version of the first attempt at a stdio server. Newer
// versions begin with server/discover; some servers exit at it or never answer.
const pinned = "2025-11-25"

// probeTime is how long a server over HTTP may take to answer server/discover.
const probeTime = 10 * time.Second

// The requests that open a connection.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
)

// stateless is the first version of the protocol without initialize.
const stateless = "2026-07-28"

// opened returns the versions that initialize can agree on, the newest first.
func opened() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v >= stateless })
}

// nearest returns that version of ours, of those that initialize can agree on, which is nearest to a server's: the
// newest that is not newer, else the oldest. A server that names none speaks what it was asked for.
func nearest(version string) string {
	if !isVersion().MatchString(version) {
		return pinned
	}
	all := opened()
	for _, v := range all {
		if v <= version {
			return v
		}
	}
	return all[len(all)-1]
}

var (
	isVersion = pattern(`^\d{4}-\d{2}-\d{2}`)
	versionIn = pattern(`\d{4}-\d{2}-\d{2}`)
)

// tidyInitialize makes of an answer to initialize one that the SDK can decode. It keeps what we need of it: the version
// of the protocol, the name of the server, its instructions, and whether it announces changes of its tools. All else
// may be of any type. A result that is neither an object nor empty stays as it is.
func tidyInitialize(result json.RawMessage) json.RawMessage {
	m, ok := objectOf(result)
	if !ok {
		return result
	}
	version := nearest(dashed(textOrNumber(m["protocolVersion"])))
	return marshal(map[string]any{
		"protocolVersion": version, "capabilities": tidyCapabilities(m["capabilities"]),
		"serverInfo": tidyInfo(m["serverInfo"]), "instructions": text(m["instructions"], schemaMax),
	})
}

// tidyDiscover is tidyInitialize for the answer to server/discover.
func tidyDiscover(result json.RawMessage) json.RawMessage {
	m, ok := objectOf(result)
	if !ok {
		return result
	}
	versions := []string{}
	list, _, _ := elements(m["supportedVersions"], pagesMax) // what is no list names no version
	for _, v := range list {
		if version := text(v, toolNameMax); version != "" {
			versions = append(versions, version)
		}
	}
	out := map[string]any{
		"resultType": "complete", "supportedVersions": versions,
		"capabilities": tidyCapabilities(m["capabilities"]), "instructions": text(m["instructions"], schemaMax),
	}
	if meta, _ := objectOf(m["_meta"]); meta[mcp.MetaKeyServerInfo] != nil {
		out["_meta"] = map[string]any{mcp.MetaKeyServerInfo: tidyInfo(meta[mcp.MetaKeyServerInfo])}
	}
	return marshal(out)
}

func tidyCapabilities(raw json.RawMessage) map[string]any {
	out := map[string]any{}
	all, _ := objectOf(raw)
	tools := bytes.TrimSpace(all["tools"])
	if len(tools) > 0 && string(tools) != "null" && string(tools) != "false" {
		members, _ := objectOf(tools)
		changes := strings.Trim(string(bytes.TrimSpace(members["listChanged"])), `"`)
		out["tools"] = map[string]any{"listChanged": changes == "true"}
	}
	return out
}

func tidyInfo(raw json.RawMessage) map[string]string {
	m, _ := objectOf(raw)
	return map[string]string{"name": textOrNumber(m["name"]), "version": textOrNumber(m["version"])}
}

// textOrNumber returns the text of a string or a number, "" for anything else.
func textOrNumber(raw json.RawMessage) string {
	var n json.Number
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] != '"' && json.Unmarshal(t, &n) == nil {
		return string(n[:min(len(n), toolNameMax)])
	}
	return text(raw, toolNameMax)
}

// dashed writes a date that a server gives as a number, such as 20250618, as a version.
func dashed(version string) string {
	if len(version) != 8 || strings.Trim(version, "0123456789") != "" {
		return version
	}
	return version[:4] + "-" + version[4:6] + "-" + version[6:]
}

// otherVersion returns the request to initialize for a version that the server knows, if its error names one and is
// about the version. A second error stands.
func otherVersion(r *jsonrpc.Request, failed *jsonrpc.Error) *jsonrpc.Request {
	if failed == nil || r.Extra == any(asked) {
		return nil
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(r.Params, &params) != nil {
		return nil
	}
	version := supported(failed, text(params["protocolVersion"], toolNameMax))
	if version == "" {
		return nil
	}
	params["protocolVersion"] = quote(version)
	return &jsonrpc.Request{ID: r.ID, Method: r.Method, Params: marshal(params), Extra: asked}
}

// asked marks a request, or its context, that asks for another version than the first one did.
const asked askedMark = "another version"

type askedMark string

// supported returns the version to ask a server for after an error about the version that it was asked for: the newest
// of ours that it names, else the nearest to ours that it names, else the oldest of ours. It returns "" for an error
// about something else, and if nothing else is left to ask for.
func supported(failed *jsonrpc.Error, requested string) string {
	var data struct {
		Supported json.RawMessage `json:"supported"`
	}
	_ = json.Unmarshal(failed.Data, &data) // other data names nothing
	var named []string
	list, _, _ := elements(data.Supported, pagesMax)
	for _, v := range list {
		named = append(named, dashed(textOrNumber(v)))
	}
	if len(named) == 0 {
		if !strings.Contains(strings.ToLower(failed.Message), "version") {
			return ""
		}
		message := failed.Message[:min(len(failed.Message), messageMax)]
		named = versionIn().FindAllString(message, pagesMax)
	}
	modern := slices.ContainsFunc(named, func(v string) bool { return v >= stateless }) // opened in another way
	named = slices.DeleteFunc(named, func(v string) bool {
		return v == requested || !isVersion().MatchString(v) || len(v) > 40 || v >= stateless
	})
	ours := opened()
	for _, v := range ours {
		if slices.Contains(named, v) {
			return v
		}
	}
	if len(named) > 0 {
		return slices.Max(named)
	}
	if oldest := ours[len(ours)-1]; len(list) == 0 && !modern && oldest != requested {
		return oldest
	}
	return ""
}

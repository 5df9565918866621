package registry

import (
	"encoding/json"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/tools/pins"
)

// ToolInfos describes the current tools for [config.Config.Lint], sorted by name.
func (g *Registry) ToolInfos() []config.ToolInfo {
	var infos []config.ToolInfo
	for _, t := range g.Catalog.Tools() {
		infos = append(infos, config.ToolInfo{Server: t.Server, Tool: t.Raw, Name: t.Name, Input: t.Input,
			Annotations: t.Hints})
	}
	return infos
}

// SeenTool returns a server's description of a tool, in the version that processes sharing the folder last accepted.
// tool is spelled as in the canonical name or as by the server. It reports false for a server that is not configured,
// and for a tool that none of the processes has seen. Tools of built-in servers are not stored.
func SeenTool(stateDir string, cfg *config.Config, server, tool string) (config.ToolInfo, bool) {
	if !slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == server }) {
		return config.ToolInfo{}, false
	}
	var said struct {
		Input       json.RawMessage `json:"inputSchema"`
		Annotations map[string]any  `json:"annotations"`
	}
	definition, canonical, raw, ok := pins.Seen(stateDir, server, call.Part(server)+call.Separator+tool)
	if !ok || json.Unmarshal(definition, &said) != nil {
		return config.ToolInfo{}, false
	}
	return config.ToolInfo{Server: server, Tool: raw, Name: canonical, Input: said.Input,
		Annotations: said.Annotations}, true
}

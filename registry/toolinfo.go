package registry

import (
	"encoding/json"

	"github.com/codemode-project/codemode/catalog/pins"
	"github.com/codemode-project/codemode/config"
)

// ToolInfos describes the current tools for [config.Config.Lint], sorted by name.
func (g *Registry) ToolInfos() []config.ToolInfo {
	var infos []config.ToolInfo
	for _, t := range g.Catalog.Tools() {
		infos = append(infos, config.ToolInfo{Server: t.Server, Tool: t.Raw, Input: t.Input, Annotations: t.Hints})
	}
	return infos
}

// SeenTool returns a server's description of a tool, in the version that processes sharing the folder last accepted. It
// reports false for a tool that none of them has seen. Tools of built-in servers are not stored.
func SeenTool(stateDir string, cfg *config.Config, server, tool string) (config.ToolInfo, bool) {
	for _, s := range cfg.Servers {
		if s.Name != server {
			continue
		}
		var said struct {
			Input       json.RawMessage `json:"inputSchema"`
			Annotations map[string]any  `json:"annotations"`
		}
		definition, ok := pins.Seen(stateDir, pins.Identity(s.Name, s.JSON), tool)
		if !ok || json.Unmarshal(definition, &said) != nil {
			continue
		}
		return config.ToolInfo{Server: server, Tool: tool, Input: said.Input, Annotations: said.Annotations}, true
	}
	return config.ToolInfo{}, false
}

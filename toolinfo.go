package codemode

import "github.com/codemode-project/codemode/profiles"

// ToolInfos describes the tools of this moment for [profiles.Config.Lint], sorted by name.
func (e *Evaluator) ToolInfos() []profiles.ToolInfo {
	var infos []profiles.ToolInfo
	for _, t := range e.catalog.Tools() {
		infos = append(infos, profiles.ToolInfo{Server: t.Server, Tool: t.Raw, Input: t.Input, Annotations: annotations(t)})
	}
	return infos
}

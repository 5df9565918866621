package setup

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/setup/clientfile"
)

// openCodePlaces are the places of OpenCode, and of programs made from it: each file has servers in two places.
func openCodePlaces(folder string, files ...string) (all []place) {
	for _, keys := range [][]string{{"mcp"}, {"mcp", "servers"}} {
		for _, file := range files {
			if !strings.Contains(file, "/") {
				all = append(all, user(xdg(folder, file), keys...))
			}
		}
	}
	for _, file := range files {
		all = append(all, inProject(file, "mcp"), inProject(file, "mcp", "servers"))
	}
	return all
}

// mcpClients are the clients with files that codemode reads and changes. The first client that uses a name keeps it.
// docs/clients.md has the same table for people.
var mcpClients = []mcpClient{
	{
		id: "claude-code", name: "Claude Code", docs: "https://code.claude.com/docs/en/mcp",
		places: []place{
			user(below("CLAUDE_CONFIG_DIR", "", ".claude.json"), "mcpServers"),
			{scope: localScope, file: below("CLAUDE_CONFIG_DIR", "", ".claude.json"),
				keys: []string{"projects", "*", "mcpServers"}},
			inProject(".mcp.json", "mcpServers"),
		},
		folder:   func(p places) string { return cmp.Or(p.env("CLAUDE_CONFIG_DIR"), filepath.Join(p.home, ".claude")) },
		replaces: literal | braces, off: offClaude,
		entry: waiting(typedEntry("stdio"), "timeout", dayMillis), where: "a terminal", command: func(s start) string {
			words := make([]string, len(s.command))
			for i, w := range s.command {
				words[i] = cli.ShellWord(w)
			}
			return "claude mcp add --scope user " + s.name + " -- " + strings.Join(words, " ")
		},
	},
	{
		id: "claude-desktop", name: "Claude Desktop",
		docs:     "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
		places:   []place{user(configured("Claude", "claude_desktop_config.json"), "mcpServers")},
		replaces: literal, entry: plainEntry, where: "claude_desktop_config.json (Settings, Developer, Edit Config)",
	},
	{
		id: "cursor", name: "Cursor", docs: "https://cursor.com/docs/context/mcp",
		places:   []place{user(home(".cursor", "mcp.json"), "mcpServers"), inProject(".cursor/mcp.json", "mcpServers")},
		replaces: literal | envNames | editor, entry: plainEntry, where: "~/.cursor/mcp.json",
	},
	{
		id: "vscode", name: "VS Code", docs: "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
		places: []place{
			user(configured("Code", "User", "mcp.json"), "servers"),
			{scope: userScope, file: configured("Code", "User", "settings.json"), keys: []string{"mcp", "servers"},
				legacy: true}, // before VS Code 1.102
			inProject(".vscode/mcp.json", "servers"),
		},
		replaces: literal | envNames | editor, entry: typedEntry("stdio"),
		off:   offEditor(configured("Code", "User", "settings.json"), "chat.mcp.access", "none"),
		where: ".vscode/mcp.json, or the command MCP: Open User Configuration",
	},
	{
		id: "gemini", name: "Gemini CLI", docs: "https://geminicli.com/docs/tools/mcp-server",
		places: []place{user(below("GEMINI_CLI_HOME", "", ".gemini/settings.json"), "mcpServers"),
			inProject(".gemini/settings.json", "mcpServers")},
		adapt: adaptGemini, replaces: literal | braces | dollar, formless: true,
		entry: geminiEntry, where: "~/.gemini/settings.json",
		off: offGemini(".gemini", "GEMINI_CLI", "gemini-cli", "GeminiCli", folded),
	},
	{
		id: "qwen", name: "Qwen Code", docs: "https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/",
		places: []place{user(below("QWEN_HOME", ".qwen", "settings.json"), "mcpServers"),
			inProject(".qwen/settings.json", "mcpServers")},
		adapt: adaptGemini, replaces: literal | braces | dollar, formless: true,
		entry: geminiEntry, where: "~/.qwen/settings.json",
		off: offGemini(".qwen", "QWEN_CODE", "qwen-code", "QwenCode", exactly),
	},
	{
		id: "codex", name: "Codex", docs: "https://developers.openai.com/codex/mcp", format: clientfile.TOML,
		places: []place{user(below("CODEX_HOME", ".codex", "config.toml"), "mcp_servers"),
			inProject(".codex/config.toml", "mcp_servers")},
		adapt: adaptCodex, replaces: literal, off: offCodex, entry: codexEntry, where: "~/.codex/config.toml",
	},
	{
		id: "opencode", name: "OpenCode", docs: "https://opencode.ai/docs/mcp-servers",
		places: openCodePlaces("opencode", "opencode.json", "opencode.jsonc"),
		adapt:  adaptOpenCode, replaces: literal | openCode, off: offOpenCode, entry: openCodeEntry,
		formless: true, where: "~/.config/opencode/opencode.json",
	},
	{
		// it reads a project's opencode.json too, which is among those of OpenCode
		id: "kilo", name: "Kilo Code", docs: "https://kilo.ai/docs/automate/mcp/using-in-kilo-code",
		places: openCodePlaces("kilo", "kilo.jsonc", "kilo.json", ".kilo/kilo.jsonc", ".kilo/kilo.json"),
		adapt:  adaptOpenCode, replaces: literal | openCode, off: offOpenCode, entry: kiloEntry,
		formless: true, where: "~/.config/kilo/kilo.jsonc",
	},
	{
		id: "windsurf", name: "Windsurf", docs: "https://docs.windsurf.com/windsurf/cascade/mcp",
		places:   []place{user(home(".codeium", "windsurf", "mcp_config.json"), "mcpServers")},
		replaces: literal | envNames, entry: plainEntry, where: "~/.codeium/windsurf/mcp_config.json",
	},
	{
		id: "zed", name: "Zed", docs: "https://zed.dev/docs/ai/mcp",
		places: []place{
			user(onWindows(configured("Zed", "settings.json"), xdg("zed", "settings.json")), "context_servers"),
		},
		adapt: adaptZed, replaces: literal, entry: waiting(zedEntry, "timeout", personTimeout),
		where: "settings.json (the command zed: open settings file)",
	},
	{
		id: "cline", name: "Cline", docs: "https://docs.cline.bot/mcp/adding-and-configuring-servers",
		places: []place{user(configured("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings",
			"cline_mcp_settings.json"), "mcpServers")},
		adapt: adaptSeconds, entry: waiting(plainEntry, "timeout", personTimeout),
		where: "cline_mcp_settings.json (MCP Servers, Configure)",
	},
	{
		id: "cline-cli", name: "Cline CLI", docs: "https://docs.cline.bot/mcp/mcp-overview",
		places: []place{user(home(".cline", "data", "settings", "cline_mcp_settings.json"), "mcpServers")},
		adapt:  adaptSeconds, entry: waiting(plainEntry, "timeout", personTimeout),
		where: "~/.cline/data/settings/cline_mcp_settings.json",
	},
	{
		id: "continue", name: "Continue", docs: "https://docs.continue.dev/customize/deep-dives/mcp",
		format: clientfile.YAMLList,
		places: []place{user(home(".continue", "config.yaml"), "mcpServers")},
		adapt:  adaptContinue, replaces: workflowSecrets,
		entry: waiting(typedEntry("stdio"), "connectionTimeout", personMillis), where: "~/.continue/config.yaml",
	},
	{
		id: "junie", name: "JetBrains Junie", docs: "https://junie.jetbrains.com/docs/junie-cli-mcp-configuration.html",
		places: []place{user(home(".junie", "mcp", "mcp.json"), "mcpServers"),
			inProject(".junie/mcp/mcp.json", "mcpServers")},
		folder: home(".junie"), entry: plainEntry, where: "~/.junie/mcp/mcp.json",
	},
	{
		id: "lmstudio", name: "LM Studio", docs: "https://lmstudio.ai/docs/app/mcp",
		places: []place{user(home(".lmstudio", "mcp.json"), "mcpServers")},
		entry:  plainEntry, where: "~/.lmstudio/mcp.json (Program, Install, Edit mcp.json)",
	},
	{
		id: "goose", name: "Goose", docs: "https://goose-docs.ai/docs/guides/config-files", format: clientfile.YAML,
		places: []place{user(onWindows(configured("Block", "goose", "config", "config.yaml"),
			xdg("goose", "config.yaml")), "extensions")},
		adapt: adaptGoose, entry: gooseEntry, where: "~/.config/goose/config.yaml",
	},
	{
		id: "amp", name: "Amp", docs: "https://ampcode.com/manual",
		places: []place{
			user(home(".config", "amp", "settings.json"), "amp.mcpServers"),
			user(home(".config", "amp", "settings.jsonc"), "amp.mcpServers"),
			inProject(".amp/settings.json", "amp.mcpServers"), inProject(".amp/settings.jsonc", "amp.mcpServers"),
		},
		replaces: literal | braces, entry: plainEntry, where: "~/.config/amp/settings.json",
	},
	{
		id: "crush", name: "Crush", docs: "https://github.com/charmbracelet/crush/blob/main/docs/config/README.md",
		places: []place{user(xdg("crush", "crush.json"), "mcp"), inProject(".crush.json", "mcp"),
			inProject("crush.json", "mcp")},
		adapt: adaptCrush, replaces: literal | braces | dollar, entry: typedEntry("stdio"), where: "~/.config/crush/crush.json",
	},
	{
		id: "copilot", name: "Copilot CLI",
		docs: "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
		// it reads a project's .mcp.json too, which is among those of Claude Code
		places: []place{user(below("COPILOT_HOME", ".copilot", "mcp-config.json"), "mcpServers"),
			inProject(".github/mcp.json", "mcpServers")},
		replaces: literal | braces, entry: waiting(copilotEntry, "timeout", personMillis),
		where: "~/.copilot/mcp-config.json",
	},
	{
		id: "droid", name: "Factory Droid", docs: "https://docs.factory.ai/cli/configuration/mcp",
		places: []place{user(home(".factory", "mcp.json"), "mcpServers"), inProject(".factory/mcp.json", "mcpServers")},
		entry:  waiting(typedEntry("stdio"), "timeout", personMillis), where: "~/.factory/mcp.json",
	},
	{
		id: "auggie", name: "Auggie", docs: "https://docs.augmentcode.com/cli/integrations",
		places: []place{user(home(".augment", "settings.json"), "mcpServers")},
		entry:  typedEntry("stdio"), where: "~/.augment/settings.json",
	},
}

func clientIDs() []string {
	ids := make([]string, len(mcpClients))
	for i, c := range mcpClients {
		ids[i] = c.id
	}
	return ids
}

func clientByID(id string) *mcpClient {
	for i := range mcpClients {
		if mcpClients[i].id == id {
			return &mcpClients[i]
		}
	}
	return nil
}

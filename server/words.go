package server

import (
	"fmt"
	"sort"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/upstream"
)

// maxWords is how much of a description or of the instructions clients show.
const maxWords = 2048

const howTo = `Write the body of an async function in JavaScript or TypeScript; return gives the result. Call tools as await codemode.<server>__<tool>({...}). Prefer one program that does the whole job over many small ones: loop, filter, and return only what is needed. Independent calls run in parallel with Promise.all. A refused or failed call throws an error; use try/catch where the program can go on without it: ToolCallDeniedError (toolName, reason, detail), ToolNotFoundError (nearest), InvalidArgumentsError (path), ToolError, UpstreamError (outcome). After a refusal do not repeat the same call. There is no fetch, file system or import: only tools reach the outside.`

const resultForm = `The answer is one text: the value as JSON, then the console, then every call and how it ended.`

const discover = `Find tools with search_tools and get_tools (as MCP tools, or inside a program: codemode.search_tools("read file"), codemode.get_tools(["fs__read"])).`

// describe is the description of an eval tool.
func (s *Server) describe(profile string) string {
	head := "Runs a program that calls tools. "
	switch cfg := s.evaluator.Config(); {
	case profile != "":
		head = fmt.Sprintf("Runs a program that calls tools, as far as the profile %q allows: calls may be denied, or wait for a person's approval. ", profile)
	case cfg != nil && cfg.Default != "":
		head = fmt.Sprintf("Runs a program that calls tools, as far as the profile %q allows: calls may be denied, or wait for a person's approval. ", cfg.Default)
	}
	rest := strings.Join([]string{"", howTo, resultForm, discover}, "\n")
	return head + s.servers(maxWords-len(head)-len(rest)) + rest
}

// instructions are what a client may show a model about the whole server.
func (s *Server) instructions() string {
	head := "codemode runs programs that call the tools of several servers: one program instead of many tool calls. "
	rest := fmt.Sprintf("\nRun programs with %s. %s\n%s\n%s", strings.Join(s.runTools(), " or "), howTo, resultForm, discover)
	if room := maxWords - len(head); len(rest) > room-100 {
		rest = "\n" + howTo + "\n" + discover
	}
	return head + s.servers(maxWords-len(head)-len(rest)) + rest
}

// guide is the answer of start_here: the same and an example.
func (s *Server) guide() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run programs with %s.\n%s\n\n%s\n%s\n%s\n", strings.Join(s.runTools(), " or "), s.servers(8<<10), howTo, resultForm, discover)
	b.WriteString(`
Example:

    const names = ["a.md", "b.md", "c.md"];
    const texts = await Promise.all(names.map(path => codemode.filesystem__read_text_file({ path })));
    try {
      await codemode.filesystem__write_file({ path: "sum.md", content: texts.length + " files" });
    } catch (e) {
      if (e.name !== "ToolCallDeniedError") throw e;
      console.log("not written:", e.reason);
    }
    return texts.length;

codemode_check says what a program would do and which of its calls would be allowed, asked about or denied.
`)
	return b.String()
}

// runTools names the tools that run programs.
func (s *Server) runTools() []string {
	var names []string
	for _, profile := range s.offered() {
		if profile == "" {
			names = append(names, codemode.BaseTool)
		} else {
			names = append(names, evalPrefix+profile)
		}
	}
	return names
}

// servers says which servers there are and how many tools each has, in at most
// room bytes.
func (s *Server) servers(room int) string {
	status := s.evaluator.Status()
	sort.Slice(status, func(i, j int) bool { return status[i].Name < status[j].Name })
	const opening, closing = "Servers: ", "."
	var b strings.Builder
	b.WriteString(opening)
	shown := 0
	for _, st := range status {
		if st.State == upstream.Disabled {
			continue
		}
		text := st.Name
		switch {
		case st.Tools == 1:
			text += " (1 tool)"
		case st.Tools > 1:
			text += fmt.Sprintf(" (%d tools)", st.Tools)
		case st.State == upstream.Failed:
			text += " (not available)"
		}
		if shown > 0 {
			text = ", " + text
		}
		if b.Len()+len(text)+len(closing)+len(", and 1000 more") > room {
			fmt.Fprintf(&b, ", and %d more", len(status)-shown)
			break
		}
		b.WriteString(text)
		shown++
	}
	if shown == 0 {
		return "There are no servers."
	}
	return b.String() + closing
}

package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/upstream"
)

// maxWords is how much of a description or of the instructions clients show.
const maxWords = 2048

// howTo teaches the programs. It is what a model has to know before its first
// one; the rest it meets in results.
const howTo = `code: the body of an async function in JavaScript or TypeScript; return gives the result. Call tools as await codemode.<server>__<tool>({...}). Do the whole job in one program: loop, filter, and return only what is needed.
- Find tools with search_tools("read file") or get_tools(["fs__read"]), here or in programs. Do not guess names or arguments.
- Independent calls run in parallel: await Promise.all(ids.map(id => codemode.x__get({ id }))).
- A refused or failed call throws; try/catch where the program can go on: ToolCallDeniedError (toolName, reason, detail), ToolNotFoundError (nearest), InvalidArgumentsError (path, expected), ToolError, UpstreamError (outcome). Do not repeat a refused call.
- Images, audio and resources are handles {$block, type, ...}: return one, or await codemode.emit(handle), to see it. codemode.read_resource(server, uri) reads what a link points to.
- No fetch, import or file system: only tools reach the outside. Integers beyond 2^53 are BigInt.
`

const resultForm = `The answer is one text: the value as JSON, the console, then each call in a line. What is too long is cut and says so.
`

const example = `Example:
const { content } = await codemode.fs__list({ path: "." });
const texts = await Promise.all(content.map(f => codemode.fs__read({ path: f.name })));
return texts.filter(t => t.includes("TODO")).length;`

// describe is the description of an eval tool. Only the first one teaches: a
// model reads them all, each time.
func (s *Server) describe(v *visitor, profile string) string {
	offered := s.offered(v)
	head := "Runs a program that calls tools"
	bound := profile
	if cfg := s.evaluator.Config(); cfg != nil && bound == "" {
		bound = cfg.Default
	}
	if bound != "" {
		head += fmt.Sprintf(", as far as the profile %q allows: calls may be denied, or wait for a person's approval", bound)
	}
	head += ". "
	if cfg := s.evaluator.Config(); cfg != nil && cfg.Profile(profile) != nil && cfg.Profile(profile).RequirePreflight() {
		head += "A program has to be checked first: codemode_check gives a token, which goes into preflight. "
	}
	mine := []string{profile}
	if first := slices.Index(offered, profile); first > 0 {
		return fmt.Sprintf("%sPrograms, tools and answers are as %s describes them: Promise.all, try/catch, the value as JSON first. What this profile hides is not found by search_tools inside a program.\n%s",
			head, evalName(offered[0]), s.servers(300, mine))
	}
	rest := "\n" + howTo + resultForm + example
	return head + s.servers(maxWords-len(head)-len(rest), mine) + rest
}

// inShort is howTo for those who read only the instructions.
const inShort = `A program is the body of an async function: it calls tools as await codemode.<server>__<tool>({...}), independent ones in parallel with Promise.all, and return gives the result. A refused or failed call throws (ToolCallDeniedError has a reason): use try/catch. The answer is the value as JSON, then the console and the calls. search_tools finds tools. Example:
return (await Promise.all(["a.md", "b.md"].map(path => codemode.fs__read({ path })))).join("\n");`

// instructions are what a client may show a model about the whole server,
// beside the eval tools, which describe programs in full.
func (s *Server) instructions(v *visitor) string {
	head := "codemode runs programs that call the tools of several servers: one program instead of many tool calls. "
	run := strings.Join(s.runTools(v), " or ")
	if len(run) > 300 {
		run = "the tools named codemode_eval"
	}
	rest := fmt.Sprintf("\nRun programs with %s; start_here says more. %s", run, inShort)
	return head + s.servers(maxWords-len(head)-len(rest), s.offered(v)) + rest
}

// guide is the answer of start_here: all of the above, and what does not fit there.
func (s *Server) guide(ctx context.Context, v *visitor) string {
	var b strings.Builder
	if note := s.evaluator.Note(); note != "" {
		fmt.Fprintf(&b, "Note: %s\n\n", note)
	}
	fmt.Fprintf(&b, "Run programs with %s.\n%s\n\n%s%s\n%s\n", strings.Join(s.runTools(v), " or "), s.servers(8<<10, s.offered(v)), howTo, resultForm, example)
	servers := s.evaluator.Servers(s.offered(v))
	if i := slices.IndexFunc(servers, func(v codemode.ServerInfo) bool { return v.Example != "" }); i >= 0 {
		fmt.Fprintf(&b, "\nThe names in it are made up. Real ones are those that search_tools finds, such as %s.\n", servers[i].Example)
	}
	b.WriteString(`
A call that may be refused:

try {
  await codemode.fs__write({ path: "sum.md", content: "3 files" });
} catch (e) {
  if (e.name !== "ToolCallDeniedError") throw e;
  console.log("not written:", e.reason, e.detail);
}

search_tools gives the declarations of what fits best, so that a program can be written at once. get_tools gives them by name or
by server. A result type that is marked as learned comes from one earlier result: check for what you need.
codemode.ask_user({ question, options }) asks the person something and gives { action, selected, text }; ask_user does so without a
program. It approves nothing.
codemode_check says what a program would do, which of its calls would be allowed, asked about or denied, and what to change. It
also gives a pre-flight token; give that to the tool that runs the program as preflight.
`)
	if names := s.needCheck(v); len(names) > 0 {
		fmt.Fprintf(&b, "A program that was not checked is not started by %s.\n", strings.Join(names, " or "))
	}
	b.WriteString(s.savedPrograms(ctx, v, ""))
	for _, server := range servers {
		if server.State == upstream.Failed {
			fmt.Fprintf(&b, "\n%s is not available: %s\n", server.Name, cmp.Or(firstLine(server.Error), "it could not be started"))
		}
	}
	return b.String()
}

// needCheck names the tools that run no program that was not checked.
func (s *Server) needCheck(v *visitor) []string {
	var names []string
	cfg := s.evaluator.Config()
	for _, profile := range s.offered(v) {
		if cfg != nil && cfg.Profile(profile) != nil && cfg.Profile(profile).RequirePreflight() {
			names = append(names, evalName(profile))
		}
	}
	return names
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// runTools names the tools that run programs.
func (s *Server) runTools(v *visitor) []string {
	var names []string
	for _, profile := range s.offered(v) {
		names = append(names, evalName(profile))
	}
	return names
}

// evalName is the tool that runs programs under a profile.
func evalName(profile string) string {
	if profile == "" {
		return codemode.BaseTool
	}
	return evalPrefix + profile
}

// servers says which servers there are and how many tools each has for programs
// of these profiles, in at most room bytes.
func (s *Server) servers(room int, profiles []string) string {
	status := s.evaluator.Servers(profiles)
	const opening, closing = "Servers: ", "."
	var b strings.Builder
	b.WriteString(opening)
	shown := 0
	for _, st := range status {
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

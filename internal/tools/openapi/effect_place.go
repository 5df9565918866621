package openapi

import "strings"

// operationWords are the places where an operation may say what it does, as words in lower case.
type operationWords struct {
	// id has those of the last part of the id, list, issues of "repos.issues/list-issues", or of the action; segment those
	// of the last segment of the path unless it is a parameter, search of "/users/{id}:search"; summary has no tags.
	id, segment, summary []string
	// action says that the path names an action, as in AWS's "/#Action=DeleteUser", and the method says nothing;
	// parameters that the path has some; pathChanges that another segment is a word that changes; and many that "batch" or
	// the like stands in front of the verb.
	action, parameters, pathChanges, many bool
}

func wordsOf(method, path, id, summary string) *operationWords {
	o := &operationWords{parameters: strings.Contains(path, "{"), summary: summaryWords(summary)}
	if action := actionOf(path); action != "" {
		o.action = true
		o.id, o.many = verbFirst(splitWords(make([]string, 0, 8), lastPart(action)), method)
		return o
	}
	o.id, o.many = verbFirst(splitWords(make([]string, 0, 8), lastPart(id)), method)
	if roleOf(first(o.id)) == 0 { // "List_all_Items_for_User"
		whole := splitWords(nil, id)
		if r := roleOf(first(whole)); r&reading != 0 || r&changing != 0 && !strings.EqualFold(method, "get") {
			o.id = whole
		}
	}
	for segment := range strings.SplitSeq(path, "/") {
		o.pathChanges = o.pathChanges || roleOf(segment)&(changing|noun) == changing
	}
	var many bool
	o.segment, many = verbFirst(splitWords(make([]string, 0, 8), lastSegment(path)), method)
	o.many = o.many || many
	return o
}

// actionOf returns the action that a path of AWS's description names in its fragment, or "".
func actionOf(path string) string {
	for _, key := range []string{"Action=", "X-Amz-Target="} {
		if _, action, ok := strings.Cut(path, key); ok {
			action, _, _ = strings.Cut(action, "&")
			return action
		}
	}
	return ""
}

// lastPart returns the end of an id after the last of "./#", or after an underscore between words of which the
// second is capitalised: Get of "Users_Get".
func lastPart(id string) string {
	for i := len(id) - 2; i > 0; i-- {
		switch id[i] {
		case '.', '/', '#':
			return id[i+1:]
		case '_':
			if isUpper(id[i+1]) && 'a' <= id[i-1] && id[i-1] <= 'z' {
				return id[i+1:]
			}
		}
	}
	return id
}

// lastSegment returns what may be a verb at the end of a path: search of "/users/{id}:search", "/users/search.json"
// and "/users.search"; "" if the path ends in a parameter.
func lastSegment(path string) string {
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimRight(path, "/")
	segment := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndexByte(segment, ':'); i >= 0 {
		return segment[i+1:]
	}
	if strings.HasPrefix(segment, "{") {
		return ""
	}
	if name, ending, ok := strings.Cut(segment, "."); ok {
		switch ending {
		case "json", "xml", "csv", "php", "do", "aspx":
			return name
		}
		return segment[strings.LastIndexByte(segment, '.')+1:]
	}
	return segment
}

// verbFirst leaves off what repeats the method, and words such as "batch", which many reports.
func verbFirst(words []string, method string) (rest []string, many bool) {
	if len(words) > 1 && words[0] != "get" && words[0] != "delete" && strings.EqualFold(words[0], method) {
		words = words[1:]
	}
	for len(words) > 1 && roleOf(words[0])&preparing != 0 {
		words, many = words[1:], true
	}
	return words, many
}

// summaryWords returns the words of a summary without its tags.
func summaryWords(s string) []string {
	words := make([]string, 0, 24)
	for s != "" {
		text, rest, _ := strings.Cut(s, "<")
		words = splitWords(words, text)
		_, s, _ = strings.Cut(rest, ">")
	}
	if len(words) > 2 && (words[0] == "invoke" || words[0] == "call") {
		switch words[1] {
		case "action", "function", "method", "endpoint", "api":
			return nil // a generator's, and the rest is the id: "Invoke action getMailTips"
		}
	}
	return words
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

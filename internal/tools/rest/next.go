package rest

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// next returns the arguments of the next page, nil if there is none or none is known. The ways of APIs are tried from
// the clearest to the vaguest; the first that the answer speaks of decides.
func (g *pager) next(links string) json.RawMessage {
	steps := []func() (change, bool){
		g.byURL, func() (change, bool) { return g.byLink(links) }, g.byMore, g.byCursor, g.byLast,
		g.byPage, g.byStart}
	if g.p.Method != http.MethodGet { // it reads at most if a cursor is declared
		steps = steps[2:4]
	}
	for _, step := range steps {
		set, decided := step()
		if !decided {
			continue
		}
		if len(set) == 0 {
			return nil
		}
		if next := with(g.args, set); string(next) != string(with(g.args, nil)) {
			return next
		}
		return nil
	}
	return nil
}

// with returns the arguments with others in their place; nil removes one.
func with(args strictjson.Value, set change) json.RawMessage {
	all := map[string]json.RawMessage{}
	for name, v := range args.Members() {
		all[name] = json.RawMessage(v.Compact())
	}
	for name, raw := range set {
		if all[name] = raw; raw == nil {
			delete(all, name)
		}
	}
	out, _ := json.Marshal(all) // of valid JSON; the names are sorted
	return out
}

// index holds what an answer says of its pages, by plain names: its texts, numbers and booleans, and those of its
// containers, the outer first.
func index(raw json.RawMessage) map[string]json.RawMessage {
	seen := map[string]json.RawMessage{}
	queue := map[string]json.RawMessage{"": raw}
	for range 4 {
		deeper := map[string]json.RawMessage{}
		for _, in := range slices.Sorted(maps.Keys(queue)) {
			for key, v := range each(queue[in], membersMax) {
				name := plainName(key)
				if in == "next" && slices.Contains([]string{"href", "link", "url"}, name) {
					name = "next"
				}
				if v[0] == '{' && slices.Contains(containers, name) {
					deeper[name] = v
				} else if _, known := seen[name]; !known && v[0] != '{' && v[0] != '[' {
					seen[name] = v
				}
			}
		}
		queue = deeper
	}
	return seen
}

// ends reports whether a value says that there is no next page.
func ends(raw json.RawMessage) bool {
	return slices.Contains([]string{"null", `""`, "false"}, string(raw))
}

func (g *pager) byURL() (change, bool) {
	ended := false
	for _, name := range nextURLs {
		raw := g.seen[name]
		text, isText := str(raw)
		if isText && (strings.Contains(text, "://") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "?")) {
			if set := g.follow(text); set != nil {
				return set, true
			}
		}
		ended = ended || raw != nil && ends(raw)
	}
	return nil, ended
}

func (g *pager) byLink(header string) (change, bool) {
	others := false
	for {
		_, rest, found := strings.Cut(header, "<")
		if !found {
			return nil, others
		}
		address, rest, _ := strings.Cut(rest, ">")
		params, _, _ := strings.Cut(rest, "<")
		for param := range strings.FieldsFuncSeq(params, func(r rune) bool { return r == ';' || r == ',' }) {
			key, rel, _ := strings.Cut(strings.TrimSpace(param), "=")
			rels := strings.Fields(strings.ToLower(strings.Trim(rel, `"' `)))
			if strings.EqualFold(key, "rel") && slices.Contains(rels, "next") {
				set := g.follow(address)
				return set, set != nil
			}
			others = others || slices.Contains(rels, "prev") || slices.Contains(rels, "first")
		}
		header = rest
	}
}

// byMore ends the pages where the answer says so.
func (g *pager) byMore() (change, bool) {
	return nil, slices.ContainsFunc(mores, func(name string) bool { return string(g.seen[name]) == "false" })
}

func (g *pager) byCursor() (change, bool) {
	ended := false
	for _, row := range cursors {
		argument, raw := g.declared(row.arguments), g.seen[row.member]
		switch {
		case argument == "" || raw == nil:
		case ends(raw):
			ended = true
		case raw[0] == '"' && !strings.Contains(string(raw), secrets.Mask) && !strings.Contains(string(raw), "://"),
			'0' <= raw[0] && raw[0] <= '9' && row.member != "offset":
			return change{argument: raw}, true
		}
	}
	return nil, ended
}

// declared finds an argument in the query or the body by its plain name.
func (g *pager) declared(names []string) string {
	for _, name := range names {
		for _, p := range g.p.Parameters {
			if p.In == openapi.InQuery && plainName(p.Name) == name && !g.c.isKey(p.Name) {
				return p.Argument
			}
		}
		if b := g.p.Body; b != nil {
			for _, m := range b.Members {
				if plainName(m) == name {
					return m
				}
			}
		}
	}
	return ""
}

// byLast continues after the last element, where there are more.
func (g *pager) byLast() (change, bool) {
	argument := g.declared([]string{"startingafter"})
	if argument == "" || string(g.seen["hasmore"]) != "true" {
		return nil, false
	}
	_, last := g.list()
	id := member(last, "id")
	return change{argument: id}, id != nil
}

// byPage counts pages, from 1 unless the answer says its own number.
func (g *pager) byPage() (change, bool) {
	said, ok := g.says(append(slices.Clone(pageNames), "number"))
	if !ok {
		said = 1
	}
	return g.byNumber(pageNames, said, 1, pageTotals, 1)
}

// byStart counts elements.
func (g *pager) byStart() (change, bool) {
	count, _ := g.list()
	names := startNames
	if _, counts := g.says([]string{"start"}); counts { // elsewhere it may be a time
		names = append(slices.Clone(names), "start")
	}
	return g.byNumber(names, 0, int64(count), totals, 0)
}

// byNumber adds a step to an argument, until a page is empty or the argument would reach a total and beyond.
func (g *pager) byNumber(names []string, first, step int64, totals []string, beyond int64) (change, bool) {
	argument := g.declared(names)
	count, _ := g.list()
	if argument == "" || count == 0 {
		return nil, argument != ""
	}
	v, given := g.args.Member(argument)
	now, err := strconv.ParseInt(v.Text(), 10, 32)
	switch {
	case given && err != nil:
		return nil, false
	case !given:
		now = first
	}
	if total, known := g.says(totals); known && now+step >= total+beyond {
		return nil, true
	}
	next := json.RawMessage(strconv.FormatInt(now+step, 10))
	if v.Kind() == strictjson.String {
		next = quote(string(next))
	}
	return change{argument: next}, true
}

// says finds a number in the answer.
func (g *pager) says(names []string) (int64, bool) {
	for _, name := range names {
		if n, err := strconv.ParseInt(string(g.seen[name]), 10, 32); err == nil {
			return n, true
		}
	}
	return 0, false
}

// list is the number of elements of the page, and the last of them.
func (g *pager) list() (count int, last json.RawMessage) {
	raw := g.raw
	if raw[0] == '{' {
		arrays, best := 0, len(lists)
		for name, v := range each(g.raw, membersMax) {
			at := slices.Index(lists, plainName(name))
			switch {
			case v[0] != '[':
			case at >= 0 && at < best:
				raw, best = v, at
			case best == len(lists):
				raw, arrays = v, arrays+1
			}
		}
		if best == len(lists) && arrays != 1 {
			return 0, nil
		}
	}
	for name, v := range each(raw, math.MaxInt) {
		if name == "" {
			count, last = count+1, v
		}
	}
	return count, last
}

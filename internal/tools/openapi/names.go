package openapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Names are at most nameMax bytes, beside an underscore or a number that parts two. A longer one keeps its beginning
// and its end, where ids have their nouns and verbs, and 8 hexadecimal digits of a hash tell it from its like.
const (
	nameMax  = 100
	nameHead = 60
	nameTail = 30
)

// reservedNames get an underscore after. They are the reserved words of JavaScript in strict mode and in modules, and
// what a program may not find under its usual meaning on an object: an object with then is a promise for await.
const reservedNames = " arguments async await break case catch class const constructor continue debugger" +
	" default delete" +
	" do else enum eval export extends false finally for function hasOwnProperty if implements import in instanceof" +
	" interface let new null of package private protected prototype __proto__ public return static super switch" +
	" then this" +
	" throw toJSON toString true try typeof undefined valueOf var void while with yield "

// nameSteps is how many candidates an operation has: see nameAt.
const nameSteps = 4

// nameOperations gives each operation the name that programs call it by: ASCII letters in lower case, digits, and
// single underscores between words; unique among all; and the same whatever the order of all.
//
// Each starts with its first candidate of [nameAt]. All who share a name take their next candidate, until nobody
// shares or no candidate is left. Who still shares is numbered in the order of paths.
func nameOperations(all []*Operation) {
	named := make(map[string][]*Operation, len(all))
	steps := make(map[*Operation]int) // of who left the first candidate
	var shared []string
	take := func(o *Operation) {
		name := nameAt(o, steps[o])
		o.Name = name
		if named[name] = append(named[name], o); len(named[name]) == 2 {
			shared = append(shared, name)
		}
	}
	for _, o := range all {
		take(o)
	}
	for len(shared) > 0 {
		var moving []*Operation
		for _, name := range shared {
			stay := named[name][:0]
			for _, o := range named[name] {
				if steps[o] < nameSteps-1 {
					moving = append(moving, o)
				} else {
					stay = append(stay, o)
				}
			}
			named[name] = stay
		}
		shared = nil
		for _, o := range moving {
			steps[o]++
			take(o)
		}
	}
	numberShared(named)
}

// numberShared parts those who share a name at their last candidate.
func numberShared(named map[string][]*Operation) {
	var shared []string
	for name, group := range named {
		if len(group) > 1 {
			shared = append(shared, name)
		}
	}
	slices.Sort(shared)
	for _, name := range shared {
		group := named[name]
		slices.SortStableFunc(group, func(a, b *Operation) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method), cmp.Compare(a.ID, b.ID))
		})
		number := 2
		for _, o := range group[1:] {
			for ; len(named[o.Name]) > 0; number++ {
				o.Name = name + "_" + strconv.Itoa(number)
			}
			named[o.Name] = []*Operation{o}
		}
	}
}

// nameAt is a candidate for the name of o. They are, in order, for an operation with an id
//
//  0. its id without the noise of generators,
//  1. its whole id,
//  2. 0 and the method,
//  3. the path with its parameters, and the method;
//
// without an id 0 and 1 are the literal segments of the path and what the method does to it.
func nameAt(o *Operation, step int) string {
	method := strings.ToLower(o.Method)
	words := idWords(o.ID, step != 1)
	byPath := len(words) == 0
	if byPath {
		words = pathWords(o, false)
	}
	switch {
	case step == nameSteps-1:
		words, byPath = append(pathWords(o, true), method), true
	case step == 2 && !byPath:
		words = append(words, method)
	case byPath:
		words = append(words, methodVerb(o))
	}
	if byPath {
		return spellName(words, o.Method+" "+o.Path)
	}
	return spellName(words, o.ID)
}

// spellName joins words to a name. Names that are cut get a hash of raw.
func spellName(words []string, raw string) string {
	name := strings.Join(words, "_")
	if name == "" {
		name = "operation"
	}
	if isDigit(name[0]) {
		name = "_" + name
	}
	if len(name) > nameMax {
		hash := sha256.Sum256([]byte(raw))
		name = strings.TrimRight(name[:nameHead], "_") + "_" + strings.TrimLeft(name[len(name)-nameTail:], "_") + "_" +
			hex.EncodeToString(hash[:4])
	}
	if strings.Contains(reservedNames, " "+name+" ") {
		name += "_"
	}
	return name
}

// idWords are the words of an operationId, or nil if it says nothing: it is empty, digits or a hash. Quiet leaves off
// what generators append: UsingGET_1 of Springfox, and the 4 hexadecimal digits of Microsoft Graph.
func idWords(id string, quiet bool) []string {
	if quiet {
		id = withoutNoise(id)
	}
	words := splitWords(make([]string, 0, 12), foldASCII(id))
	hexDigits, digits, others := 0, 0, 0
	for _, word := range words {
		for i := range len(word) {
			switch c := word[i]; {
			case isDigit(c):
				digits++
			case 'a' <= c && c <= 'f':
				hexDigits++
			default:
				others++
			}
		}
	}
	if others == 0 && digits > 0 && (hexDigits == 0 || hexDigits+digits >= 8) {
		return nil
	}
	return words
}

// withoutNoise returns id without the ends that generators append to make it unique.
func withoutNoise(id string) string {
	if i := strings.LastIndex(id, "Using"); i > 0 {
		method, number, _ := strings.Cut(id[i+len("Using"):], "_")
		switch method {
		case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS":
			if strings.Trim(number, "0123456789") == "" {
				return id[:i]
			}
		}
	}
	if i := len(id) - 5; i > 0 && id[i] == '-' {
		hash := id[i+1:]
		if strings.Trim(hash, "0123456789abcdef") == "" && strings.ContainsAny(hash, "0123456789") {
			return id[:i]
		}
	}
	return id
}

// pathWords are the words of the path of o: all of them and by_id for {id} if whole, else only of literal segments
// that are not v1, api or rest; all of these if there are no others.
func pathWords(o *Operation, whole bool) (words []string) {
	for segment := range strings.SplitSeq(foldASCII(o.Path), "/") {
		switch {
		case whole:
			words = splitWords(words, strings.ReplaceAll(segment, "{", " by "))
		case !isParameter(segment) && !isVersion(segment):
			words = splitWords(words, segment)
		}
	}
	if len(words) == 0 && !whole {
		return pathWords(o, true)
	}
	return words
}

// isVersion reports whether a segment of a path only says which API it is: v1, v2.1beta, api or rest.
func isVersion(segment string) bool {
	segment = strings.ToLower(segment)
	return segment == "api" || segment == "rest" || len(segment) > 1 && segment[0] == 'v' && isDigit(segment[1])
}

// methodVerb is what the method of o does to its path.
func methodVerb(o *Operation) string {
	if o.Method == "GET" && !strings.HasSuffix(strings.TrimRight(o.Path, "/"), "}") {
		return "list"
	}
	verbs := map[string]string{"POST": "create", "PUT": "replace", "PATCH": "update"}
	return cmp.Or(verbs[o.Method], strings.ToLower(o.Method))
}

// foldASCII returns s with letters such as é as their ASCII letter. Other characters stay, and part words.
func foldASCII(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Map(func(r rune) rune {
				if 0x300 <= r && r <= 0x36F { // combining marks
					return -1
				}
				return r
			}, norm.NFKD.String(s))
		}
	}
	return s
}

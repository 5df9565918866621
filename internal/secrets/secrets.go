// Package secrets finds secrets in JSON values and in texts, and masks them. It has one table of the names of secrets,
// one of the forms of secret texts, and one walk through a value. [Strictness] says which parts of the tables apply.
//
// It also writes addresses into messages without their secrets ([Origin], [HideAddress]): a webhook has one in its
// path, a database in its user, a collector in its query, and the errors of net/http and net/url quote the address.
package secrets

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Strictness says which mistake is worse: to show a secret, or to hide something else.
type Strictness int

// Mask replaces a secret in the record.
const Mask = "[redacted]"

const (
	// Mild is for the texts of questions to a person. It never masks what the person must read to judge a call, such as
	// paths, URLs and shell text. So nothing can hide in a text that looks like a secret.
	Mild Strictness = iota
	// Strict is for the record. It may mask more than necessary.
	Strict
)

// Rules add to the secrets that the tables find.
type Rules struct {
	Keys     []string // patterns of keys with secret values; * is any characters
	Pointers []string // JSON Pointers of secret values; a segment * is any key or index
	NoDetect bool     // find no secrets by their form, only by their key
}

// Level says how much of a value to mask for its place.
type Level int

const (
	Open   Level = iota // only what has the form of a secret
	Token               // a value without spaces, or the part behind "Bearer"
	Phrase              // also several plain words, or a number
)

// names are the keys of secret values, without case, hyphens and underscores, with their level for [Mild]. For [Strict]
// the level of each is Phrase.
var names = []struct {
	name   string
	within bool // any key that contains it
	mild   Level
}{
	{"token", true, Token}, {"secret", true, Token}, {"password", true, Phrase}, {"passwd", false, Phrase},
	{"pwd", false, Phrase},
	{"passphrase", false, Phrase}, {"passphrase", true, Open}, {"authorization", true, Token}, {"apikey", true, Token},
	{"accesskey", true, Token}, {"privatekey", true, Token}, {"credential", true, Token}, {"cookie", false, Token},
	{"setcookie", false, Token}, {"cookie", true, Open}, {"bearer", false, Token}, {"sessionid", false, Open},
	{"signature", true, Open}, {"pin", false, Open}, {"otp", false, Open}, {"cvv", false, Open}, {"cvc", false, Open},
}

// variables are the words in the names of variables of the environment and of headers with secrets. There are more of
// them than of keys.
var variables = []string{"token", "key", "secret", "passw", "pwd", "auth", "credential", "cookie", "dsn"}

// IsVariable reports whether a variable or a header of that name holds a secret. An author is no secret.
func IsVariable(name string) bool {
	name = strings.NewReplacer("authorization", "auth", "author", "").Replace(fold(name))
	return slices.ContainsFunc(variables, func(word string) bool { return strings.Contains(name, word) })
}

var folder = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

func fold(key string) string { return strings.ToLower(folder.Replace(key)) }

// like matches * with any characters.
func like(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return s == pattern
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}

// A Finder finds secrets. It is immutable.
type Finder struct {
	strictness Strictness
	keys       []string
	pointers   [][]string // tokens; * is any
	detect     bool
}

// New returns a Finder.
func New(r Rules, s Strictness) *Finder {
	f := &Finder{strictness: s, detect: !r.NoDetect}
	for _, k := range r.Keys {
		f.keys = append(f.keys, fold(k))
	}
	for _, p := range r.Pointers {
		path, err := strictjson.Tokens(p)
		switch {
		case err == nil:
			f.pointers = append(f.pointers, path)
		case s == Strict: // package config refuses it; fail closed: the root is secret
			f.pointers = append(f.pointers, nil)
		}
	}
	return f
}

// Key returns the level of the values of a key.
func (f *Finder) Key(key string) Level {
	key = fold(key)
	level := Open
	for _, n := range names {
		if f.strictness == Mild && n.mild <= level || key != n.name && !(n.within && strings.Contains(key, n.name)) {
			continue
		}
		if level = n.mild; f.strictness == Strict {
			return Phrase
		}
	}
	if level < Phrase && slices.ContainsFunc(f.keys, func(p string) bool { return like(p, key) }) {
		return Phrase
	}
	return level
}

// A Place is the place of a value in a larger one.
type Place struct {
	Level Level
	Step  string   // its key, or its index
	Path  []string // the steps to it
}

// Root is the place of a whole value.
func (f *Finder) Root() Place { return f.place(Place{}) }

func (f *Finder) place(p Place) Place {
	if slices.ContainsFunc(f.pointers, func(pattern []string) bool { return fits(pattern, p.Path) }) {
		p.Level = Phrase
	}
	return p
}

func fits(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, step string) bool { return p == "*" || p == step })
}

// Children returns the members of an object or the elements of an array, each with its place. A strict Finder without
// pointers gives places without a path, and elements without a step.
func (f *Finder) Children(v strictjson.Value, at Place) iter.Seq2[Place, strictjson.Value] {
	paths := f.strictness == Mild || len(f.pointers) > 0
	below := func(step string, level Level) Place {
		p := Place{Level: max(at.Level, level), Step: step}
		if !paths {
			return p
		}
		p.Path = append(slices.Clip(at.Path), step)
		return f.place(p)
	}
	return func(yield func(Place, strictjson.Value) bool) {
		named := f.named(v)
		for key, member := range v.Members() {
			level := f.Key(key)
			if named && key == "value" {
				level = max(level, Token)
			}
			if !yield(below(key, level), member) {
				return
			}
		}
		for i, element := range v.Elements() {
			step := ""
			if paths {
				step = strconv.Itoa(i)
			}
			if !yield(below(step, Open), element) {
				return
			}
		}
	}
}

// named reports whether a member of an object names its sibling "value" a secret.
func (f *Finder) named(v strictjson.Value) bool {
	if _, ok := v.Member("value"); !ok {
		return false
	}
	for _, name := range []string{"name", "key", "header"} {
		if said, ok := v.Member(name); ok && len(said.Source()) < 100 && f.Key(said.Text()) != Open {
			return true
		}
	}
	return false
}

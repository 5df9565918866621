package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// environmentProfile is the profile that environment variables make when there is no configuration file.
const environmentProfile = "environment"

// environmentPath is [Config.Path] when there is no file except a project's.
const environmentPath = "the environment"

// The variables mean the same as the profile keys that they are named after. A list has patterns with commas, spaces or
// line breaks between them; a comma in braces or brackets belongs to its pattern.
const (
	denylistVariable  = "CODEMODE_DENYLIST"
	asklistVariable   = "CODEMODE_ASKLIST"
	allowlistVariable = "CODEMODE_ALLOWLIST" // after the others: their rules may conflict with it
	unmatchedVariable = "CODEMODE_UNMATCHED"
	timeoutVariable   = "CODEMODE_ASK_TIMEOUT"
)

var environmentVariables = []string{
	denylistVariable, asklistVariable, unmatchedVariable, timeoutVariable, allowlistVariable,
}

// variablePrefix begins the names of our variables.
const variablePrefix = "CODEMODE_"

// otherVariables are our variables that do not concern calls.
var otherVariables = []string{
	"CODEMODE_CONFIG", "CODEMODE_MANAGED", "CODEMODE_SESSION", "CODEMODE_STATE", "CODEMODE_RESPONDER",
	"CODEMODE_RESPONDER_COMMAND", "CODEMODE_PREFLIGHT_SECRET", "CODEMODE_CHILD", "CODEMODE_CONFINED", "CODEMODE_BIN",
}

// variableSynonyms are words for our variables with a different spelling.
var variableSynonyms = map[string]string{
	"DENY": denylistVariable, "DENIED": denylistVariable, "BLOCK": denylistVariable, "BLOCKLIST": denylistVariable,
	"BLACKLIST": denylistVariable, "ASK": asklistVariable, "CONFIRM": asklistVariable,
	"ALLOW": allowlistVariable, "ALLOWED": allowlistVariable, "WHITELIST": allowlistVariable,
	"DEFAULT": unmatchedVariable, "TIMEOUT": timeoutVariable,
}

// ReadEnvironment returns what the variables of environ say about calls, for [Files.Environment]. environ has
// NAME=VALUE strings like os.Environ. The result includes misspelt variables, so that [ParseAll] reports them: an
// unread list would forbid nothing.
func ReadEnvironment(environ []string) []Source {
	values := map[string]string{}
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		if ok && (slices.Contains(environmentVariables, name) || meantVariable(name) != "") {
			values[name] = value
		}
	}
	var sources []Source
	add := func(name string) {
		if value, ok := values[name]; ok {
			sources = append(sources, Source{File: name, Data: []byte(value), Standing: Environment})
			delete(values, name)
		}
	}
	for _, name := range environmentVariables {
		add(name)
	}
	for _, v := range environ { // misspelt ones
		name, _, _ := strings.Cut(v, "=")
		add(name)
	}
	return sources
}

// meantVariable returns the variable that a misspelt name most likely means, "" if it is none of ours.
func meantVariable(name string) string {
	word, ours := strings.CutPrefix(name, variablePrefix)
	if !ours || slices.Contains(environmentVariables, name) || slices.Contains(otherVariables, name) {
		return ""
	}
	if other := variableSynonyms[word]; other != "" {
		return other
	}
	var words []string
	for _, known := range environmentVariables {
		words = append(words, strings.TrimPrefix(known, variablePrefix))
	}
	if near := visible.Nearest(word, words); near != "" {
		return variablePrefix + near
	}
	return ""
}

// environment merges the variables into one profile, nil if there are none.
func (c *Config) environment() *profiles.Written {
	var w *profiles.Written
	for _, p := range c.parts {
		v := p.variables
		if v == nil {
			continue
		}
		if w == nil {
			w = &profiles.Written{Name: v.Name, Pos: v.Pos}
			w.Chain = []*profiles.Written{w}
		}
		w.Source = append(slices.Clip(w.Source), v.Source...)
		for l := range v.Lists {
			w.Lists[l] = append(w.Lists[l], v.Lists[l]...)
			w.Has[l] = w.Has[l] || v.Has[l]
		}
		if v.Unmatched != nil {
			w.Unmatched = v.Unmatched
		}
		if v.Unmatched != nil || v.Has[profiles.Allowlist] && w.Unmatched == nil { // the setting that denies the rest
			w.Pos = v.Pos
		}
		w.Ask = w.Ask.Stricter(v.Ask)
	}
	return w
}

// environmentAlone reports whether the variables are the whole configuration: there is no user file and no managed
// file.
func (c *Config) environmentAlone() bool {
	alone := false
	for _, p := range c.parts {
		if p.Standing == User || p.Standing == Managed {
			return false
		}
		alone = alone || p.variables != nil
	}
	return alone
}

// EnvironmentNote says in a sentence how environment variables affect the configuration, "" if none is set. variables
// are their names.
func (c *Config) EnvironmentNote() (variables []string, note string) {
	for _, p := range c.parts {
		if p.variables != nil {
			variables = append(variables, p.File)
		}
	}
	switch {
	case len(variables) == 0:
		return nil, ""
	case c.environmentAlone():
		return variables, fmt.Sprintf("the environment is the configuration, as the profile %q, which codemode_eval has",
			environmentProfile)
	}
	return variables, "the environment binds every profile beside the files: " +
		"it denies and asks more, and allows nothing that they do not"
}

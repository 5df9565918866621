package config

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiletest"
	"github.com/codemode-project/codemode/profiles"
)

var (
	described, wantVerdicts, inProfile = profiletest.Described, profiletest.Want, profiletest.In
	oracleGlob, strictest              = profiletest.Glob, profiletest.Strictest
)

// parse loads a configuration that has to be good.
func parse(t testing.TB, content string) *Config {
	t.Helper()
	c, err := Parse("codemode.json", []byte(content))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, content)
	}
	return c
}

// profile loads one profile from the text between its braces.
func profile(t testing.TB, body string) *profiles.Profile {
	t.Helper()
	return parse(t, inProfile(body)).Profile("p")
}

// call makes a call from "server tool" and JSON arguments.
func callOf(tool, args string) profiles.Call {
	server, name, _ := strings.Cut(tool, " ")
	return profiles.Call{Server: server, Tool: name, Args: call.Unread(json.RawMessage(args))}
}

func decoded(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func contains(s, part string) bool { return strings.Contains(s, part) }

func quote(s string) string { return fmt.Sprintf("%q", s) }

// indexFrom is the number of rules from which profiles keeps an index.
const indexFrom = 24

// storeOf is the key "store" without variables.
func storeOf(t testing.TB, c *Config) Store {
	t.Helper()
	s, err := c.Store(nil)
	must(t, err)
	return s
}

func ruleChanges(old, new *profiles.Profile) []profiles.RuleChange {
	changes, _ := profiles.Diff(old, new)
	return changes
}

func settingChanges(old, new *profiles.Profile) []string {
	_, lines := profiles.Diff(old, new)
	return lines
}

// Watch is [WatchFiles] for one file that is the user's.
func Watch(ctx context.Context, path string, o WatchOptions, changed func(*Config, error)) (*Watcher, error) {
	return WatchFiles(ctx, Files{User: path}, o, changed)
}

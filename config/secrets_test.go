package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/settings"
)

// placesOfSecrets are all places of a configuration with a text that a command or a file could give; %s stands for it.
// The file is the one of a project.
var placesOfSecrets = []string{
	`{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": %s}}}}`,
	`{"mcpServers": {"a": {"command": "x", "environment": {"TOKEN": %s}}}}`,
	`{"mcpServers": {"a": {"command": "x", "args": [%s]}}}`,
	`{"mcpServers": {"a": {"command": %s}}}`,
	`{"mcpServers": {"a": {"command": "x", "cwd": %s}}}`,
	`{"mcpServers": {"a": {"command": "x", "envFile": %s}}}`,
	`{"servers": {"a": {"url": %s}}}`,
	`{"a": {"url": "https://h/", "headers": {"Authorization": %s}}}`,
	`{"mcpServers": {"a": {"url": "https://h/", "http_headers": {"Authorization": %s}}}}`,
	`{"mcpServers": {"a": {"url": "https://h/", "oauth": {"clientId": "i", "clientSecret": %s}}}}`,
	`{"mcpServers": {"a": {"url": "https://h/", "auth": {"CLIENT_SECRET": %s}}}}`,
	`{"store": {"url": %s}}`, `{"store": %s}`, `{"store": {"key": %s}}`, `{"store": {"collector": %s}}`,
	`{"http": {"tokens": [{"token": %s}]}}`,
}

// disguises are ways to name a command that are not ${cmd:...}: they take the name of a variable.
const disguises = `{"mcpServers": {"a": {"url": "https://h/", "bearerTokenEnvVar": %[1]q, "bearer_token_env_var": %[1]q,
		"env_http_headers": {"X": %[1]q}, "headers": {"A": "${env:%[2]s}", "B": "{env:%[2]s}"}},
	"b": {"command": "x", "env_vars": [%[1]q], "env": {"A": "${env:%[2]s}"}, "args": ["${env:%[2]s}", "{env:%[2]s}"]}}}`

// A project's file neither runs a command nor reads a file, trusted or not, under any name; nor does a variable of the
// environment. Reading any file runs nothing.
func TestNoProjectRunsCommandsForSecrets(t *testing.T) {
	dir := t.TempDir()
	ran, secret := filepath.Join(dir, "ran"), filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("postgres://c4n4ry@h/d"), 0o600))
	touch := "cmd:touch " + filepath.ToSlash(ran)
	var read []string
	env := settings.NewSources(func(string) (string, bool) { return "", false })
	lookup := func(name string) (string, bool) {
		if settings.IsSource(name) {
			read = append(read, name)
		}
		return env.Lookup(name)
	}
	use := func(title string, c *Config) {
		for _, s := range c.Servers {
			_, _ = s.Connection(lookup)
		}
		_, _ = c.Store(lookup)
		_, _ = c.HTTP(lookup)
		if _, err := os.Stat(ran); err == nil || len(read) > 0 {
			t.Errorf("%s: it read %q", title, read)
			read = nil
			os.Remove(ran)
		}
	}
	var texts []string
	for _, place := range placesOfSecrets {
		for _, name := range []string{touch, "file:" + filepath.ToSlash(secret)} {
			texts = append(texts, fmt.Sprintf(place, fmt.Sprintf("%q", "${"+name+"}")))
		}
	}
	texts = append(texts, fmt.Sprintf(disguises, touch, touch), fmt.Sprintf(disguises, "file:"+secret, "file:"+secret))
	for _, text := range texts {
		for _, standing := range []Standing{Untrusted, Trusted} {
			user := Source{File: "user.json", Data: []byte(`{}`), Standing: User}
			c, err := ParseAll(lookup, user, Source{File: "project.json", Data: []byte(text), Standing: standing})
			if err == nil {
				use(standing.String()+" "+text, c)
			}
			server := strings.Contains(text, `"command"`) || strings.Contains(text, "https://h/") || strings.Contains(text, `"url": "${`)
			store := strings.HasPrefix(text, `{"store"`) || strings.HasPrefix(text, `{"http"`)
			disguised := strings.Contains(text, "env:")
			if standing == Trusted && server && !store && !disguised &&
				(err == nil || !strings.Contains(err.Error(), "project.json:1:")) {
				t.Errorf("a trusted project: %s: got %v, want a problem with its place", text, err)
			}
		}
		for _, standing := range []Standing{User, Managed} {
			if c, err := ParseAll(lookup, Source{File: "user.json", Data: []byte(text), Standing: standing}); err == nil &&
				strings.Contains(text, "env:") { // a variable has no such name
				use("disguised "+text, c)
			}
			if len(read) > 0 {
				t.Errorf("reading %s looked up %q", text, read)
				read = nil
			}
		}
	}
	for _, name := range environmentVariables {
		c, err := ParseAll(lookup, Source{File: name, Data: []byte("${" + touch + "}"), Standing: Environment})
		if err == nil {
			use(name, c)
		}
	}
}

// The user's own file and the managed one take secrets from commands and files, wherever they take a secret.
func TestSecretsFromCommandsAndFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of other systems")
	}
	file := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(file, []byte("from-a-file-of-mine\n"), 0o600))
	env := settings.NewSources(func(string) (string, bool) { return "", false }).Lookup
	text := fmt.Sprintf(`{
		"mcpServers": {
			"a": {"command": "x", "env": {"TOKEN": "${cmd:echo one}", "B": "x-${file:%[1]s}"}},
			"b": {"url": "https://h/${cmd:echo path}", "headers": {"Authorization": "Bearer ${cmd:printf '%%s' two}"},
				"oauth": {"clientId": "i", "clientSecret": "${cmd:echo three}"}},
			"off": {"command": "x", "disabled": true, "env": {"TOKEN": "${cmd:false}"}}},
		"store": {"url": "${cmd:echo postgres://u:p@h/d}"},
		"http": {"tokens": [{"token": "${file:%[1]s}"}, {"token": "${cmd:echo sixteen-characters-here}"}]}}`, file)
	for _, standing := range []Standing{User, Managed} {
		c, err := ParseAll(env, Source{File: "codemode.json", Data: []byte(text), Standing: standing})
		must(t, err)
		if len(c.SecretFiles) != 2 || c.SecretFiles[0] != file {
			t.Errorf("%s: the files with secrets are %q", standing, c.SecretFiles)
		}
		a, err := c.Servers[0].Connection(env)
		must(t, err)
		b, err := c.Servers[1].Connection(env)
		must(t, err)
		off, err := c.Servers[2].Connection(env)
		must(t, err)
		if a.Env["TOKEN"] != "one" || a.Env["B"] != "x-from-a-file-of-mine" || a.Problem != "" {
			t.Errorf("%s: a is %v, %s", standing, a.Env, a.Problem)
		}
		if b.Headers.Get("Authorization") != "Bearer two" || b.URL != "https://h/path" || b.OAuth.ClientSecret != "three" {
			t.Errorf("%s: b is %s %v %+v: %s", standing, b.URL, b.Headers, b.OAuth, b.Problem)
		}
		if !off.Disabled || off.Problem != "" {
			t.Errorf("%s: a disabled server has a problem: %s", standing, off.Problem)
		}
		s, err := c.Store(env)
		must(t, err)
		h, err := c.HTTP(env)
		must(t, err)
		if s.URL != "postgres://u:p@h/d" || h.Tokens[0].Fingerprint != Fingerprint("from-a-file-of-mine") ||
			h.Tokens[1].Fingerprint != Fingerprint("sixteen-characters-here") {
			t.Errorf("%s: got %s, %+v", standing, s.URL, h.Tokens)
		}
		if _, err := c.Store(settings.Unread(env)); err != nil {
			t.Errorf("without reading: %v", err)
		}
		if _, err := c.HTTP(settings.Unread(env)); err != nil {
			t.Errorf("without reading: %v", err)
		}
	}
}

// What is wrong has its place; what a command printed is in no message.
func TestProblemsWithSecretsHaveTheirPlace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of other systems")
	}
	env := settings.NewSources(func(string) (string, bool) { return "", false }).Lookup
	fails := "${cmd:sh -c 'echo c4n4ry; echo locked >&2; exit 1'}"
	for _, row := range []struct{ text, want string }{
		{`{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "${cmd:./x}"}}}}`, `codemode.json:1:56: server "a": "env": the command`},
		{`{"mcpServers": {"a": {"command": "x", "args": ["${cmd:x}"]}}}`, `codemode.json:1:48: server "a": "args" takes no ${cmd:...}`},
		{`{"mcpServers": {"a": {"command": "${file:/x}"}}}`, `"command" takes no`},
		{`{"mcpServers": {"a": {"command": "x", "cwd": "${file:/x}"}}}`, `"cwd" takes no`},
		{`{"store": {"url": "${file:x}"}}`, `codemode.json:1:19: "url": the file of ${file:...} must be a whole path`},
		{`{"store": {"url": "` + fails + `"}}`, `codemode.json:1:19: the command sh of ${cmd:...} failed (exit status 1): locked`},
		{`{"http": {"tokens": [{"token": "` + fails + `"}]}}`, `codemode.json:1:32: the command sh of ${cmd:...} failed (exit status 1): locked`},
		{`{"http": {"tokens": [{"token": "${cmd:echo c4n4ry}"}]}}`, `codemode.json:1:32: the token in ${cmd:echo c4n4ry} has 6 characters`},
		{`{"http": {"tokens": [{"token": "x${cmd:x}"}]}}`, `a token must not stand in the file`},
		{`{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "` + fails + `"}}}}`,
			`server "a" cannot be started: codemode.json:1:56: "env.TOKEN": the command sh of ${cmd:...} failed (exit status 1): locked`},
	} {
		c, err := ParseAll(env, Source{File: "codemode.json", Data: []byte(row.text), Standing: User})
		if err == nil {
			_, err = c.Store(env)
		}
		if err == nil {
			_, err = c.HTTP(env)
		}
		if err == nil && len(c.Servers) > 0 {
			s, wrong := c.Servers[0].Connection(env)
			if err = wrong; err == nil && s.Problem != "" {
				err = fmt.Errorf("%s", s.Problem)
			}
		}
		if err == nil {
			t.Errorf("%s: no problem", row.text)
			continue
		}
		first, _, _ := strings.Cut(err.Error(), "\n") // below it is the line of the file
		if !strings.Contains(first, row.want) || strings.Contains(strings.ReplaceAll(first, "echo c4n4ry", ""), "c4n4ry") {
			t.Errorf("%s:\ngot  %s\nwant %s", row.text, first, row.want)
		}
	}
}

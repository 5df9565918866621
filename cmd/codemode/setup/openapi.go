package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/openapi"
	"github.com/codemode-project/codemode/internal/tools/rest"
	"github.com/codemode-project/codemode/internal/visible"
)

// proposeAPI writes a configuration with an HTTP API as its server, and a profile: what reads is allowed, what writes
// is asked about, and what destroys is denied.
func proposeAPI(ctx context.Context, s cli.Streams, p places, o *initOptions) error {
	d, err := readDescription(ctx, o.openapi)
	if err != nil {
		return cli.UsageError(fmt.Errorf("%s: %w", o.openapi, err))
	}
	name := cmp.Or(o.name, nameOfAPI(d))
	if hint, message := servers.CheckName(name); message != "" {
		return cli.UsageError(fmt.Errorf("%s: %s; --name gives another one", message, hint))
	}
	text, variables, err := apiConfiguration(d, name, o.openapi)
	if err != nil {
		return cli.InternalError(err)
	}
	if _, err := config.Parse(o.out, text); err != nil {
		return cli.InternalError(fmt.Errorf("the new configuration is not valid: %w", err))
	}
	printAPI(s, d, name, variables)
	if o.dry {
		fmt.Fprintf(s.Out, "\n%s", visible.Text(string(text)))
		return nil
	}
	if _, err := os.Lstat(o.out); err == nil && !o.force {
		return cli.UsageError(fmt.Errorf("%s exists already, and was not changed: --dry-run prints what to add to it, "+
			"--out writes another file", o.out))
	}
	visible.Fprintf(s.Out, "\nThis writes %s, and starts and changes nothing else.\n", p.short(o.out))
	if yes, err := agreed(ctx, s, o); !yes {
		return err
	}
	if err := writePrivate(o.out, text, o.force); err != nil {
		return cli.UsageError(err)
	}
	visible.Fprintf(s.Out, "Wrote %s. codemode tools --config %s shows what programs can call.\n", p.short(o.out),
		p.short(o.out))
	return nil
}

// readDescription reads a description from a file or an address.
func readDescription(ctx context.Context, from string) (*openapi.Document, error) {
	if !servers.IsAddress(from) {
		f, err := os.Open(from)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		return openapi.Read(f, info.Size())
	}
	u, err := url.Parse(from)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "codemode-description-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // it lives as long as it is open
		return nil, err
	}
	got, err := rest.Fetch(ctx, rest.FetchOptions{URL: u}, f)
	if err != nil {
		return nil, err
	}
	return openapi.Read(f, got.Bytes)
}

// nameOfAPI is the first word of the title that says something.
func nameOfAPI(d *openapi.Document) string {
	words := strings.FieldsFunc(strings.ToLower(d.Title), func(r rune) bool {
		return r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, w := range words {
		if !slices.Contains([]string{"the", "a", "api", "rest", "web", "http", "swagger", "openapi"}, w) {
			return w
		}
	}
	return "api"
}

// apiConfiguration is the text of a configuration, and the variables that it needs.
func apiConfiguration(d *openapi.Document, name, from string) (text []byte, variables []string, err error) {
	if !servers.IsAddress(from) {
		if from, err = filepath.Abs(from); err != nil {
			return nil, nil, err
		}
	}
	variable := func(what string) string {
		v := strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_" + what
		variables = append(variables, v)
		return "${" + v + "}"
	}
	entry := map[string]any{"openapi": from, "baseURL": baseProposal(d, from)}
	if auth := authProposal(d, variable); auth != nil {
		entry["auth"] = auth
	}
	of := func(hint string, is bool) []any {
		return []any{map[string]any{"tool": name + "__*", "annotations": map[string]any{hint: is}}}
	}
	whole := map[string]any{
		"mcpServers": map[string]any{name: entry},
		"evaluation": map[string]any{"defaultProfile": "careful", "profiles": map[string]any{"careful": map[string]any{
			"allowlist": of("readOnlyHint", true), "asklist": of("readOnlyHint", false),
			"denylist": of("destructiveHint", true),
		}}},
	}
	text, err = json.MarshalIndent(whole, "", "  ")
	return append(text, '\n'), variables, err
}

// baseProposal is the address that a description proposes, as a whole.
func baseProposal(d *openapi.Document, from string) string {
	if len(d.Servers) == 0 {
		return "https://api.example.com"
	}
	at, err := url.Parse(d.Servers[0])
	if u, bad := url.Parse(from); err == nil && bad == nil && servers.IsAddress(from) {
		return strings.TrimSuffix(u.ResolveReference(at).String(), "/")
	}
	if servers.IsAddress(d.Servers[0]) {
		return strings.TrimSuffix(d.Servers[0], "/")
	}
	return "https://api.example.com/" + strings.Trim(d.Servers[0], "/")
}

// authProposal proposes credentials for the first way that is supported; nil if the description has none.
func authProposal(d *openapi.Document, variable func(string) string) map[string]any {
	for _, one := range d.Schemes {
		switch {
		case one.Type == "apiKey" && one.In != "cookie":
			return map[string]any{"apiKey": map[string]any{"in": one.In, "name": one.Name, "value": variable("KEY")}}
		case one.Type == "http" && one.Scheme == "basic":
			return map[string]any{"basic": map[string]any{"username": variable("USER"), "password": variable("PASSWORD")}}
		case one.Type == "http" && one.Scheme == "bearer":
			return map[string]any{"bearer": variable("TOKEN")}
		case one.Type == "oauth2" && one.AuthorizationURL != "" && one.TokenURL != "":
			return map[string]any{"oauth": map[string]any{"authorizationUrl": one.AuthorizationURL, "tokenUrl": one.TokenURL,
				"clientId": variable("CLIENT_ID"), "scope": strings.Join(one.Scopes[:min(len(one.Scopes), 5)], " ")}}
		}
	}
	return nil
}

// printAPI says what an API has, and what its entry needs.
func printAPI(s cli.Streams, d *openapi.Document, name string, variables []string) {
	counts := map[string]int{}
	for _, o := range d.Operations {
		counts[o.Effect]++
	}
	visible.Fprintf(s.Out, "%s (%s): %s as tools of %q.\n", strings.TrimSpace(d.Title+" "+d.Version), d.Format,
		cli.Count(len(d.Operations), "operation"), name)
	fmt.Fprintf(s.Out, "  %d read, and are allowed; %d write or send, and are asked about; %d destroy, and are denied.\n",
		counts[openapi.Reads], counts[openapi.Writes]+counts[openapi.Sends], counts[openapi.Destroys])
	for _, left := range d.Left[:min(len(d.Left), 5)] {
		visible.Fprintf(s.Out, "  %s %s cannot be called: %s.\n", left.Method, left.Path, left.Why)
	}
	if len(variables) > 0 {
		visible.Fprintf(s.Out, "Set %s, or write how to get the value, such as ${file:...}.\n",
			strings.Join(variables, " and "))
	} else {
		fmt.Fprintln(s.Out, `The description names no credential that is supported: add "auth" if the API needs one.`)
	}
}

package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// ClientMetadata returns the client metadata document to publish at an address: with the name of a server, at that of
// its "clientMetadataUrl"; with "", where the service of this configuration serves it.
func ClientMetadata(set *launch.Settings, where string) ([]byte, error) {
	files, err := set.Files()
	if err != nil {
		return nil, cli.UsageError(err)
	}
	cfg := new(config.Config)
	if !files.None() {
		if cfg, err = files.Load(); err != nil {
			return nil, cli.UsageError(err)
		}
	}
	var back []string
	page := pageOf(cfg).Origin + config.ConsolePath
	served, address := clientMetadata(page)
	if served != nil {
		back = []string{page + console.ConnectedPath}
	}
	switch {
	case where == "" && served == nil:
		err = errors.New("name the https address at which you publish the document, or give the page that serves it one: " +
			`"console": {"origin": "https://codemode.example.com"}`)
	case where == "":
		where = address
	case !strings.Contains(where, "://"):
		where, err = documentOf(cfg, where)
	}
	if err != nil {
		return nil, cli.UsageError(err)
	}
	document, err := login.ClientMetadata(where, back...)
	return document, cli.UsageError(err)
}

// documentOf is the address of the client metadata document that a server's entry names.
func documentOf(cfg *config.Config, server string) (string, error) {
	at := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Name == server })
	if at < 0 {
		return "", fmt.Errorf("there is no server %q in the configuration", server)
	}
	c, err := cfg.Servers[at].Connection(launch.Env)
	if err == nil && (c.OAuth == nil || c.OAuth.MetadataURL == "") {
		err = fmt.Errorf(`the server %q has no "oauth": {"clientMetadataUrl": "https://..."}`, server)
	}
	if err != nil {
		return "", err
	}
	return c.OAuth.MetadataURL, nil
}

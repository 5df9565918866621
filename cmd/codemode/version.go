package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/upgrade"
	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/repository"
)

// A versionReport is what codemode version prints.
type versionReport struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	System  string `json:"system"`
	Guest   string `json:"guest"` // sha256 of quickjs.wasm
	// With --check.
	Latest string `json:"latest,omitempty"`
	Newer  *bool  `json:"newer,omitempty"`
	How    string `json:"how,omitempty"`
}

func newVersion(s cli.Streams) *cobra.Command {
	var asJSON, check bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Prints the version of codemode, of Go, the system, and the digest of the sandbox's guest.

With --check it asks the repository for the latest release, with one request to
` + repository.Latest + `
which tells nothing about you or this version. It uses the proxy that HTTPS_PROXY names.
No other command asks. The exit code is 0 if there is no newer release, 1 if there is one,
and 5 if that cannot be told.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := versionReport{Version: launch.Version(), Go: runtime.Version(),
				System: runtime.GOOS + "/" + runtime.GOARCH, Guest: quickjs.Hash()}
			var checked error
			var lines string
			if check {
				lines, checked = r.check(cmd.Context(), repository.Latest)
			}
			if asJSON {
				if err := cli.PrintJSON(s.Out, r); err != nil {
					return err
				}
				return checked
			}
			if _, err := fmt.Fprintf(s.Out, "codemode %s\n%s, %s\nguest %s\n%s", r.Version, r.Go, r.System, r.Guest,
				lines); err != nil {
				return cli.InternalError(err)
			}
			return checked
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&check, "check", false, "ask the repository whether there is a newer release")
	return cmd
}

// check asks the address for the latest release. It returns lines to print, and an error with the exit code.
func (r *versionReport) check(ctx context.Context, address string) (string, error) {
	latest, err := upgrade.Latest(ctx, upgrade.Client(), address)
	if err != nil {
		return "", cli.InternalError(err)
	}
	r.Latest = latest.Version
	newer, err := latest.Newer(r.Version)
	switch {
	case err != nil:
		return "latest release: " + latest.Version + "\n", cli.InternalError(err)
	case latest.Version == "":
		r.Newer = &newer
		return "nothing is released yet\n", nil
	case !newer:
		r.Newer = &newer
		return "this is the latest release, or newer than " + latest.Version + "\n", nil
	}
	r.Newer, r.How = &newer, thisBinary().How(latest)
	return fmt.Sprintf("newer release: %s\nget it: %s\n", r.Latest, r.How), cli.WithCode(cli.ExitProgram, nil)
}

// thisBinary is what tells how the running binary was installed.
func thisBinary() upgrade.Binary {
	b := upgrade.Binary{Root: os.DirFS("/")}
	b.Build, _ = debug.ReadBuildInfo()
	if path, err := os.Executable(); err == nil {
		b.Path = path
		if real, err := filepath.EvalSymlinks(path); err == nil {
			b.Path = real
		}
	}
	return b
}

package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/guest/quickjs"
)

func newVersion(s cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				System  string `json:"system"`
				Guest   string `json:"guest"` // sha256 of quickjs.wasm
			}{launch.Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, quickjs.Hash()}
			if asJSON {
				return cli.PrintJSON(s.Out, b)
			}
			_, err := fmt.Fprintf(s.Out, "codemode %s\n%s, %s\nguest %s\n", b.Version, b.Go, b.System, b.Guest)
			return cli.InternalError(err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

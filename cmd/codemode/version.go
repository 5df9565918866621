package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/guest/quickjs"
)

// A build is what is known of this binary.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	System  string `json:"system"`
	Guest   string `json:"guest"` // sha256 of quickjs.wasm
}

func version() build {
	b := build{Version: "dev", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Guest: quickjs.Hash()}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	return b
}

func newVersion(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := version()
			if asJSON {
				return printJSON(s.out, b)
			}
			_, err := fmt.Fprintf(s.out, "codemode %s\n%s, %s\nguest %s\n", b.Version, b.Go, b.System, b.Guest)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

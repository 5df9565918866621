package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

func TestAnUnknownFlag(t *testing.T) {
	for _, row := range []struct{ flag, want string }{
		{"--conifg", "unknown flag: --conifg; did you mean --config? tool run --help lists the flags"},
		{"--elephant", "unknown flag: --elephant; tool run --help lists the flags"},
		{"-q", "unknown shorthand flag: 'q' in -q; tool run --help lists the flags"},
		{"--wait=soon", `invalid argument "soon" for "--wait" flag: strconv.ParseBool: parsing "soon": invalid syntax`},
	} {
		root := &cobra.Command{Use: "tool", SilenceErrors: true, SilenceUsage: true}
		root.SetFlagErrorFunc(FlagError)
		run := &cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}}
		run.Flags().String("config", "", "")
		run.Flags().Bool("wait", false, "")
		root.AddCommand(run)
		root.SetArgs([]string{"run", row.flag})
		if err := root.Execute(); err == nil || err.Error() != row.want {
			t.Errorf("%s: %v, want %s", row.flag, err, row.want)
		}
	}
}

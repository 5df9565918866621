package server

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/tools/catalog"
)

func TestSummary(t *testing.T) {
	for _, row := range []struct {
		tool *catalog.Tool
		want string
	}{
		{&catalog.Tool{Description: "Reads  a\nfile."}, "Reads a file."},
		{&catalog.Tool{Title: "Only a title"}, "Only a title"},
		{&catalog.Tool{Description: strings.Repeat("é", 200)}, strings.Repeat("é", 120) + "…"},
		{&catalog.Tool{Description: "says \u202eone\U000e0041 thing"}, `says \u{202e}one\u{e0041} thing`},
	} {
		if got := summary(row.tool); got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}

package servers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/servers"
)

// TestTakes: an entry names a tool by its canonical or its raw name, and a server cannot spell its way around one.
func TestTakes(t *testing.T) {
	for _, row := range []struct{ listed, include, exclude, want string }{
		{"a b", "", "", "a b"},
		{"send-mail b", "", "send_mail", "b"},
		{"send_mail b", "", "send-mail", "b"},
		{"send.mail b", "", "send-mail", "b"},
		{"send_mail send-mail b", "", "send_mail", "b"}, // a decoy
		{"send_mail send-mail b", "", "send-mail", "send_mail b"},
		{"send_mail send-mail b", "", "send_mail_8cd54b62", "send_mail send-mail b"},
		{"获取 查询", "", "获取", "查询"},
		{"sеnd send", "", "send", "sеnd"}, // Cyrillic
		{"send-mail b", "send_mail", "", "send-mail"},
		{"send_mail b", "send-mail", "", "send_mail"},
		{"send_mail send-mail b", "send-mail", "", "send-mail"},
		{"send_mail send-mail b", "send_mail", "", "send_mail"},
		{"send_mail send-mail b", "send-mail send_mail", "send-mail", "send_mail"},
	} {
		s := servers.Server{Include: strings.Fields(row.include), Exclude: strings.Fields(row.exclude)}
		listed := strings.Fields(row.listed)
		names, _ := call.Names("s", listed)
		var got []string
		for i, raw := range listed {
			if s.Takes(raw, strings.TrimPrefix(names[i], "s__"), func(raw string) bool { return slices.Contains(listed, raw) }) {
				got = append(got, raw)
			}
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("of %q include %q, exclude %q: got %q, want %q", row.listed, row.include, row.exclude, got, row.want)
		}
	}
}

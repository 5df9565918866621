package upgrade

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
)

func TestHow(t *testing.T) {
	latest := Release{Version: "v1.2.3", URL: "https://example.com/releases/tag/v1.2.3"}
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.2", Sum: "h1:abc="}}
	checkout := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.2"}}
	system := runtime.GOOS + "_" + runtime.GOARCH
	download := "download it from " + latest.URL
	for _, row := range []struct {
		path  string
		build *debug.BuildInfo
		file  string // that a package manager has
		want  string
	}{
		{path: "/home/ann/.npm/_npx/0a1b2c/node_modules/@codemode-project/codemode-linux-x64/bin/codemode",
			want: "npx -y @codemode-project/codemode@latest"},
		{path: "/usr/lib/node_modules/@codemode-project/codemode/node_modules/@codemode-project/" +
			"codemode-linux-x64/bin/codemode",
			want: "npm install -g @codemode-project/codemode@latest"},
		{path: `C:\Users\ann\AppData\Roaming\npm\node_modules\@codemode-project\codemode-win32-x64\bin\codemode.exe`,
			want: "npm install -g @codemode-project/codemode@latest"},
		{path: "/opt/homebrew/Caskroom/codemode/1.2.2/codemode",
			want: "brew upgrade --cask codemode-project/tap/codemode"},
		{path: `C:\Users\ann\scoop\apps\codemode\current\codemode.exe`, want: "scoop update codemode"},
		{path: `C:\Users\ann\AppData\Local\Microsoft\WinGet\Packages\` +
			`CodemodeProject.Codemode_Microsoft.Winget.Source_8wekyb3d8bbwe\codemode.exe`,
			want: "winget upgrade CodemodeProject.Codemode"},
		{path: "/usr/bin/codemode", file: "var/lib/dpkg/info/codemode.list",
			want: "dpkg -i codemode_1.2.3_" + system + ".deb"},
		{path: "/usr/bin/codemode", file: "lib/apk/db/installed", want: "apk add --allow-untrusted codemode_1.2.3_"},
		{path: "/usr/bin/codemode", file: "var/lib/rpm/Packages", want: "rpm -U codemode_1.2.3_"},
		{path: "/usr/bin/codemode", want: download},
		{path: "/usr/local/bin/codemode", file: "var/lib/dpkg/info/codemode.list", want: download},
		{path: "/home/ann/go/bin/codemode", build: installed,
			want: "go install github.com/codemode-project/codemode/cmd/codemode@v1.2.3"},
		{path: "/home/ann/codemode/codemode", build: checkout, want: download},
		{want: download},
	} {
		b := Binary{Path: row.path, Build: row.build, Root: fstest.MapFS{row.file: {}}}
		if got := b.How(latest); !strings.HasSuffix(got, row.want) && !strings.Contains(got, "then: "+row.want) {
			t.Errorf("installed as %s: %q, want %q", row.path, got, row.want)
		}
	}
	if got := (Binary{Path: "/usr/bin/codemode"}).How(latest); got != download {
		t.Errorf("without the files of package managers: %q", got)
	}
}

package upgrade

import (
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/repository"
)

// A Binary is what tells how this codemode was installed.
type Binary struct {
	Path  string           // of the binary, without symbolic links; "" if unknown
	Build *debug.BuildInfo // nil if unknown
	Root  fs.FS            // of the files of package managers; nil for none
}

// How tells how to get a release the way the binary was installed: a command, or else a sentence.
func (b Binary) How(r Release) string {
	where := strings.Split(strings.ReplaceAll(b.Path, `\`, "/"), "/")
	has := func(names ...string) bool {
		for i := range where {
			if i+len(names) <= len(where) && slices.EqualFunc(where[i:i+len(names)], names, strings.EqualFold) {
				return true
			}
		}
		return false
	}
	scope, _, _ := strings.Cut(repository.NPM, "/")
	version := strings.TrimPrefix(r.Version, "v")
	file := "codemode_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
	switch {
	case has("_npx"): // npx keeps packages in folders of its cache
		return "npx -y " + repository.NPM + "@latest"
	case has("node_modules", scope):
		return "npm install -g " + repository.NPM + "@latest"
	case has("Caskroom", "codemode"):
		return "brew upgrade --cask " + repository.Cask
	case has("scoop", "apps", "codemode"):
		return "scoop update codemode"
	case slices.ContainsFunc(where, func(name string) bool { return strings.HasPrefix(name, repository.Winget+"_") }):
		return "winget upgrade " + repository.Winget
	case b.Path == "/usr/bin/codemode" && b.exists("var/lib/dpkg/info/codemode.list"):
		return "download " + file + ".deb from " + r.URL + ", then: dpkg -i " + file + ".deb"
	case b.Path == "/usr/bin/codemode" && b.exists("lib/apk/db/installed"):
		return "download " + file + ".apk from " + r.URL + ", then: apk add --allow-untrusted " + file + ".apk"
	case b.Path == "/usr/bin/codemode" && b.exists("usr/lib/sysimage/rpm", "var/lib/rpm"):
		return "download " + file + ".rpm from " + r.URL + ", then: rpm -U " + file + ".rpm"
	case b.Build != nil && b.Build.Main.Sum != "": // go install of a version; a checkout has no sum
		return "go install " + repository.Module + "/cmd/codemode@" + r.Version
	}
	return "download it from " + r.URL
}

// exists tells whether one of the files exists.
func (b Binary) exists(names ...string) bool {
	return b.Root != nil && slices.ContainsFunc(names, func(name string) bool {
		_, err := fs.Stat(b.Root, name)
		return err == nil
	})
}

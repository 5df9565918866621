// Package repository names the places where codemode is published.
package repository

const (
	// Home is the repository.
	Home = "https://github.com/codemode-project/codemode"
	// Releases is the page of all releases.
	Releases = Home + "/releases"
	// Latest redirects to the page of the newest release that is no pre-release.
	Latest = Releases + "/latest"
	// Module is the path of the Go module.
	Module = "github.com/codemode-project/codemode"
	// NPM is the package of npm that people name. The names of those with the binaries begin with it.
	NPM = "@codemode-project/codemode"
	// Winget is the package for winget.
	Winget = "CodemodeProject.Codemode"
	// Cask is the name in Homebrew, with its tap.
	Cask = "codemode-project/tap/codemode"
)

// Command release makes what goreleaser does not make of a build: npm packages, bundles for Claude Desktop, the plugin
// for Claude Code, the entry in the MCP registry, bills of materials, and the file of licences. deploy/goreleaser.yaml
// calls it. It runs at the root of the repository.
//
//	go run ./internal/release licences [-check]                  writes THIRD_PARTY_LICENSES, or compares it
//	go run ./internal/release prepare -version 1.2.3 -out DIR    writes what is the same on all systems
//	go run ./internal/release bundle -binary FILE -out DIR       packs a binary, for the system that it says it is for
//	go run ./internal/release registry -version 1.2.3 -out DIR   writes server.json, with the sums of the bundles in DIR
//
// The version comes from the tag. In deploy/channels it is written 0.0.0, and replaced here. The same commit gives the
// same bytes: no file has the time of the build.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name one of licences, prepare, bundle and registry")
	}
	set := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	version := set.String("version", "", "the version, without v")
	out := set.String("out", "", "the folder for what is made")
	binary := set.String("binary", "", "the binary to pack")
	check := set.Bool("check", false, "compare, and write nothing")
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	if *out == "" && args[0] != "licences" {
		return errors.New("-out DIR is missing")
	}
	switch args[0] {
	case "licences":
		return licences(".", *check)
	case "prepare":
		if err := checkVersion(*version); err != nil {
			return err
		}
		return prepare(*version, *out)
	case "bundle":
		return bundle(*binary, *out)
	case "registry":
		if err := checkVersion(*version); err != nil {
			return err
		}
		return registry(*version, *out)
	}
	return fmt.Errorf("%s is none of licences, prepare, bundle and registry", args[0])
}

// A version is one of npm and of the registries: semver.org 2.0.0 without metadata of the build.
var aVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func checkVersion(version string) error {
	if !aVersion.MatchString(version) {
		return fmt.Errorf("%q is no version: -version takes one such as 1.2.3 or 1.2.3-rc.1", version)
	}
	return nil
}

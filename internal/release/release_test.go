package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode/internal/checktest"
)

// TestMain goes to the root of the repository, where the command runs.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	code := m.Run()
	if dir, err := released(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func TestLicencesAreCompleteAndFresh(t *testing.T) {
	if err := licences(".", true); err != nil {
		t.Error(err)
	}
}

func TestLicencesAreIdentified(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                     "Apache-2.0",
		"Permission is hereby granted, free of\ncharge, to any person obtaining a copy of": "MIT",
		"Redistribution and use in source and binary forms":                                "BSD-2-Clause",
		"Redistribution and use in source and binary forms\nNeither the name of":           "BSD-3-Clause",
		"GNU AFFERO GENERAL PUBLIC LICENSE":                                                "",
	} {
		if got := identify(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestVersionsComeFromTheTag: in the files of the channels the version is 0.0.0, and nowhere another one.
func TestVersionsComeFromTheTag(t *testing.T) {
	const version = "1.2.3-rc.4"
	any := regexp.MustCompile(`\d+\.\d+\.\d+(-[0-9a-z.]+)?`)
	n := 0
	for _, folder := range []string{"claude", "docker", "gemini", "mcpb", "npm", "registry"} {
		files, err := filesOf(folder, version, "")
		checktest.OK(t, err)
		for _, f := range files {
			for _, found := range any.FindAllString(string(f.text), -1) {
				if n++; found != version {
					t.Errorf("%s/%s/%s has the version %s", channels, folder, f.name, found)
				}
			}
			if strings.HasSuffix(f.name, ".json") && !json.Valid(f.text) {
				t.Errorf("%s/%s/%s is not JSON", channels, folder, f.name)
			}
		}
	}
	if n < 15 {
		t.Errorf("there are %d versions, want at least 15", n)
	}
	for path, want := range map[string]string{
		"deploy/helm/codemode/Chart.yaml": "version: 0.0.0\nappVersion: \"0.0.0\"",
		".claude-plugin/marketplace.json": `"@codemode-project/claude-plugin"`,
	} {
		if text := read(t, path); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
	if found := any.FindString(read(t, ".claude-plugin/marketplace.json")); found != "" {
		t.Errorf(".claude-plugin/marketplace.json has the version %s: npm knows the newest", found)
	}
}

var read = checktest.Read

// TestOneListOfSystems: goreleaser and npm have the systems that this command has.
func TestOneListOfSystems(t *testing.T) {
	var config struct {
		Builds []struct{ Goos, Goarch []string }
	}
	checktest.OK(t, yaml.Unmarshal([]byte(read(t, "deploy/goreleaser.yaml")), &config))
	var built, ours []string
	for _, b := range config.Builds {
		for _, name := range b.Goos {
			for _, arch := range b.Goarch {
				built = append(built, name+"/"+arch)
			}
		}
	}
	var npm struct{ OptionalDependencies map[string]string }
	checktest.OK(t, json.Unmarshal([]byte(read(t, channels+"/npm/package.json")), &npm))
	for _, s := range systems {
		ours = append(ours, s.os+"/"+s.arch)
		if npm.OptionalDependencies[s.npmName()] == "" {
			t.Errorf("the npm package does not name %s", s.npmName())
		}
	}
	slices.Sort(built)
	if !slices.Equal(built, ours) || len(npm.OptionalDependencies) != len(ours) {
		t.Errorf("goreleaser builds %q and npm has %d packages, want %q", built, len(npm.OptionalDependencies), ours)
	}
}

// released is a release that tests read.
var released = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "codemode-release")
	if err != nil {
		return "", err
	}
	return dir, makeRelease(dir)
})

func release(t *testing.T) string {
	t.Helper()
	dir, err := released()
	checktest.OK(t, err)
	return dir
}

// makeRelease makes what goreleaser has this command make, of a binary that is a script. It prints its arguments.
func makeRelease(out string) error {
	info, err := builtFrom()
	if err != nil {
		return err
	}
	if err := prepare("1.2.3", out); err != nil {
		return err
	}
	for _, s := range systems {
		if err := pack(s, "1.2.3", info, []byte("#!/bin/sh\necho \"$@\"\nexit 7\n"), out); err != nil {
			return err
		}
	}
	return registry("1.2.3", out)
}

// builtFrom is what a binary says about itself.
func builtFrom() (*debug.BuildInfo, error) {
	listed, err := listedLicences()
	if err != nil {
		return nil, err
	}
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "github.com/codemode-project/codemode"},
		Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2001-02-03T04:05:06Z"}}}
	for name := range listed {
		if path, version, ok := strings.Cut(name, " v"); ok {
			info.Deps = append(info.Deps, &debug.Module{Path: path, Version: "v" + version,
				Sum: "h1:" + base64.StdEncoding.EncodeToString(make([]byte, 32))})
		}
	}
	slices.SortFunc(info.Deps, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	return info, nil
}

func TestTheSameCommitGivesTheSameBytes(t *testing.T) {
	first, second := release(t), t.TempDir()
	checktest.OK(t, makeRelease(second))
	n := 0
	err := filepath.WalkDir(first, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		name, err := filepath.Rel(first, path)
		if err != nil {
			return err
		}
		if read(t, path) != read(t, filepath.Join(second, name)) {
			t.Errorf("%s differs", name)
		}
		return nil
	})
	if err != nil || n < 25 {
		t.Errorf("%d files were compared: %v", n, err)
	}
}

// TestBillsOfMaterialsNameEveryModule: both readers find each module of the binary, with its licence.
func TestBillsOfMaterialsNameEveryModule(t *testing.T) {
	out := release(t)
	info, err := builtFrom()
	checktest.OK(t, err)
	document, err := spdxjson.Read(strings.NewReader(read(t, filepath.Join(out, "codemode_1.2.3_linux_amd64.spdx.json"))))
	checktest.OK(t, err)
	inSPDX := map[string]string{}
	for _, p := range document.Packages {
		inSPDX[p.PackageName+" "+p.PackageVersion] = p.PackageLicenseDeclared
	}
	var bom cyclonedx.BOM
	file, err := os.Open(filepath.Join(out, "codemode_1.2.3_linux_amd64.cdx.json"))
	checktest.OK(t, err)
	defer file.Close()
	checktest.OK(t, cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bom))
	inCyclone := map[string]string{}
	for _, c := range *bom.Components {
		inCyclone[c.Name+" "+c.Version] = (*c.Licenses)[0].License.ID
	}
	names := []string{"stdlib 1.26.0"}
	for _, m := range info.Deps {
		names = append(names, m.Path+" "+m.Version)
	}
	for _, name := range embedded {
		names = append(names, name+" ")
	}
	for _, name := range names {
		if inSPDX[name] == "" || inSPDX[name] != inCyclone[name] {
			t.Errorf("%s: SPDX says %q, CycloneDX %q", name, inSPDX[name], inCyclone[name])
		}
	}
	if len(inSPDX) != len(names)+1 || len(inCyclone) != len(names) || len(names) < 60 {
		t.Errorf("%d and %d parts, want %d and the binary in the first", len(inSPDX), len(inCyclone), len(names))
	}
	if document.CreationInfo.Created != "2001-02-03T04:05:06Z" || bom.Metadata.Timestamp != "2001-02-03T04:05:06Z" {
		t.Errorf("they are of %s and %s, want the time of the commit", document.CreationInfo.Created, bom.Metadata.Timestamp)
	}
}

func TestABinaryWithoutATagIsNoRelease(t *testing.T) {
	self, err := os.Executable()
	checktest.OK(t, err)
	if err := bundle(self, t.TempDir()); err == nil || !strings.Contains(err.Error(), "clean checkout of a tag") {
		t.Errorf("got %v", err)
	}
	for _, version := range []string{"", "v1.2.3", "1.2", "1.2.3+dirty", "1.2.3 "} {
		if err := run([]string{"prepare", "-version", version, "-out", t.TempDir()}); err == nil {
			t.Errorf("%q is taken for a version", version)
		}
	}
}

// TestNothingIsDownloadedAfterInstallation: no package of npm has a script.
func TestNothingIsDownloadedAfterInstallation(t *testing.T) {
	out := release(t)
	found, err := filepath.Glob(filepath.Join(out, "npm-*.tgz"))
	if err != nil || len(found) != len(systems)+2 {
		t.Fatalf("%d packages, %v", len(found), err)
	}
	for _, path := range found {
		var manifest map[string]any
		checktest.OK(t, json.Unmarshal(untar(t, path)["package/package.json"], &manifest))
		if manifest["scripts"] != nil || manifest["version"] != "1.2.3" || manifest["license"] != "Apache-2.0" {
			t.Errorf("%s: %v", filepath.Base(path), manifest)
		}
	}
}

func untar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	compressed, err := gzip.NewReader(strings.NewReader(read(t, path)))
	checktest.OK(t, err)
	files, archive := map[string][]byte{}, tar.NewReader(compressed)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		checktest.OK(t, err)
		text, err := io.ReadAll(archive)
		checktest.OK(t, err)
		files[head.Name] = text
	}
}

// TestTheBundleForClaudeDesktop: it has what its manifest names, and each value that the manifest uses is asked for.
func TestTheBundleForClaudeDesktop(t *testing.T) {
	out := release(t)
	for _, s := range systems {
		archive, err := zip.OpenReader(filepath.Join(out, s.fileName("1.2.3")+".mcpb"))
		checktest.OK(t, err)
		defer archive.Close()
		text, err := fs.ReadFile(archive, "manifest.json")
		checktest.OK(t, err)
		var manifest struct {
			Version string
			Server  struct {
				EntryPoint string                   `json:"entry_point"`
				MCPConfig  struct{ Command string } `json:"mcp_config"`
			}
			UserConfig    map[string]any `json:"user_config"`
			Compatibility struct{ Platforms []string }
		}
		checktest.OK(t, json.Unmarshal(text, &manifest))
		info, err := fs.Stat(archive, manifest.Server.EntryPoint)
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: the entry point %s: %v", s.fileName("1.2.3"), manifest.Server.EntryPoint, err)
		}
		if manifest.Server.MCPConfig.Command != "${__dirname}/"+manifest.Server.EntryPoint ||
			!slices.Equal(manifest.Compatibility.Platforms, []string{s.npmOS}) || manifest.Version != "1.2.3" {
			t.Errorf("%s: %+v", s.fileName("1.2.3"), manifest)
		}
		for _, used := range regexp.MustCompile(`\$\{user_config\.(\w+)\}`).FindAllSubmatch(text, -1) {
			if manifest.UserConfig[string(used[1])] == nil {
				t.Errorf("nobody is asked for %s", used[1])
			}
		}
	}
}

// TestTheEntryInTheRegistry: it names what the other channels have, and the sums of the bundles.
func TestTheEntryInTheRegistry(t *testing.T) {
	var entry struct {
		Name, Description, Version string
		Packages                   []struct{ RegistryType, Identifier, Version, FileSha256 string }
	}
	checktest.OK(t, json.Unmarshal([]byte(read(t, filepath.Join(release(t), "server.json"))), &entry))
	var npm struct{ Name, MCPName string }
	checktest.OK(t, json.Unmarshal([]byte(read(t, channels+"/npm/package.json")), &npm))
	if entry.Name != npm.MCPName || entry.Packages[0].Identifier != npm.Name || entry.Version != "1.2.3" {
		t.Errorf("%+v", entry)
	}
	if len(entry.Description) > 100 {
		t.Errorf("the description has %d characters; the registry takes 100", len(entry.Description))
	}
	label := "io.modelcontextprotocol.server.name: " + entry.Name
	if !strings.Contains(read(t, "deploy/goreleaser.yaml"), label) {
		t.Errorf("the images lack the label %s", label)
	}
	bundles := 0
	for _, p := range entry.Packages {
		if p.RegistryType == "mcpb" && len(p.FileSha256) == 64 && strings.Contains(p.Identifier, "/v1.2.3/codemode_1.2.3_") {
			bundles++
		}
	}
	if bundles != len(systems) {
		t.Errorf("%d bundles, want %d", bundles, len(systems))
	}
}

// npmRegistry serves packages to npm, as a registry does.
func npmRegistry(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "npm-*.tgz"))
	checktest.OK(t, err)
	packages := map[string]string{} // name: archive
	for _, path := range found {
		var manifest struct{ Name string }
		checktest.OK(t, json.Unmarshal(untar(t, path)["package/package.json"], &manifest))
		packages[manifest.Name] = path
	}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/"))
		if err != nil {
			t.Error(err)
		}
		if of, ok := strings.CutPrefix(name, "archive/"); ok {
			http.ServeFile(w, r, packages[of])
			return
		}
		path := packages[name]
		if path == "" {
			http.NotFound(w, r)
			return
		}
		var manifest map[string]any
		if err := json.Unmarshal(untar(t, path)["package/package.json"], &manifest); err != nil {
			t.Error(err)
		}
		sum := sha512.Sum512([]byte(read(t, path)))
		manifest["dist"] = map[string]any{"tarball": server.URL + "/archive/" + name,
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		version := manifest["version"].(string)
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]any{"latest": version},
			"versions": map[string]any{version: manifest}})
	}))
	t.Cleanup(server.Close)
	return server
}

// TestNpx: npm installs the package and the binary for this system and no other, npx runs it with arguments and exit
// code, and after npm uninstall nothing is left. With CODEMODE_RELEASE=DIR it takes the packages of a release there,
// and codemode's doctor finds no failure.
func TestNpx(t *testing.T) {
	for _, name := range []string{"npm", "npx"} {
		if _, err := exec.LookPath(name); err != nil || runtime.GOOS == "windows" {
			t.Skip("npm is not installed: ", err)
		}
	}
	if testing.Short() {
		t.Skip("npm takes seconds")
	}
	dir := os.Getenv("CODEMODE_RELEASE")
	args, code, want := []string{"run", "a b"}, 7, "run a b\n"
	if dir == "" {
		dir = release(t)
	} else {
		args, code, want = []string{"run", "--project", "none", "-e", "return 6 * 7"}, 0, "42\n"
	}
	server, home := npmRegistry(t, dir), t.TempDir()
	prefix := filepath.Join(home, "prefix")
	npm := func(name string, args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CACHE_HOME="+home+"/cache",
			"npm_config_registry="+server.URL, "npm_config_prefix="+prefix, "npm_config_cache="+home+"/npm",
			"npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false")
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if problems.Len() > 0 {
			t.Logf("%s %q: %s", name, args, &problems)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, got := npm("npx", append([]string{"-y", "@codemode-project/codemode"}, args...)...)
	if out != want || got != code {
		t.Errorf("npx printed %q and ended with %d, want %q and %d", out, got, want, code)
	}
	if out, got := npm("npm", "install", "--global", "@codemode-project/codemode"); got != 0 {
		t.Fatalf("npm install ended with %d: %s", got, out)
	}
	installed := filepath.Join(prefix, "lib/node_modules/@codemode-project/codemode/node_modules/@codemode-project")
	entries, err := os.ReadDir(installed)
	if err != nil || len(entries) != 1 {
		t.Errorf("npm installed %v, %v; want the binary for this system and no other", entries, err)
	}
	if out, got := npm(filepath.Join(prefix, "bin/codemode"), args...); out != want || got != code {
		t.Errorf("codemode printed %q and ended with %d, want %q and %d", out, got, want, code)
	}
	chosen := filepath.Join(home, "chosen")
	if err := os.WriteFile(chosen, []byte("#!/bin/sh\necho chosen\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for bin, want := range map[string]string{chosen: "chosen\n", filepath.Join(prefix, "bin/codemode"): want} {
		t.Setenv("CODEMODE_BIN", bin)
		if out, _ := npm(filepath.Join(prefix, "bin/codemode"), args...); out != want {
			t.Errorf("with CODEMODE_BIN=%s codemode printed %q, want %q", bin, out, want)
		}
	}
	if code == 0 {
		out, got := npm(filepath.Join(prefix, "bin/codemode"), "doctor", "--project", "none")
		if t.Log(out); got != 0 {
			t.Errorf("the doctor ended with %d", got)
		}
	}
	if out, got := npm("npm", "uninstall", "--global", "@codemode-project/codemode"); got != 0 {
		t.Errorf("npm uninstall ended with %d: %s", got, out)
	}
	err = filepath.WalkDir(prefix, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(path) != ".package-lock.json" {
			t.Errorf("npm left %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTheImagesOfAReleaseAreThatOfTheSources: user, folders, port and what is started are those of deploy/Dockerfile,
// whose container TestTheImage tries.
func TestTheImagesOfAReleaseAreThatOfTheSources(t *testing.T) {
	stages := func(path string) map[string]map[string]string {
		lines := strings.ReplaceAll(read(t, path), "\\\n", " ")
		stages, now := map[string]map[string]string{}, ""
		for _, found := range regexp.MustCompile(`(?m)^([A-Z]+) +(.*)$`).FindAllStringSubmatch(lines, -1) {
			word, rest := found[1], strings.Join(strings.Fields(found[2]), " ")
			if word == "FROM" {
				now = rest
				stages[now] = map[string]string{}
			}
			if word == "COPY" {
				rest = stages[now][word] + rest + "\n"
			}
			stages[now][word] = rest
		}
		return stages
	}
	words := func(lists ...string) (all []string) {
		for _, list := range lists {
			var some []string
			checktest.OK(t, json.Unmarshal([]byte(list), &some))
			all = append(all, some...)
		}
		return all
	}
	source := stages("deploy/Dockerfile")["node:22-slim"]
	images := stages("deploy/release.Dockerfile")
	// Where Go looks first for certificates of authorities. Neither base has them.
	const roots = " /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt\n"
	if !strings.Contains(source["COPY"], roots) {
		t.Error("deploy/Dockerfile copies no certificates: codemode could reach no server over HTTPS")
	}
	for _, name := range []string{"scratch AS alone", "node:22-slim AS node"} {
		image := images[name]
		if !strings.Contains(image["COPY"], roots) {
			t.Errorf("%s: it has no certificates: codemode could reach no server over HTTPS", name)
		}
		for _, word := range []string{"USER", "VOLUME", "WORKDIR", "EXPOSE"} {
			if image[word] == "" || image[word] != source[word] {
				t.Errorf("%s: %s %q, want %q", name, word, image[word], source[word])
			}
		}
		if !strings.Contains(image["ENV"], source["ENV"]) {
			t.Errorf("%s: ENV %s, want %s in it", name, image["ENV"], source["ENV"])
		}
		started, want := words(image["ENTRYPOINT"], image["CMD"]), words(source["ENTRYPOINT"])
		if !slices.Equal(started, want) {
			t.Errorf("%s starts %q, want %q", name, started, want)
		}
	}
}

// TestInstallLinks: the links of docs/installing.md for Cursor and VS Code say what the other channels say.
func TestInstallLinks(t *testing.T) {
	const want = `{"command":"npx","args":["-y","@codemode-project/codemode","serve"]}`
	page := read(t, "docs/installing.md")
	links := map[string]int{}
	anInstallLink := regexp.MustCompile(`\((https://[^)\s]*(?:cursor|vscode)[^)\s]*)\)`)
	for _, found := range anInstallLink.FindAllStringSubmatch(page, -1) {
		link, err := url.Parse(found[1])
		checktest.OK(t, err)
		config := link.Query().Get("config")
		if strings.Contains(link.Host, "cursor") {
			text, err := base64.StdEncoding.DecodeString(config)
			if err != nil {
				t.Errorf("%s: %v", found[1], err)
			}
			config = string(text)
		}
		if config != want || link.Query().Get("name") != "codemode" {
			t.Errorf("%s installs %q as %q, want %q", link.Host, config, link.Query().Get("name"), want)
		}
		links[link.Host]++
	}
	if len(links) != 3 {
		t.Errorf("there are links to %v, want three hosts: Cursor, VS Code and its Insiders", links)
	}
}

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/repository"
)

// channels has the files of each channel, with the version 0.0.0.
const channels = "deploy/channels"

// A system is one that binaries are built for. npm calls it by other names.
type system struct{ os, arch, npmOS, npmArch string }

var systems = []system{
	{"darwin", "amd64", "darwin", "x64"},
	{"darwin", "arm64", "darwin", "arm64"},
	{"linux", "amd64", "linux", "x64"},
	{"linux", "arm64", "linux", "arm64"},
	{"windows", "amd64", "win32", "x64"},
	{"windows", "arm64", "win32", "arm64"},
}

func (s system) npmName() string { return repository.NPM + "-" + s.npmOS + "-" + s.npmArch }

// fileName is the start of the names of a system's files, as deploy/goreleaser.yaml has it for archives.
func (s system) fileName(version string) string {
	return "codemode_" + version + "_" + s.os + "_" + s.arch
}

func (s system) binary() string {
	if s.os == "windows" {
		return "codemode.exe"
	}
	return "codemode"
}

// prepare empties a folder and writes there the npm package that people install and the plugin for Claude Code, and, in
// the folders gemini and systemd, what goes into the archives for Gemini and into packages.
func prepare(version, out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(out, "gemini"), 0o755); err != nil {
		return err
	}
	for _, of := range []struct{ folder, archive string }{
		{"npm", "npm-codemode-" + version + ".tgz"},
		{"claude", "npm-claude-plugin-" + version + ".tgz"},
	} {
		files, err := filesOf(of.folder, version, "package/")
		if err != nil {
			return err
		}
		license, err := os.ReadFile("LICENSE")
		if err != nil {
			return err
		}
		files = append(files, file{"package/LICENSE", license, 0o644})
		if err := writeTar(filepath.Join(out, of.archive), files); err != nil {
			return err
		}
	}
	files, err := filesOf("gemini", version, "")
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(out, "gemini", f.name), f.text, 0o644); err != nil {
			return err
		}
	}
	return unit(filepath.Join(out, "systemd"))
}

// unit writes the unit of systemd for packages, which install the binary in another folder than people do.
func unit(out string) error {
	text, err := os.ReadFile("deploy/codemode.service")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte("/usr/local/bin/codemode"), []byte("/usr/bin/codemode"))
	return os.WriteFile(filepath.Join(out, "codemode.service"), text, 0o644)
}

// filesOf reads the files of a channel, sorted, with the version in them.
func filesOf(folder, version, prefix string) (files []file, err error) {
	root := filepath.Join(channels, folder)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if bytes.HasPrefix(text, []byte("#!")) {
			mode = 0o755
		}
		text = bytes.ReplaceAll(text, []byte("0.0.0"), []byte(version))
		files = append(files, file{prefix + filepath.ToSlash(name), text, mode})
		return nil
	})
	return files, err
}

// bundle packs a binary for npm and for Claude Desktop, and lists what it consists of. The binary says its version and
// system.
func bundle(binary, out string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("reading what %s was built from: %w", binary, err)
	}
	version := strings.TrimPrefix(info.Main.Version, "v")
	if checkVersion(version) != nil {
		return fmt.Errorf("%s says that its version is %q: build it in a clean checkout of a tag such as v1.2.3 (git status "+
			"shows what is changed or new)", binary, info.Main.Version)
	}
	if _, err := os.Stat(filepath.Join(out, "npm-codemode-"+version+".tgz")); err != nil {
		return fmt.Errorf("the binary says that its version is %s, and the release has another one: %w", version, err)
	}
	i := slices.IndexFunc(systems, func(s system) bool {
		return s.os == setting(info, "GOOS") && s.arch == setting(info, "GOARCH")
	})
	if i < 0 {
		return fmt.Errorf("%s is for %s/%s, which is none of the systems of a release", binary, setting(info, "GOOS"),
			setting(info, "GOARCH"))
	}
	text, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	return pack(systems[i], version, info, text, out)
}

func pack(of system, version string, info *buildinfo.BuildInfo, text []byte, out string) error {
	return errors.Join(npmPackage(of, version, text, out), desktopBundle(of, version, text, out),
		billsOfMaterials(of, version, info, text, out))
}

func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// npmPackage writes the package with a system's binary. npm installs the one that fits the machine, as an optional
// dependency of the package that people name, so that nothing is downloaded after that.
func npmPackage(of system, version string, binary []byte, out string) error {
	manifest, err := marshal(struct {
		Name            string            `json:"name"`
		Version         string            `json:"version"`
		Description     string            `json:"description"`
		License         string            `json:"license"`
		Repository      map[string]string `json:"repository"`
		OS              []string          `json:"os"`
		CPU             []string          `json:"cpu"`
		PreferUnplugged bool              `json:"preferUnplugged"` // Yarn must not keep it in a zip file
		PublishConfig   map[string]string `json:"publishConfig"`
	}{
		of.npmName(), version, "The binary of codemode for " + of.npmOS + " on " + of.npmArch, "Apache-2.0",
		map[string]string{"type": "git", "url": "git+" + repository.Home + ".git"},
		[]string{of.npmOS}, []string{of.npmArch}, true, map[string]string{"access": "public"},
	})
	if err != nil {
		return err
	}
	files, err := legal("package/")
	if err != nil {
		return err
	}
	name := "npm-codemode-" + of.npmOS + "-" + of.npmArch + "-" + version + ".tgz"
	return writeTar(filepath.Join(out, name), append([]file{
		{"package/package.json", manifest, 0o644},
		{"package/bin/" + of.binary(), binary, 0o755},
	}, files...))
}

// legal are the licences that go along with a binary.
func legal(prefix string) (files []file, err error) {
	for _, name := range []string{"LICENSE", "THIRD_PARTY_LICENSES"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{prefix + name, text, 0o644})
	}
	return files, nil
}

// desktopBundle writes the bundle for Claude Desktop (MCPB, manifest 0.3). Its platforms do not tell processors apart,
// so there is one for each system.
func desktopBundle(of system, version string, binary []byte, out string) error {
	text, err := os.ReadFile(filepath.Join(channels, "mcpb", "manifest.json"))
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte("0.0.0"), []byte(version))
	text = bytes.ReplaceAll(text, []byte(`"platforms": ["linux"]`), []byte(`"platforms": ["`+of.npmOS+`"]`))
	text = bytes.ReplaceAll(text, []byte(`server/codemode"`), []byte(`server/`+of.binary()+`"`))
	files, err := legal("")
	if err != nil {
		return err
	}
	return writeZip(filepath.Join(out, of.fileName(version)+".mcpb"), append([]file{
		{"manifest.json", text, 0o644},
		{"server/" + of.binary(), binary, 0o755},
	}, files...))
}

// registry writes what other people's catalogues take after a release: server.json, the entry in the MCP registry, with
// the sums of the bundles, and server.yaml, the entry in Docker's catalogue, with the commit.
func registry(version, out string) error {
	files, err := filesOf("registry", version, "")
	if err != nil {
		return err
	}
	var entry map[string]any
	if err := json.Unmarshal(files[0].text, &entry); err != nil {
		return fmt.Errorf("reading %s: %w", files[0].name, err)
	}
	packages, _ := entry["packages"].([]any)
	for _, of := range systems {
		name := of.fileName(version) + ".mcpb"
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return fmt.Errorf("reading the bundle: %w", err)
		}
		sum := sha256.Sum256(text)
		packages = append(packages, map[string]any{
			"registryType": "mcpb",
			"identifier":   repository.Releases + "/download/v" + version + "/" + name,
			"version":      version,
			"fileSha256":   hex.EncodeToString(sum[:]),
			"transport":    map[string]any{"type": "stdio"},
		})
	}
	entry["packages"] = packages
	text, err := marshal(entry)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "server.json"), text, 0o644); err != nil {
		return err
	}
	if files, err = filesOf("docker", version, ""); err != nil {
		return err
	}
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("asking git for the commit: %w", err)
	}
	text = bytes.ReplaceAll(files[0].text, bytes.Repeat([]byte("0"), 40), bytes.TrimSpace(commit))
	return os.WriteFile(filepath.Join(out, files[0].name), text, 0o644)
}

// marshal prints JSON for people to read, and leaves < and & alone.
func marshal(v any) ([]byte, error) {
	var to bytes.Buffer
	e := json.NewEncoder(&to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return to.Bytes(), err
}

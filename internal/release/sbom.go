package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/codemode-project/codemode/internal/repository"
)

// A component is one line of a bill of materials.
type component struct {
	name, version, spdx string
	url                 string // a package URL, as github.com/package-url says; "" for what no registry has
	sum                 string // SHA-256 of the module, in hexadecimal, as Go's checksum database has it
}

// billsOfMaterials writes what a binary consists of, once as SPDX 2.3 and once as CycloneDX 1.6. Both have the time of
// the commit.
func billsOfMaterials(of system, version string, info *debug.BuildInfo, binary []byte, out string) error {
	parts, err := components(info)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(binary)
	whole := component{name: "codemode", version: version, spdx: "Apache-2.0", sum: hex.EncodeToString(sum[:]),
		url: "pkg:golang/" + info.Main.Path + "@v" + version}
	created, name := cmp.Or(setting(info, "vcs.time"), "1985-10-26T08:15:00Z"), of.fileName(version)
	var spdx, cyclone bytes.Buffer
	if err := errors.Join(
		spdxjson.Write(spdxDocument(name, created, whole, parts), &spdx, spdxjson.Indent("  "), spdxjson.EscapeHTML(false)),
		cyclonedx.NewBOMEncoder(&cyclone, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).
			EncodeVersion(cycloneDocument(created, whole, parts), cyclonedx.SpecVersion1_6)); err != nil {
		return fmt.Errorf("writing the bills of materials: %w", err)
	}
	return errors.Join(os.WriteFile(filepath.Join(out, name+".spdx.json"), spdx.Bytes(), 0o644),
		os.WriteFile(filepath.Join(out, name+".cdx.json"), cyclone.Bytes(), 0o644))
}

// components lists Go's library, the modules that the binary says it has, and what licences adds to them. The licences
// are those of THIRD_PARTY_LICENSES.
func components(info *debug.BuildInfo) ([]component, error) {
	listed, err := listedLicences()
	if err != nil {
		return nil, err
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	parts := []component{{name: "stdlib", version: goVersion, spdx: "BSD-3-Clause", url: "pkg:golang/stdlib@" + goVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: a release has no replaced modules", m.Path, m.Replace.Path)
		}
		id := listed[m.Path+" "+m.Version]
		if id == "" {
			return nil, fmt.Errorf("%s does not list %s %s: make licences writes it", licenceFile, m.Path, m.Version)
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil {
			return nil, fmt.Errorf("reading the sum of %s: %w", m.Path, err)
		}
		parts = append(parts, component{m.Path, m.Version, id, "pkg:golang/" + m.Path + "@" + m.Version,
			hex.EncodeToString(sum)})
	}
	for _, name := range embedded {
		parts = append(parts, component{name: name, spdx: listed[name]})
	}
	return parts, nil
}

// listedLicences reads the list at the top of THIRD_PARTY_LICENSES: from a name, and a version if there is one, to the
// identifier of the licence.
func listedLicences() (map[string]string, error) {
	text, err := os.ReadFile(licenceFile)
	if err != nil {
		return nil, err
	}
	list, _, _ := strings.Cut(string(text), "\n"+strings.Repeat("=", 80))
	listed := map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^(\S+) +(.+)$`).FindAllStringSubmatch(list, -1) {
		listed[found[2]] = found[1]
	}
	return listed, nil
}

// spdxDocument has one package for the binary and one for each part, which the binary contains.
func spdxDocument(name, created string, whole component, parts []component) *v2_3.Document {
	document := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: repository.Home + "/spdx/" + name + "-" + whole.sum,
		CreationInfo: &v2_3.CreationInfo{Created: created, Creators: []common.Creator{
			{CreatorType: "Tool", Creator: "codemode-internal-release"}}},
	}
	relate := func(a, b, how string) {
		document.Relationships = append(document.Relationships, &v2_3.Relationship{
			RefA: common.MakeDocElementID("", a), RefB: common.MakeDocElementID("", b), Relationship: how})
	}
	for i, c := range append([]component{whole}, parts...) {
		id := fmt.Sprintf("Package-%d", i)
		p := &v2_3.Package{
			PackageName: c.name, PackageSPDXIdentifier: common.ElementID(id), PackageVersion: c.version,
			PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION",
			PackageLicenseDeclared: c.spdx, PackageCopyrightText: "NOASSERTION",
		}
		if c.sum != "" {
			p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: c.sum}}
		}
		if c.url != "" {
			p.PackageExternalReferences = []*v2_3.PackageExternalReference{
				{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: c.url}}
		}
		document.Packages = append(document.Packages, p)
		if i == 0 {
			p.PrimaryPackagePurpose = "APPLICATION"
			relate("DOCUMENT", id, "DESCRIBES")
		} else {
			relate("Package-0", id, "CONTAINS")
		}
	}
	return document
}

func cycloneDocument(created string, whole component, parts []component) *cyclonedx.BOM {
	convert := func(c component, kind cyclonedx.ComponentType) cyclonedx.Component {
		to := cyclonedx.Component{BOMRef: cmp.Or(c.url, c.name), Type: kind, Name: c.name, Version: c.version,
			PackageURL: c.url, Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: c.spdx}}}}
		if c.sum != "" {
			to.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: c.sum}}
		}
		return to
	}
	document := cyclonedx.NewBOM()
	of := convert(whole, cyclonedx.ComponentTypeApplication)
	document.Metadata = &cyclonedx.Metadata{Timestamp: created, Component: &of}
	list, refs := []cyclonedx.Component{}, []string{}
	for _, c := range parts {
		one := convert(c, cyclonedx.ComponentTypeLibrary)
		list, refs = append(list, one), append(refs, one.BOMRef)
	}
	document.Components = &list
	document.Dependencies = &[]cyclonedx.Dependency{{Ref: of.BOMRef, Dependencies: &refs}}
	return document
}

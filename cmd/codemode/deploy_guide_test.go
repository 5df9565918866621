package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
)

// The guide for deploying, and the files that it is about.
const (
	guide       = "../../docs/deploying.md"
	chartFolder = "../../deploy/helm/codemode"
	composeFile = "../../deploy/compose/compose.yaml"
)

var readText = checktest.Read

// readYAML reads the documents of a text. Keys that stand twice are an error.
func readYAML[T any](t *testing.T, name, text string) (all []T) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var one T
		if err := d.Decode(&one); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		all = append(all, one)
	}
}

// renderChart renders the templates of the chart with its values, by the functions of Helm that they use. make helm
// has Helm do it.
func renderChart(t *testing.T) string {
	t.Helper()
	var all *template.Template
	indent := func(n int, text string) string {
		return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+strings.Repeat(" ", n))
	}
	all = template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"nindent": indent,
		"quote":   func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"default": func(otherwise, v any) any {
			if reflect.ValueOf(v).IsZero() {
				return otherwise
			}
			return v
		},
		"add": func(all ...int) (sum int) {
			for _, n := range all {
				sum += n
			}
			return sum
		},
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return string(text), err
		},
		"toPrettyJson": func(v any) (string, error) {
			text, err := json.MarshalIndent(v, "", "  ")
			return string(text), err
		},
	})
	files, err := filepath.Glob(chartFolder + "/templates/*.*")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	template.Must(all.ParseFiles(files...))
	data := map[string]any{
		"Values":  readYAML[map[string]any](t, "values.yaml", readText(t, chartFolder+"/values.yaml"))[0],
		"Chart":   map[string]any{"AppVersion": "0.1.0"},
		"Release": map[string]any{"Name": "demo", "Namespace": "default"},
	}
	var rendered strings.Builder
	for _, file := range files {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		rendered.WriteString("---\n")
		checktest.OK(t, all.ExecuteTemplate(&rendered, filepath.Base(file), data))
	}
	return rendered.String()
}

// A manifest has what the test reads of Kubernetes' objects.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Replicas     int
		MinAvailable int `yaml:"minAvailable"`
		Ports        []struct {
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		Ingress  []struct{ Ports []struct{ Port string } }
		Template struct{ Spec podSpec }
	}
}

type probeOf struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type podSpec struct {
	Grace           int `yaml:"terminationGracePeriodSeconds"`
	SecurityContext struct {
		RunAsNonRoot   bool           `yaml:"runAsNonRoot"`
		RunAsUser      int            `yaml:"runAsUser"`
		FSGroup        int            `yaml:"fsGroup"`
		SeccompProfile map[string]any `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Containers []struct {
		Command, Args []string
		Env           []struct{ Name, Value string }
		Ports         []struct {
			Name string
			Port int `yaml:"containerPort"`
		}
		StartupProbe    probeOf `yaml:"startupProbe"`
		LivenessProbe   probeOf `yaml:"livenessProbe"`
		ReadinessProbe  probeOf `yaml:"readinessProbe"`
		SecurityContext struct {
			Escalation   *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
			Capabilities struct{ Drop []string }
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name string
			Path string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	Volumes []struct {
		Name   string
		Secret struct {
			Mode int `yaml:"defaultMode"`
		}
	}
}

// dockerfile returns what the instructions of a name say in the last stage of deploy/Dockerfile.
func dockerfile(t *testing.T, instruction string) (all []string) {
	t.Helper()
	_, text, _ := strings.Cut(strings.ReplaceAll(readText(t, "../../deploy/Dockerfile"), "\\\n", " "), "\nFROM node")
	for line := range strings.Lines(text) {
		if word, rest, _ := strings.Cut(line, " "); word == instruction {
			all = append(all, strings.Fields(rest)...)
		}
	}
	if len(all) == 0 {
		t.Fatalf("deploy/Dockerfile has no %s", instruction)
	}
	return all
}

// accepts fails unless codemode has that command and those flags, with values that they take.
func accepts(t *testing.T, args ...string) {
	t.Helper()
	var out, problems bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}
	if code := runMain(t, streams, append(args, "--help")...); code != cli.ExitOK ||
		!strings.Contains(out.String(), "\n  codemode "+args[0]) {
		t.Errorf("codemode %q: exit code %d\n%s%s", args, code, &problems, &out)
	}
}

// reads fails unless a configuration has no problems, with that environment.
func reads(t *testing.T, name, text string, env func(string) (string, bool)) *config.Config {
	t.Helper()
	cfg, err := config.Parse(name, []byte(text))
	if err != nil {
		t.Errorf("%v", err)
		return nil
	}
	_, httpErr := cfg.HTTP(env)
	_, storeErr := cfg.Store(env)
	_, diagnosticsErr := cfg.Diagnostics(env)
	for _, err := range []error{httpErr, storeErr, diagnosticsErr} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return cfg
}

func flagOf(args []string, name string) string {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}

// drain is how long a process with these flags takes to stop: docs/serving.md.
func drain(t *testing.T, args []string) time.Duration {
	t.Helper()
	delay, err := time.ParseDuration(flagOf(args, "shutdown-delay"))
	checktest.OK(t, err)
	grace, err := time.ParseDuration(flagOf(args, "grace"))
	checktest.OK(t, err)
	return delay + grace + 20*time.Second
}

// TestTheChart: whatever the Helm chart names exists in the product and in its image.
func TestTheChart(t *testing.T) {
	byKind := map[string]manifest{}
	for _, m := range readYAML[manifest](t, "the chart", renderChart(t)) {
		byKind[m.Kind] = m
	}
	for _, kind := range []string{"ConfigMap", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"} {
		if _, ok := byKind[kind]; !ok {
			t.Fatalf("the chart has no %s", kind)
		}
	}
	deployment := byKind["Deployment"].Spec
	pod := deployment.Template.Spec
	c := pod.Containers[0]
	accepts(t, c.Args...)
	if word := c.Command[0]; !strings.Contains(strings.Join(dockerfile(t, "ENTRYPOINT"), ""), `["`+word+`"`) {
		t.Errorf("the image has no command %s", word)
	}

	// The configuration, with secrets that are files of the secret.
	secrets := map[string]string{}
	cfg := reads(t, "the chart's codemode.json", byKind["ConfigMap"].Data["codemode.json"],
		func(name string) (string, bool) {
			file, ok := strings.CutPrefix(name, "file:/etc/codemode-secrets/")
			secrets[file] = name
			return map[bool]string{true: "postgres://u:p@h/d", false: "a-token-of-" + file}[file == "database-url"], ok
		})
	described := readText(t, chartFolder+"/values.yaml") + readText(t, guide)
	for file := range secrets {
		if !strings.Contains(described, file) {
			t.Errorf("nothing says that the secret has %q", file)
		}
	}
	var read struct{ Store struct{ Key string } }
	if err := json.Unmarshal([]byte(byKind["ConfigMap"].Data["codemode.json"]), &read); err != nil || cfg == nil {
		t.Fatal(err)
	}
	mounted := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounted[m.Name] = m.Path
	}
	if filepath.Dir(read.Store.Key) != mounted["secret"] {
		t.Errorf("the key of the record is at %s, and the secret at %s", read.Store.Key, mounted["secret"])
	}
	environment := dockerfile(t, "ENV")
	if !slices.Contains(environment, "CODEMODE_CONFIG="+mounted["config"]+"/codemode.json") {
		t.Errorf("the configuration is mounted at %s, and the image reads %q", mounted["config"], environment)
	}
	for name, variable := range map[string]string{"home": "HOME", "cache": "XDG_CACHE_HOME"} {
		if !slices.Contains(environment, variable+"="+mounted[name]) {
			t.Errorf("%s is mounted at %s, and the image has %q", name, mounted[name], environment)
		}
	}

	// Ports and probes.
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.Port
	}
	diagnostics, err := cfg.Diagnostics(func(string) (string, bool) { return "a-token-of-somebody", true })
	checktest.OK(t, err)
	if !strings.HasSuffix(flagOf(c.Args, "http"), fmt.Sprint(":", ports["http"])) ||
		!strings.HasSuffix(diagnostics.Address, fmt.Sprint(":", ports["diagnostics"])) ||
		fmt.Sprint(ports["http"]) != dockerfile(t, "EXPOSE")[0] {
		t.Errorf("the ports are %v; codemode listens at %s and %s", ports, flagOf(c.Args, "http"), diagnostics.Address)
	}
	for _, p := range byKind["Service"].Spec.Ports {
		if ports[p.TargetPort] != p.Port {
			t.Errorf("the service has port %d for %q", p.Port, p.TargetPort)
		}
	}
	for _, rule := range byKind["NetworkPolicy"].Spec.Ingress {
		if ports[rule.Ports[0].Port] == 0 {
			t.Errorf("the policy lets in at %q", rule.Ports[0].Port)
		}
	}
	for _, probe := range []struct{ Path, Port string }{c.StartupProbe.HTTPGet, c.LivenessProbe.HTTPGet,
		c.ReadinessProbe.HTTPGet} {
		if probe.Port != "diagnostics" {
			t.Errorf("the probe %s is at %s", probe.Path, probe.Port)
		}
	}

	// What the pod may do, and how long it may take to stop.
	user := fmt.Sprintf("%d:%d", pod.SecurityContext.RunAsUser, pod.SecurityContext.FSGroup)
	if image := dockerfile(t, "USER")[0]; user != image || !pod.SecurityContext.RunAsNonRoot {
		t.Errorf("the pod runs as %s, and the image is made for %s", user, image)
	}
	s := c.SecurityContext
	if s.Escalation == nil || *s.Escalation || !s.ReadOnly || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) ||
		pod.SecurityContext.SeccompProfile["type"] != "RuntimeDefault" {
		t.Errorf("the container may do more than it should: %+v %+v", s, pod.SecurityContext)
	}
	if got := time.Duration(pod.Grace) * time.Second; got < drain(t, c.Args) {
		t.Errorf("the pod has %v to stop, and codemode needs %v", got, drain(t, c.Args))
	}
	if minimum := byKind["PodDisruptionBudget"].Spec.MinAvailable; deployment.Replicas < 2 || minimum < 1 ||
		minimum >= deployment.Replicas {
		t.Errorf("%d replicas, of which %d have to stay", deployment.Replicas, minimum)
	}
	for _, v := range pod.Volumes {
		if v.Name == "secret" && v.Secret.Mode != 0o440 {
			t.Errorf("the secret has the mode %o: codemode refuses a file that everybody may read", v.Secret.Mode)
		}
	}
}

// TestTheAddressesOfTheChart: a process with the chart's flags answers where probes and Prometheus ask.
func TestTheAddressesOfTheChart(t *testing.T) {
	endToEnd(t)
	var deployment, settings manifest
	for _, m := range readYAML[manifest](t, "the chart", renderChart(t)) {
		switch m.Kind {
		case "Deployment":
			deployment = m
		case "ConfigMap":
			settings = m
		}
	}
	c := deployment.Spec.Template.Spec.Containers[0]
	var file map[string]any
	checktest.OK(t, json.Unmarshal([]byte(settings.Data["codemode.json"]), &file))
	delete(file, "store")
	secrets := t.TempDir()
	file["diagnostics"].(map[string]any)["address"] = "127.0.0.1:0"
	text, err := json.Marshal(file)
	checktest.OK(t, err)
	for _, name := range []string{"metrics-token", "ci-token"} {
		write(t, filepath.Join(secrets, name), "a-token-of-"+name)
	}
	path := write(t, filepath.Join(t.TempDir(), "codemode.json"), strings.ReplaceAll(string(text), "/etc/codemode-secrets",
		secrets))
	var args []string
	for _, arg := range c.Args[1:] {
		if !strings.HasPrefix(arg, "--http") && !strings.HasPrefix(arg, "--project") && !strings.HasPrefix(arg, "--confine") &&
			!strings.HasPrefix(arg, "--shutdown-delay") {
			args = append(args, arg)
		}
	}
	s := serveOverHTTP(t, "127.0.0.1:0", nil, append(args, "--config", path, "--state", t.TempDir())...)
	at := diagnosticsAt.FindStringSubmatch(s.log.String())
	if at == nil {
		t.Fatalf("there are no diagnostics:\n%s", s.log)
	}
	for _, probe := range []string{c.StartupProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path} {
		if status, body := fetch(t, at[1]+probe); status != http.StatusOK {
			t.Errorf("%s: %d %s", probe, status, body)
		}
	}
	r, err := http.NewRequest(http.MethodGet, at[1]+"/metrics", nil)
	checktest.OK(t, err)
	for token, want := range map[string]int{"a-token-of-metrics-token": http.StatusOK, "another": http.StatusUnauthorized} {
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		checktest.OK(t, err)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("/metrics with %s: %s", token, res.Status)
		}
	}
	client, err := s.connect("2025-11-25", "a-token-of-ci-token", nil)
	checktest.OK(t, err)
	if tools := evalTools(t, client); len(tools) != 1 {
		t.Errorf("the token of the chart has the tools %q", tools)
	}
	client.Close()
	s.end()
}

// TestTheComposeFile: its services fit together, and the configuration fits them.
func TestTheComposeFile(t *testing.T) {
	type service struct {
		Image, User, NetworkMode string
		Command, Volumes, Ports  []string
		Environment              map[string]string
		Build                    struct{ Context, Dockerfile string }
		StopGrace                string   `yaml:"stop_grace_period"`
		Network                  string   `yaml:"network_mode"`
		ReadOnly                 bool     `yaml:"read_only"`
		CapDrop                  []string `yaml:"cap_drop"`
		SecurityOpt              []string `yaml:"security_opt"`
	}
	file := readYAML[struct{ Services map[string]service }](t, "compose.yaml", readText(t, composeFile))[0]
	dir := filepath.Dir(composeFile)
	for name, s := range file.Services {
		for _, v := range s.Volumes {
			if from, _, _ := strings.Cut(v, ":"); strings.HasPrefix(from, ".") {
				if _, err := os.Stat(filepath.Join(dir, from)); err != nil {
					t.Errorf("%s mounts %v", name, err)
				}
			}
		}
		if name != "codemode" && !regexp.MustCompile(`:v?\d`).MatchString(s.Image) {
			t.Errorf("%s has the image %q, without a version", name, s.Image)
		}
	}
	c := file.Services["codemode"]
	if _, err := os.Stat(filepath.Join(dir, c.Build.Context, c.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	var entry []string
	checktest.OK(t, json.Unmarshal([]byte(strings.Join(dockerfile(t, "ENTRYPOINT"), "")), &entry))
	accepts(t, append(entry[1:], c.Command...)...)
	if got, err := time.ParseDuration(c.StopGrace); err != nil || got < drain(t, c.Command) {
		t.Errorf("codemode has %v to stop (%v), and needs %v", got, err, drain(t, c.Command))
	}
	if !c.ReadOnly || !slices.Equal(c.CapDrop, []string{"ALL"}) || !slices.Contains(c.SecurityOpt, "no-new-privileges:true") ||
		c.Network != "service:dex" {
		t.Errorf("codemode may do more than it should: %+v", c)
	}
	cfg := reads(t, "compose/codemode.json", readText(t, filepath.Join(dir, "codemode.json")), func(name string) (string, bool) {
		value, ok := c.Environment[name]
		return value, ok
	})
	if cfg == nil {
		return
	}
	h, err := cfg.HTTP(func(name string) (string, bool) { v, ok := c.Environment[name]; return v, ok })
	checktest.OK(t, err)
	dex := readYAML[struct {
		Issuer        string
		StaticClients []struct{ ID string } `yaml:"staticClients"`
		Web           struct{ HTTP string }
	}](t, "dex", readText(t, filepath.Join(dir, "dex/config.yaml")))[0]
	if h.OAuth.Resource != dex.StaticClients[0].ID {
		t.Errorf("tokens of Dex are for %q, and codemode is %q", dex.StaticClients[0].ID, h.OAuth.Resource)
	}
	for _, issuer := range h.OAuth.Issuers {
		if issuer.URL != dex.Issuer {
			t.Errorf("codemode believes %q, and Dex is %q", issuer.URL, dex.Issuer)
		}
	}
	prometheus := readYAML[struct {
		Scrape []struct {
			Authorization struct{ Credentials string }
			Static        []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}](t, "prometheus", readText(t, filepath.Join(dir, "prometheus/prometheus.yml")))[0].Scrape[0]
	diagnostics, err := cfg.Diagnostics(func(name string) (string, bool) { v, ok := c.Environment[name]; return v, ok })
	checktest.OK(t, err)
	if prometheus.Authorization.Credentials != c.Environment["METRICS_TOKEN"] || prometheus.Static[0].Targets[0] !=
		strings.Replace(diagnostics.Address, "0.0.0.0", "dex", 1) {
		t.Errorf("Prometheus asks %v; codemode is at %s", prometheus, diagnostics.Address)
	}
	provider := readYAML[struct {
		Providers []struct{ Options struct{ Path string } }
	}](t, "grafana", readText(t, filepath.Join(dir, "grafana/provisioning/dashboards/codemode.yaml")))[0]
	if at := provider.Providers[0].Options.Path; !slices.Contains(file.Services["grafana"].Volumes, "../../docs/grafana:"+at+":ro") {
		t.Errorf("Grafana reads dashboards at %s, and mounts %q", at, file.Services["grafana"].Volumes)
	}
}

// TestTheGuide: its configurations have no problems, its commands and flags exist, and so do its figures and files.
func TestTheGuide(t *testing.T) {
	text := readText(t, guide)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, -1)
	for i, block := range blocks {
		reads(t, fmt.Sprintf("block %d of the guide", i+1), block[1], func(name string) (string, bool) {
			return map[bool]string{true: "postgres://u:p@h/d", false: "a-token-of-" + name}[strings.Contains(name, "atabase")], true
		})
	}
	commands := 0
	var shell strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		shell.WriteString(block[1])
	}
	for _, line := range regexp.MustCompile(`(?m)^ *codemode (.*)$`).FindAllStringSubmatch(shell.String(), -1) {
		words := strings.Fields(line[1])
		if end := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w, "|>&#") }); end >= 0 {
			words = words[:end]
		}
		accepts(t, words...)
		commands++
	}
	figures := readText(t, "../../docs/operations.md")
	for _, figure := range regexp.MustCompile(`codemode_[a-z]+_[a-z_]+`).FindAllString(text, -1) {
		if !strings.Contains(figures, figure) {
			t.Errorf("docs/operations.md does not know %s", figure)
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)[^)]*\)`).FindAllStringSubmatch(text, -1) {
		if _, err := fs.Stat(os.DirFS("../.."), filepath.ToSlash(filepath.Join("docs", link[1]))); err != nil {
			t.Errorf("a link: %v", err)
		}
	}
	if len(blocks) == 0 || commands < 3 {
		t.Errorf("the guide has %d configurations and %d commands", len(blocks), commands)
	}
}

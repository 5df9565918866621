module github.com/codemode-project/codemode

go 1.26.0

// The product. RATIONALE.md says why these modules and no others.
require (
	charm.land/bubbles/v2 v2.2.1 // the editor in the screen of codemode approvals
	charm.land/bubbletea/v2 v2.0.10 // that screen: full-screen terminals
	charm.land/lipgloss/v2 v2.0.6 // that screen: colours and widths
	github.com/bmatcuk/doublestar/v4 v4.10.4 // every pattern of a rule
	github.com/coreos/go-oidc/v3 v3.21.0 // access tokens and sign-in to the page: discovery of issuers, and the checks of a JWT
	github.com/coreos/go-systemd/v22 v22.7.0 // sockets from systemd, and telling it that we are ready
	github.com/evanw/esbuild v0.28.2 // TypeScript and syntax errors
	github.com/fsnotify/fsnotify v1.10.1 // watching the configuration
	github.com/go-jose/go-jose/v4 v4.1.9 // signatures and keys of JWTs; go-oidc stands on it
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // jsontext: quoting and JSON Pointers; Go values with places of mistakes
	github.com/google/jsonschema-go v0.4.3 // schemas of Go types; tests compare our checker with its
	github.com/jackc/pgx/v5 v5.12.0 // PostgreSQL, for a fleet
	github.com/kljensen/snowball v0.10.0 // English endings, for the search of tools
	github.com/modelcontextprotocol/go-sdk v1.8.0 // MCP on both sides
	github.com/pelletier/go-toml/v2 v2.4.3 // the file of Codex, for codemode init and doctor
	github.com/rogpeppe/go-internal v1.16.0 // txtar: the files of codemode profiles test, and stories in tests
	github.com/spf13/cobra v1.10.2 // the command line
	github.com/tetratelabs/wazero v1.12.0 // WebAssembly, in which programs run
	github.com/wneessen/go-mail v0.8.1 // mail that tells people of questions
	go.opentelemetry.io/otel v1.47.0 // traces
	go.opentelemetry.io/otel/sdk v1.47.0 // traces
	go.opentelemetry.io/otel/trace v1.47.0 // traces
	go.yaml.in/yaml/v3 v3.0.5 // the files of Continue and Goose, for codemode init and doctor
	golang.org/x/mod v0.42.0 // signed notes and Merkle trees of the record
	golang.org/x/oauth2 v0.37.0 // logins at hosted MCP servers, sign-in to the page
	golang.org/x/sys v0.49.0 // terminals, locks and process groups
	golang.org/x/term v0.47.0 // whether a stream is a terminal, and its size
	golang.org/x/text v0.43.0 // NFKC, for rules that deny
	golang.org/x/time v0.15.0 // how often an issuer of tokens is asked for its keys
	modernc.org/sqlite v1.60.1 // SQLite, for one machine
)

// Tests only.
require (
	github.com/chromedp/cdproto v0.159.0 // the protocol of Chromium
	github.com/chromedp/chromedp v0.23.0 // the page of the console in Chromium
	github.com/google/go-cmp v0.7.0 // readable differences
	github.com/owenrumney/go-sarif/v3 v3.3.1 // the schema of SARIF, which our reports for code scanning have to fit
	github.com/prometheus/client_golang v1.25.0 // its rules for the names of metrics
	github.com/prometheus/client_model v0.6.3 // metrics as its parser reads them
	github.com/prometheus/common v0.73.1 // Prometheus' parser
	github.com/tailscale/hujson v0.0.0-20260727124030-b80ff77dac4f // comments mean the same there as in our reader
	modernc.org/libc v1.79.0 // a file system for SQLite that fails (internal/iofault)
)

// Releases only.
require (
	github.com/CycloneDX/cyclonedx-go v0.12.0 // bills of materials
	github.com/spdx/tools-golang v0.5.7 // bills of materials
)

// What these need.
require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	github.com/anchore/go-struct-converter v0.1.0 // indirect
	github.com/atotto/clipboard v0.1.4 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/charmbracelet/colorprofile v0.4.3 // indirect
	github.com/charmbracelet/ultraviolet v0.0.0-20260811164956-006e29f97886 // indirect
	github.com/charmbracelet/x/ansi v0.11.8 // indirect
	github.com/charmbracelet/x/term v0.2.2 // indirect
	github.com/charmbracelet/x/termios v0.1.1 // indirect
	github.com/charmbracelet/x/windows v0.2.2 // indirect
	github.com/clipperhouse/displaywidth v0.11.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/lucasb-eyer/go-colorful v1.4.1 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/mattn/go-runewidth v0.0.31 // indirect
	github.com/muesli/cancelreader v0.2.2 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/pandatix/go-abnf v0.5.3 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/spf13/pflag v1.0.9
	github.com/xeipuuv/gojsonpointer v0.0.0-20180127040702-4e3ac2762d5f // indirect
	github.com/xeipuuv/gojsonreference v0.0.0-20180127040603-bd5ef7bd5415 // indirect
	github.com/xeipuuv/gojsonschema v1.2.0 // indirect
	github.com/xo/terminfo v0.0.0-20220910002029-abceb7e1c41e // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/sync v0.24.0
	golang.org/x/tools v0.52.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	honnef.co/go/tools v0.8.2 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

// The tool that make check runs.
tool honnef.co/go/tools/cmd/staticcheck
